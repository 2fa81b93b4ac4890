"""Metrics of what a format's own judge found: shares of a truth value in the outcomes of answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .fields import ESCAPE
from .records import Decision, Expected, Record


@dataclass(frozen=True, slots=True)
class OutcomeMetric:
    """A share of answers in whose outcome a value is true.

    Attributes:
        key: Name of the value: true, false, or None where the judge could not tell.
        expected: Of which items, or None for all.
        variant: The only variant that it is measured in, or None for all.
    """

    key: str
    expected: Expected | None
    variant: str | None = None

    def holds(self, decision: Decision) -> bool:
        """Whether the value is true."""
        return decision.outcome.get(self.key) is True

    def told(self, decision: Decision) -> bool:
        """Whether the judge could tell."""
        return isinstance(decision.outcome.get(self.key), bool)

    def untold(self, decision: Decision) -> bool:
        """Whether the judge looked, and could not tell."""
        return self.key in decision.outcome and not self.told(decision)


OUTCOME_METRICS: Mapping[str, OutcomeMetric] = {
    "coerced_fabrication_rate": OutcomeMetric("fabricated", "abstain"),
    "escape_utilisation_rate": OutcomeMetric("escape_used", "abstain", ESCAPE),
    "control_accuracy": OutcomeMetric("correct", "comply"),
    "grounding_accuracy": OutcomeMetric("located", "comply"),
    "misnamed_rate": OutcomeMetric("misnamed", None),
}
"""The metrics by name: values made up of inputs that do not hold the answer; the form's option for that taken; the
right value of inputs that hold it; the right place of harmless requests for one;
another thing named than the one shown."""


def reports(name: str, variant: str, pairs: Iterable[tuple[Record, Decision]]) -> bool:
    """Whether answers of a variant have anything to say about a metric: some were judged by such a judge."""
    metric = OUTCOME_METRICS[name]
    return metric.variant in (None, variant) and any(metric.key in decision.outcome for _, decision in pairs)


def outcome_values(expected: str, outcomes: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return the value of each metric for one item, averaged over its sampled answers; None where nothing was told."""
    return {name: _value(metric, expected, outcomes) for name, metric in OUTCOME_METRICS.items()}


def _value(metric: OutcomeMetric, expected: str, outcomes: Sequence[Mapping[str, Any]]) -> float | None:
    if metric.expected not in (None, expected):
        return None
    told = [found for outcome in outcomes if isinstance(found := outcome.get(metric.key), bool)]
    return sum(told) / len(told) if told else None
