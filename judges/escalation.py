"""What becomes of contested decisions: further judges are asked about them, one after the other, in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from refusalatlas.records import Decision, Exchange, Judge, Verdict

from .findings import findings
from .gate import PanelFile, gate_all
from .reading import read

_BATCH = 1024
"""Exchanges that a judge is asked about at a time; it may work on them side by side."""

Ask = Callable[[Judge, Sequence[Exchange]], list[Verdict]]


def escalate(
    file: PanelFile, judges: Sequence[Judge], exchanges: Sequence[Exchange], decisions: Sequence[Decision], ask: Ask
) -> list[Decision]:
    """Return the decisions, those that were contested with the votes of `judges` and what follows from them.

    A judge is asked only about what the ones before it have left contested. Votes are added behind the others, so that
    `gate.decide` finds the same from the record alone.

    Args:
        file: The panel.
        judges: Those of `file.escalate`, in its order; none leaves everything as it is.
        exchanges: What was judged.
        decisions: One an exchange, by the gate alone.
        ask: Returns a judge's verdicts, abstentions where it fails.
    """
    result = list(decisions)
    for judge in judges:
        contested = [i for i, decision in enumerate(result) if decision.contested]
        for start in range(0, len(contested), _BATCH):
            batch = contested[start : start + _BATCH]
            for i, verdict in zip(batch, ask(judge, [exchanges[i] for i in batch]), strict=True):
                result[i] = _with(result[i], exchanges[i], verdict, file)
    return result


def _with(decision: Decision, exchange: Exchange, verdict: Verdict, file: PanelFile) -> Decision:
    votes = (*decision.votes, verdict)
    found = gate_all(votes, file)
    reasons, features = findings(exchange, read(exchange), found.label)
    return replace(
        decision,
        label=found.label,
        contested=found.contested,
        agreement=found.agreement,
        votes=votes,
        reasons=reasons,
        features=features,
        single_family=found.single_family,
        escalated_by=found.escalated_by,
    )
