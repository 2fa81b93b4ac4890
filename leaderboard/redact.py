"""From a record to the line that is submitted: no salts, and no text but the openings of full refusals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from refusalatlas.records import Decision, Finding, Record
from refusalatlas.scrub import scrub

from .schema import OPENING

_THINKING_ENDS = re.compile(r"(?is)^.*(?:</think(?:ing)?>|<\|channel\|>final<\|message\|>|<\|end_of_thought\|>)")
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


def opening(response: str) -> str:
    """Return the first 160 code points of an answer, after the thinking that some backends leave before it."""
    visible = _THINKING_ENDS.sub("", response, count=1).lstrip()
    return _clean(visible[:OPENING])


def _clean(text: str) -> str:
    return _CONTROLS.sub(" ", _SURROGATES.sub("\ufffd", text))


def submitted(record: Record, responses: Sequence[str]) -> dict[str, Any]:
    """Return the line of ``records.jsonl.gz`` for one record.

    Args:
        record: As the run holds it.
        responses: The answers that its decisions are about, in the same order.

    Raises:
        ValueError: where there are not as many answers as decisions.
    """
    row = record.to_json(with_salt=False)
    pairs = list(zip(record.decisions, responses, strict=True))
    row["openings"] = [opening(text) if decision.label == "full_refusal" else None for decision, text in pairs]
    for entry, decision, shown in zip(row["decisions"], record.decisions, row["openings"], strict=True):
        entry["reasons"] = [
            {"reason": f.name, "evidence": _clean(f.evidence)} for f in _within(decision.reasons, shown)
        ]
        entry["features"] = [
            {"feature": f.name, "evidence": _clean(f.evidence)} for f in _within(decision.features, shown)
        ]
        if "outcome" in entry:
            entry["outcome"] = submitted_outcome(decision)
    for entry in row["provenance"]:
        for key in ("served_model", "provider", "finish_reason"):
            if entry[key] is not None:
                entry[key] = "".join(filter(str.isprintable, scrub(str(entry[key]))))[
                    : 64 if key == "finish_reason" else 500
                ]
    return row


def _within(findings: Sequence[Finding], shown: str | None) -> list[Finding]:
    return [f for f in findings if shown and f.evidence and _clean(f.evidence) in shown]


def submitted_outcome(decision: Decision) -> dict[str, Any]:
    """Return what is submitted of an outcome: numbers, truth values, single words; the rest may be of the answer."""
    return {
        key: value
        for key, value in decision.outcome.items()
        if value is None
        or isinstance(value, bool | int | float)
        or (isinstance(value, str) and _WORD.fullmatch(value) is not None)
    }
