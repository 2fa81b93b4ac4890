"""How far raters agree, judges or people.

One number is not enough: kappa and alpha collapse where nearly all answers are alike, while raw agreement and AC1
then look splendid (Feinstein and Cicchetti 1990). So they stand together, with positive agreement on the class that
matters. A table is items by raters; None is a missing rating.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from .bootstrap import SEED
from .intervals import Estimate

Ratings = Sequence[Sequence[Hashable | None]]


@dataclass(frozen=True, slots=True)
class _Counts:
    """Ratings as counts, items by categories, of items with at least two ratings."""

    matrix: np.ndarray

    @property
    def per_item(self) -> np.ndarray:
        return np.asarray(self.matrix.sum(axis=1))


def _counts(ratings: Ratings) -> _Counts:
    categories = sorted({r for row in ratings for r in row if r is not None}, key=repr)
    column = {category: index for index, category in enumerate(categories)}
    matrix = np.zeros((len(ratings), len(categories)))
    for row, found in zip(matrix, ratings, strict=True):
        for rating, count in Counter(r for r in found if r is not None).items():
            row[column[rating]] = count
    return _Counts(matrix[matrix.sum(axis=1) >= 2])


def _alpha(counts: _Counts) -> float | None:
    m = counts.per_item
    total = m.sum()
    if total == 0:
        return None
    observed = ((m[:, None] * counts.matrix - counts.matrix**2) / (m - 1)[:, None]).sum()
    shares = counts.matrix.sum(axis=0)
    expected = (total**2 - (shares**2).sum()) / (total - 1)
    return None if expected == 0 else float(1 - observed / expected)


def _raw(counts: _Counts) -> float | None:
    m = counts.per_item
    if len(m) == 0:
        return None
    return float((((counts.matrix**2).sum(axis=1) - m) / (m * (m - 1))).mean())


def _fleiss(counts: _Counts) -> float | None:
    raw = _raw(counts)
    m = counts.per_item
    if raw is None or len(set(m.tolist())) != 1:
        return None
    chance = float(np.square(counts.matrix.sum(axis=0) / counts.matrix.sum()).sum())
    return None if chance == 1 else (raw - chance) / (1 - chance)


def _ac1(counts: _Counts) -> float | None:
    raw = _raw(counts)
    categories = counts.matrix.shape[1]
    if raw is None or categories < 2:
        return None
    shares = (counts.matrix / counts.per_item[:, None]).mean(axis=0)
    chance = float((shares * (1 - shares)).sum() / (categories - 1))
    return (raw - chance) / (1 - chance)


_STATISTICS: dict[str, Callable[[_Counts], float | None]] = {
    "krippendorff_alpha": _alpha,
    "fleiss_kappa": _fleiss,
    "gwet_ac1": _ac1,
    "raw_agreement": _raw,
}


def agreement(ratings: Ratings, statistic: str, *, replicates: int = 1000, seed: int = SEED) -> Estimate:
    """Return an agreement statistic with a bootstrap interval over items.

    Args:
        ratings: Items by raters, nominal; None where a rater did not rate.
        statistic: ``krippendorff_alpha`` (nominal; Krippendorff 2011), ``fleiss_kappa`` (Fleiss 1971; all items need
            the same number of ratings), ``gwet_ac1`` (Gwet 2008) or ``raw_agreement`` (of pairs of raters).
        replicates: Number of bootstrap replicates.
        seed: Seed of the draw.
    """
    measure = _STATISTICS[statistic]
    counts = _counts(ratings)
    n = len(counts.matrix)
    value = measure(counts)
    method = f"item-bootstrap-{replicates}-seed{seed}"
    if value is None:
        return Estimate(None, None, None, n, None, method, "no variation" if n else "no item with two ratings")
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(replicates):
        found = measure(_Counts(counts.matrix[rng.integers(0, n, size=n)]))
        if found is not None:
            draws.append(found)
    if n < 2 or not draws or min(draws) == max(draws):
        return Estimate(value, None, None, n, None, method, "no variation")
    low, high = np.percentile(draws, [2.5, 97.5])
    return Estimate(value, float(low), float(high), n, None, method)


def positive_agreement(
    first: Sequence[Hashable | None], second: Sequence[Hashable | None], category: Hashable
) -> float | None:
    """Return ``2a / (2a + b + c)``: agreement on one category (Cicchetti and Feinstein 1990); None if unused."""
    both = either = 0
    for a, b in zip(first, second, strict=True):
        if a is None or b is None:
            continue
        both += a == category and b == category
        either += (a == category) + (b == category)
    return 2 * both / either if either else None


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa (1960) of two raters; None where chance agreement is complete."""
    n = len(first)
    if n == 0 or n != len(second):
        return None
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    a, b = Counter(first), Counter(second)
    chance = sum(a[c] * b[c] for c in a) / n**2
    return None if chance == 1 else (observed - chance) / (1 - chance)
