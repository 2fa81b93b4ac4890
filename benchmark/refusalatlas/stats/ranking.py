"""Who is better than whom, as far as the seeds can tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .intervals import Floats
from .multiplicity import holm


def tie_groups(
    order: Sequence[str], p_value: Callable[[str, str], float | None], *, alpha: float = 0.05
) -> list[list[str]]:
    """Return groups of models that no test tells from the first of their group.

    Walking down the order, a model opens a new group where its paired test against the group's first one rejects.
    The first of the rest is the best by the very data that the tests use, so it is not one model that is compared but
    any pair that might have come to be: the family is all pairs of the rest, adjusted by Holm.

    Args:
        order: Models, best first.
        p_value: p-value of the paired test of two models, or None where there is none.
        alpha: Size of the family.
    """
    groups: list[list[str]] = []
    rest = list(order)
    while rest:
        anchor, others = rest[0], rest[1:]
        chosen_by_looking = len(others) * (len(others) - 1) // 2  # the pairs among the others
        tests = [p_value(anchor, other) for other in others]
        adjusted = holm([*tests, *[1.0] * chosen_by_looking])[: len(others)]
        cut = next((i for i, p in enumerate(adjusted) if p is not None and p < alpha), len(others))
        groups.append([anchor, *others[:cut]])
        rest = others[cut:]
    return groups


def rank_intervals(draws: Mapping[str, Floats], *, higher_is_better: bool) -> dict[str, tuple[int, int]]:
    """Return the 95 % interval of each model's rank over shared bootstrap replicates; rank 1 is best.

    Args:
        draws: One replicate value each, the same replicates for all models.
        higher_is_better: Direction of the metric.
    """
    names = sorted(draws)
    if not names:
        return {}
    table = np.vstack([draws[name] for name in names])
    table = np.where(np.isfinite(table), table, -np.inf if higher_is_better else np.inf)
    values = -table if higher_is_better else table
    low, high = (np.empty(len(names), dtype=int) for _ in range(2))
    for row in range(len(names)):
        better = (values < values[row]).sum(axis=0)
        ranks = np.sort(better + 1)
        low[row] = ranks[int(0.025 * (len(ranks) - 1))]
        high[row] = ranks[int(np.ceil(0.975 * (len(ranks) - 1)))]
    return {name: (int(low[row]), int(high[row])) for row, name in enumerate(names)}
