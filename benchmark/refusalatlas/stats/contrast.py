"""One paired contrast: two series of outcomes on the same units, with the interval and test that fit their shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .intervals import Estimate
from .paired import (
    Test,
    clustered_difference,
    detectable_difference,
    mcnemar,
    paired_rate_difference,
    seed_means,
    sign_flip,
)

_LEAST_DISCORDANCE = 0.2  # what is assumed where two series hardly ever differ, to say what could have been shown


@dataclass(frozen=True, slots=True)
class Contrast:
    """What tells two series of paired outcomes apart.

    Attributes:
        difference: Mean of the first minus mean of the second, with its interval.
        test: Paired test of no difference.
        pairs: Number of units that both have.
        clusters: Number of clusters that they come from; what they can show grows with these.
        discordance: Share of the units on which the two differ, or None without units.
        detectable: Smallest difference that so many clusters could show with 80 % power, or None.
    """

    difference: Estimate
    test: Test
    pairs: int
    clusters: int
    discordance: float | None
    detectable: float | None


def contrast(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[str],
    *,
    reach: float = 1.0,
    alpha: float = 0.05,
) -> Contrast:
    """Set two series side by side, unit by unit.

    Yes-or-no outcomes with one unit a cluster get Newcombe's paired interval and McNemar's exact test; all others a
    bootstrap of clusters and a sign-flip permutation of their mean differences. Outcomes that might have been -1
    are not yes or no, even where none of them is.

    Args:
        first: Outcomes of the one series, 0 to 1 (-1 to 1 for a difference within a pair).
        second: Outcomes of the other, in the same order.
        clusters: The cluster that each unit belongs to.
        reach: Largest difference that can be: 1 for rates, 2 for outcomes that run from -1 to 1.
        alpha: Size of the test that `detectable` is about, smaller where the test is one of a family.
    """
    units = len(set(clusters))
    changes = [x - y for x, y in zip(first, second, strict=True)]
    if reach == 1.0 and units == len(changes) and set(first) | set(second) <= {0.0, 1.0}:
        difference = paired_rate_difference(first, second)
        test = mcnemar(changes.count(1.0), changes.count(-1.0))
    else:
        difference = clustered_difference(first, clusters, second, clusters, reach=reach)
        test = sign_flip(list(seed_means(changes, clusters).values()))
    discordance = sum(change != 0 for change in changes) / len(changes) if changes else None
    detectable = detectable_difference(units, max(discordance or 0.0, _LEAST_DISCORDANCE), alpha=alpha, more=True)
    return Contrast(difference, test, len(changes), units, discordance, detectable)
