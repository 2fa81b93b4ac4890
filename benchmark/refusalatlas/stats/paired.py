"""Two models, or two languages, on the same seeds: differences and tests.

What both answer alike says nothing about their difference, so everything here works on pairs.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .bootstrap import REPLICATES, SEED, draw_weights, expanded_interval, positions, replicate_means, shares
from .intervals import MIN_CLUSTERS, MIN_EVENTS, NOTHING, Z95, Estimate, wilson

FLIPS = 9999
EXACT_UP_TO = 16  # 2 ** 16 sign patterns are enumerated; more are sampled
EXACT_POWER_UP_TO = 300  # pairs; above, Connor's formula is off by less than a point
LEAST_P = sys.float_info.min  # what floating point makes of less is nought, and no p-value is nought
_STEADY = 3  # numbers of pairs in a row whose power must suffice
_KEPT_UP_TO = 256  # patterns of so few differences are drawn once and kept: 10,000 of them take 2.5 MB


@dataclass(frozen=True, slots=True)
class Test:
    """A two-sided test.

    Attributes:
        p: p-value, 0 to 1, or None where nothing can be tested.
        method: Name of the test.
        reason: Why there is no p-value, or None.
    """

    p: float | None
    method: str
    reason: str | None = None


@functools.lru_cache(maxsize=4096)
def mcnemar(only_first: int, only_second: int) -> Test:
    """Return McNemar's exact test (McNemar 1947): a sign test on the pairs that differ.

    Args:
        only_first: Pairs in which only the first has the event.
        only_second: Pairs in which only the second has it.
    """
    from scipy.stats import binomtest

    discordant = only_first + only_second
    if discordant == 0:
        return Test(None, "mcnemar-exact", "no pair differs")
    return Test(max(float(binomtest(only_first, discordant).pvalue), LEAST_P), "mcnemar-exact")


def paired_rate_difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return ``rate(first) - rate(second)`` of paired 0/1 outcomes, with Newcombe's interval (1998, method 10).

    Wilson's limits of the two rates are put together with the correlation of the pairs. One pair a cluster is
    assumed; for more use `clustered_difference`.
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    n = len(a)
    method = "newcombe-paired"
    if n == 0:
        return Estimate(None, None, None, 0, None, method, "no pairs")
    p, q = float(a.mean()), float(b.mean())
    if n < MIN_CLUSTERS:
        reason = f"too few seeds ({n}, at least {MIN_CLUSTERS} are needed)"
        return Estimate(p - q, None, None, n, float(n), method, reason)
    (p_low, p_high), (q_low, q_high) = wilson(p, n), wilson(q, n)
    phi = _phi(a, b)
    below, above = (p - p_low, q_high - q), (p_high - p, q - q_low)
    low = p - q - math.sqrt(max(0.0, below[0] ** 2 - 2 * phi * below[0] * below[1] + below[1] ** 2))
    high = p - q + math.sqrt(max(0.0, above[0] ** 2 - 2 * phi * above[0] * above[1] + above[1] ** 2))
    return Estimate(p - q, max(-1.0, low), min(1.0, high), n, float(n), method)


def _phi(a: np.ndarray, b: np.ndarray) -> float:
    """Return the correlation of two 0/1 vectors, corrected for continuity as Newcombe does; 0 without variation."""
    both, only_a = float((a * b).sum()), float((a * (1 - b)).sum())
    only_b, neither = float(((1 - a) * b).sum()), float(((1 - a) * (1 - b)).sum())
    scale = math.sqrt((both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither))
    if scale == 0:
        return 0.0
    product = both * neither - only_a * only_b
    if product > 0:
        product = max(product - len(a) / 2, 0.0)
    return product / scale


def seed_means(values: Sequence[float], seeds: Sequence[str]) -> dict[str, float]:
    """Return the mean value of each seed, sorted by seed."""
    sums: dict[str, list[float]] = {}
    for value, seed in zip(values, seeds, strict=True):
        sums.setdefault(seed, []).append(value)
    return {seed: sum(found) / len(found) for seed, found in sorted(sums.items())}


def sign_flip(differences: Sequence[float], *, replicates: int = FLIPS, seed: int = SEED) -> Test:
    """Return the sign-flip permutation test of a mean difference of zero (Fisher 1935; Good 2005, §3.3).

    Under the null hypothesis each seed's difference might as well have had the other sign. Up to sixteen non-zero
    differences all patterns are counted; above, they are sampled and the observed one is counted in. Where fewer than
    one sampled pattern could be expected, Hoeffding's bound (1963) says how much smaller p is at most; large families
    need that.

    Args:
        differences: One mean difference a seed.
        replicates: Number of sampled patterns.
        seed: Seed of the draw.
    """
    values = np.asarray([d for d in differences if d != 0.0], dtype=float)
    if len(values) == 0:
        return Test(None, "sign-flip", "no seed differs")
    # Sums of the same numbers in another order differ by rounding; a tie that is lost makes p too small.
    observed = abs(float(values.sum())) - 1e-9 * float(np.abs(values).sum())
    if len(values) <= EXACT_UP_TO:
        patterns = (np.arange(2 ** len(values))[:, None] >> np.arange(len(values))) & 1
        sums = np.abs((2.0 * patterns - 1.0) @ values)
        return Test(float((sums >= observed).mean()), "sign-flip-exact")
    drawn = _kept_flips if len(values) <= _KEPT_UP_TO else _flips
    extreme = 0
    for part in drawn(len(values), replicates, seed):
        extreme += int((np.abs((part * 2.0 - 1.0) @ values) >= observed).sum())
    p = (1 + extreme) / (1 + replicates)
    bound = 2 * math.exp(-(observed**2) / (2 * float(values @ values)))
    if bound < 1 / (1 + replicates):
        return Test(max(bound, LEAST_P), "sign-flip-hoeffding")
    return Test(p, f"sign-flip-{replicates}-seed{seed}")


def _flips(count: int, replicates: int, seed: int) -> Iterator[npt.NDArray[np.int8]]:
    """Yield sign patterns as noughts and ones, a thousand at a time."""
    rng = np.random.default_rng(seed)
    for start in range(0, replicates, 1000):
        yield rng.integers(0, 2, size=(min(1000, replicates - start), count)).astype(np.int8)


@functools.lru_cache(maxsize=32)
def _kept_flips(count: int, replicates: int, seed: int) -> tuple[npt.NDArray[np.int8], ...]:
    return tuple(_flips(count, replicates, seed))


def clustered_difference(
    first: Sequence[float],
    first_seeds: Sequence[str],
    second: Sequence[float],
    second_seeds: Sequence[str],
    *,
    reach: float = 1.0,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Estimate:
    """Return ``mean(first) - mean(second)`` with a bootstrap of the seeds that both share.

    Where fewer than four seeds move the difference there is no interval: the bootstrap would have next to nothing to
    draw from.

    Args:
        first: Outcomes of the one series.
        first_seeds: The seed of each.
        second: Outcomes of the other.
        second_seeds: The seed of each.
        reach: Largest difference that can be: 1 for rates, 2 for values that run from -1 to 1 themselves.
        replicates: Number of bootstrap replicates.
        seed: Seed of the draw.
    """
    n = len(first) + len(second)
    method = f"cluster-bootstrap-{replicates}-seed{seed}"
    if not first or not second:
        return Estimate(None, None, None, n, None, method, "no pairs")
    value = float(np.mean(first) - np.mean(second))
    columns = positions(first_seeds, second_seeds)
    if len(columns) < MIN_CLUSTERS:
        reason = f"too few seeds ({len(columns)}, at least {MIN_CLUSTERS} are needed)"
        return Estimate(value, None, None, n, None, method, reason)
    contributions = shares(first, first_seeds, columns) - shares(second, second_seeds, columns)
    moved = _moved(first, first_seeds, second, second_seeds)
    if 0 < moved < MIN_EVENTS:
        return Estimate(value, None, None, n, None, method, f"too few seeds differ (under {MIN_EVENTS:.0f})")
    weights = draw_weights(len(columns), replicates, seed)
    draws = replicate_means(first, first_seeds, columns, weights)
    draws = draws - replicate_means(second, second_seeds, columns, weights)
    bounds = expanded_interval(value, draws, contributions, (-reach, reach))
    if bounds is None:
        return Estimate(value, None, None, n, None, method, "no variation")
    return Estimate(value, *bounds, n, None, method)


def _moved(
    first: Sequence[float], first_seeds: Sequence[str], second: Sequence[float], second_seeds: Sequence[str]
) -> int:
    """Return how many seeds have another mean in the second series than in the first, or are missing from one."""
    a, b = seed_means(first, first_seeds), seed_means(second, second_seeds)
    return sum(seed not in a or seed not in b or abs(a[seed] - b[seed]) > NOTHING for seed in a.keys() | b.keys())


def pairs_needed(difference: float, discordance: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Return the smallest number of pairs from which McNemar's exact test finds a difference.

    Up to `EXACT_POWER_UP_TO` pairs the power is the exact test's own (it goes up and down a little as pairs are added;
    from the number returned to the next few its power holds); above, Connor's formula (1987).

    Args:
        difference: True difference of the two rates, more than 0, at most `discordance`.
        discordance: Share of pairs in which the two differ, 0 to 1.
        power: Wanted chance of finding it.
        alpha: Size of the test.
    """
    guess = math.ceil(_pairs_by_formula(difference, discordance, power, alpha))
    for pairs in range(max(1, guess // 2), EXACT_POWER_UP_TO - _STEADY + 1):
        if all(mcnemar_power(pairs + more, difference, discordance, alpha) >= power for more in range(_STEADY)):
            return pairs
    return max(guess, EXACT_POWER_UP_TO + 1)


def _pairs_by_formula(difference: float, discordance: float, power: float, alpha: float) -> float:
    z_alpha, z_power = _normal_quantile(1 - alpha / 2), _normal_quantile(power)
    spread = math.sqrt(max(discordance - difference**2, 0.0))
    return (z_alpha * math.sqrt(discordance) + z_power * spread) ** 2 / difference**2


def mcnemar_power(pairs: int, difference: float, discordance: float, alpha: float = 0.05) -> float:
    """Return the chance that McNemar's exact two-sided test finds a difference, 0 to 1.

    How many pairs differ is binomial, and so is how many of those speak for the first; both are summed over.

    Args:
        pairs: Number of pairs.
        difference: True difference of the two rates, 0 to `discordance`.
        discordance: Share of pairs in which the two differ, 0 to 1.
        alpha: Size of the test.
    """
    from scipy.stats import binom

    counts = np.arange(pairs + 1)
    fewest = _critical(pairs, alpha)
    share = min((discordance + difference) / (2 * discordance), 1.0)
    found = binom.cdf(fewest, counts, share) + binom.sf(counts - fewest - 1, counts, share)
    return float(binom.pmf(counts, pairs, discordance) @ np.where(fewest < 0, 0.0, found))


@functools.lru_cache(maxsize=1024)
def _critical(pairs: int, alpha: float) -> npt.NDArray[np.int64]:
    """Return, for 0 to `pairs` pairs that differ, how few on one side the test still rejects at; -1 for never."""
    from scipy.stats import binom

    counts = np.arange(pairs + 1)
    # the least k with P(X <= k) >= alpha / 2
    fewest: npt.NDArray[np.int64] = binom.ppf(alpha / 2, counts, 0.5).astype(np.int64)
    fewest -= 2 * binom.cdf(fewest, counts, 0.5) > alpha
    fewest.flags.writeable = False
    return fewest


@functools.lru_cache(maxsize=64)
def _normal_quantile(share: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(share))


@functools.lru_cache(maxsize=4096)
def detectable_difference(
    pairs: int, discordance: float, *, power: float = 0.8, alpha: float = 0.05, more: bool = False
) -> float | None:
    """Return the smallest difference of two rates that a number of pairs can show; None where none could.

    Args:
        pairs: Number of seeds that both answered.
        discordance: Share of pairs in which the two differ, 0 to 1; a difference cannot be larger.
        power: Wanted chance of finding it.
        alpha: Size of the test.
        more: Let the discordance grow with the difference where it would be less, so that `None` means that not even
            pairs that all differ could show anything.
    """
    least, most = discordance, 1.0 if more else discordance

    def shows(difference: float) -> bool:
        discordance = max(least, difference)
        if pairs <= EXACT_POWER_UP_TO:
            return mcnemar_power(pairs, difference, discordance, alpha) >= power
        return _pairs_by_formula(difference, discordance, power, alpha) <= pairs

    if pairs <= 0 or discordance <= 0 or not shows(most):
        return None
    low, high = 1e-6, most
    for _ in range(24):
        middle = (low + high) / 2
        if shows(middle):
            high = middle
        else:
            low = middle
    return high


def seeds_for_width(width: float, rate: float = 0.5) -> int:
    """Return how many seeds make a 95 % Wilson interval of a rate no wider than `width` (0 to 1)."""
    n = max(1, math.floor(4 * Z95**2 * rate * (1 - rate) / width**2 - Z95**2) - 1)
    while True:
        low, high = wilson(rate, n)
        if high - low <= width:
            return n
        n += 1
