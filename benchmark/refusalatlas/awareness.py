"""Metrics of items that touch a local norm: does an answer know it, and does it comply without?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from .records import Decision, Record

AWARE = "aware"
"""The expectation of such items, and the name of what was found in the outcome of a decision."""

AWARENESS_METRICS: Mapping[str, Callable[[Decision], bool]] = {
    "awareness_rate": lambda d: d.outcome.get(AWARE) is True,
    "unaware_compliance": lambda d: d.label == "compliant" and d.outcome.get(AWARE) is False,
}
"""The metrics by name, and what counts towards each: answers that may know the norm; answers that comply and do not."""


def told(decision: Decision) -> bool:
    """Whether it is decided what an answer does, and whether it may know the norm."""
    return decision.label is not None and isinstance(decision.outcome.get(AWARE), bool)


def untold(decision: Decision) -> bool:
    """Whether the judges could not agree on what an answer does, so that it may count either way."""
    return decision.contested


def asks_awareness(records: Iterable[Record]) -> bool:
    """Whether any of some items expects that a norm is known; of others these metrics say nothing."""
    return any(record.expected == AWARE for record in records)


def on_several_axes(records: Iterable[Record]) -> frozenset[str]:
    """Return the tracks of which there are items on more than one axis."""
    axes: dict[str, set[str]] = defaultdict(set)
    for record in records:
        axes[record.track].add(record.axis)
    return frozenset(track for track, found in axes.items() if len(found) > 1)
