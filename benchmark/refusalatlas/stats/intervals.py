"""Intervals for rates whose answers come in clusters.

Translations and samples of one seed resemble each other, so that counting them as independent makes intervals too
short. The design effect of the clusters turns n answers into a smaller effective n, on which Wilson's interval is
then computed (Wilson 1927; for clustered binary data Rao and Scott 1992, Miller 2024, arXiv 2411.00640). The
variance behind it is itself an estimate from few clusters, so the quantile is Student's, with degrees of freedom
after Satterthwaite (1946) as Bell and McCaffrey (2002) use them. With one answer a cluster all of this is Wilson's
interval unchanged.

A seed that triggers in every language may be missing from the sample, and the seeds that are there then look as if
their answers were independent. So the correlation within a seed is never taken to be less than `LEAST_CORRELATION`:
with that, intervals cover in simulations where a few seeds carry most of the events; without it as few as 59 % do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MIN_CLUSTERS = 20
MIN_EVENTS = 4.0
LEAST_CORRELATION = 0.2  # the smallest of the values tried (0, .1, .2, .3) that covers under every seed effect tried
Z95 = 1.959963984540054
NOTHING = 1e-9  # what is left of a difference that is none, once floating point has been at it

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval, or the reason why there is none.

    Attributes:
        value: Point estimate, None where nothing was observed.
        low: Lower bound, or None.
        high: Upper bound, or None.
        n: Number of answers.
        n_eff: Effective number of answers, or None.
        method: How the interval was made.
        reason: Why value or interval is missing, or None.
        quantile: Quantile behind the interval: the normal one, or Student's where the variance is itself a guess.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    n_eff: float | None
    method: str
    reason: str | None = None
    quantile: float = Z95


def wilson(value: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion.

    Args:
        value: Observed proportion, 0 to 1.
        n: Number of trials, more than 0; need not be whole.
        z: Quantile; the default is the normal one for 95 %.
    """
    centre = value + z * z / (2 * n)
    half = z * math.sqrt(value * (1 - value) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


@dataclass(frozen=True, slots=True)
class Design:
    """What clustering leaves of a sample.

    Attributes:
        clusters: Number of clusters.
        n_eff: Effective number of answers: how many independent ones would carry as much.
        quantile: Quantile to use for a 95 % interval.
    """

    clusters: int
    n_eff: float
    quantile: float


def design(outcomes: Sequence[float] | Floats, clusters: Sequence[str]) -> Design:
    """Return the effective size of clustered outcomes, at most n, and the quantile that goes with it.

    The variance of the mean is the linearised one of a ratio over clusters, with the C/(C-1) correction. Where all
    outcomes or all clusters are the same it cannot be estimated, and the number of clusters is taken. The design
    effect is at least the one of a correlation of .2 within a cluster (Kish 1965: 1 + (m - 1) x correlation).

    Args:
        outcomes: One value an answer, 0 to 1.
        clusters: The cluster that each answer belongs to.
    """
    values = np.asarray(outcomes, dtype=float)
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    count = int(index.max()) + 1
    mean = float(values.mean())
    if count == len(values):
        return Design(count, float(count), Z95)
    if count < 2 or mean <= 0.0 or mean >= 1.0:
        return Design(count, float(count), Z95)
    sizes = np.bincount(index, minlength=count).astype(float)
    most = len(values) / (1 + (float(np.square(sizes).sum()) / len(values) - 1) * LEAST_CORRELATION)
    squares = np.square(np.bincount(index, weights=values - mean, minlength=count))
    total = float(squares.sum())
    if total <= NOTHING * mean * (1 - mean) * len(values):
        return Design(count, float(count), Z95)
    variance = count / (count - 1) * total / len(values) ** 2
    freedom = min(max(total**2 / float(np.square(squares).sum()), 2.0), count - 1.0)
    return Design(count, min(most, mean * (1 - mean) / variance), student_quantile(freedom))


def student_quantile(freedom: float) -> float:
    """Return the 97.5 % quantile of Student's distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.975))


def clustered_rate(outcomes: Sequence[float], clusters: Sequence[str]) -> Estimate:
    """Return a rate with Wilson's interval on the effective sample size.

    Args:
        outcomes: 0 or 1 for each answer (or a mean over samples of one item, 0 to 1).
        clusters: The cluster that each answer belongs to.

    Returns:
        An estimate; without an interval where there are fewer than 20 clusters, or fewer than 4 events or
        non-events among the effective answers, since an interval would then look more exact than it is.
    """
    n = len(outcomes)
    method = "wilson-neff"
    if n == 0:
        return Estimate(None, None, None, 0, None, method, "nothing to count")
    value = float(np.mean(outcomes))
    found = design(outcomes, clusters)
    reason = too_few(value, found)
    if reason:
        return Estimate(value, None, None, n, found.n_eff, method, reason)
    low, high = wilson(value, found.n_eff, found.quantile)
    return Estimate(value, low, high, n, found.n_eff, method, quantile=found.quantile)


def too_few(value: float, found: Design) -> str | None:
    """Return why an interval would look more exact than it is, or None.

    Where an event never (or always) happened, the reason holds the exact one-sided bound on clusters, rounded to the
    side on which it claims less.
    """
    if found.clusters < MIN_CLUSTERS:
        return f"too few seeds ({found.clusters}, at least {MIN_CLUSTERS} are needed)"
    if value in (0.0, 1.0):
        bound = math.ceil(100 * (1 - 0.05 ** (1 / found.clusters))) / 100
        side = f"at most {bound:.2f}" if value == 0.0 else f"at least {1 - bound:.2f}"
        return f"too few events (none the other way in {found.clusters} seeds: {side}, 95 %, one-sided)"
    if min(value, 1 - value) * found.n_eff < MIN_EVENTS:
        return f"too few events (under {MIN_EVENTS:.0f})"
    return None
