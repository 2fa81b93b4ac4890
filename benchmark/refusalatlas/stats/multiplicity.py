"""Many tests at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

_Key = TypeVar("_Key")


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted by Holm (1979), valid under any dependence.

    The family is what was declared beforehand, not what turned out to differ: a test that could not be made, since
    nothing differed, stays None and counts as one that found nothing.

    Args:
        p_values: The p-values of one family.
    """
    tested = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, index) in enumerate(tested):
        running = max(running, min(1.0, p * (len(p_values) - rank)))
        adjusted[index] = running
    return adjusted


def holm_by_key(p_values: Mapping[_Key, float | None]) -> dict[_Key, float | None]:
    """Return Holm-adjusted p-values of a family with names."""
    return dict(zip(p_values, holm(list(p_values.values())), strict=True))


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted by Benjamini and Hochberg (1995), for descriptive maps; None stays None."""
    tested = sorted(((p, index) for index, p in enumerate(p_values) if p is not None), reverse=True)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 1.0
    for rank, (p, index) in enumerate(tested):
        running = min(running, p * len(tested) / (len(tested) - rank))
        adjusted[index] = running
    return adjusted
