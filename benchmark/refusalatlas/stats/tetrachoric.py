"""Refusal Index: does a model refuse what it would get wrong?

The index is Spearman's correlation between the probability that a model refuses a question and the probability that
its answer is wrong ("Can LLMs Refuse Questions They Do Not Know?", 2025). Neither probability is seen. Two passes
show one outcome of each: was the question refused when that was allowed, and was the answer wrong when an answer was
forced. Under a Gaussian copula the two latent variables have a correlation rho, the tetrachoric correlation (Pearson
1900) of the two outcomes, and Spearman's correlation of the latents is then (6/pi) asin(rho/2) (Kruskal 1958).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .intervals import MIN_CLUSTERS, Estimate, Floats, design

_NODES = 64  # Gauss-Legendre nodes; the integrand is smooth, and 64 give more than ten digits for |rho| < .99
_LIMIT = 0.9999


def bivariate_normal_cdf(h: Floats, k: Floats, rho: Floats) -> Floats:
    """Return P(X <= h, Y <= k) of standard normals with correlation rho, elementwise.

    By Plackett's identity (1954): the derivative with respect to rho is the density, so the probability is the one of
    independence plus an integral from 0 to rho. With r = sin(t) the integrand stays bounded as rho nears 1.
    """
    from scipy.special import ndtr

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    upper = np.arcsin(np.clip(rho, -_LIMIT, _LIMIT))[..., None]
    t = upper * (nodes + 1) / 2
    h_, k_ = np.asarray(h)[..., None], np.asarray(k)[..., None]
    exponent = -(h_**2 + k_**2 - 2 * h_ * k_ * np.sin(t)) / (2 * np.cos(t) ** 2)
    area = (np.exp(exponent) * weights).sum(axis=-1) * upper[..., 0] / 2
    return np.asarray(ndtr(h) * ndtr(k) + area / (2 * math.pi))


def tetrachoric(both: Floats, first: Floats, second: Floats) -> Floats:
    """Return the tetrachoric correlation of two binary outcomes, elementwise.

    Args:
        both: Share of items with both outcomes.
        first: Share with the first, strictly between 0 and 1.
        second: Share with the second, strictly between 0 and 1.
    """
    from scipy.special import ndtri

    h, k = ndtri(first), ndtri(second)
    low = np.full(np.shape(both), -_LIMIT)
    high = np.full(np.shape(both), _LIMIT)
    for _ in range(50):
        middle = (low + high) / 2
        below = bivariate_normal_cdf(h, k, middle) < both
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)


def spearman_of(rho: Floats) -> Floats:
    """Return Spearman's correlation of a bivariate normal with correlation rho (Kruskal 1958)."""
    return np.asarray(6 / math.pi * np.arcsin(np.asarray(rho) / 2))


def refusal_index(refused: Sequence[float], wrong: Sequence[float], clusters: Sequence[str]) -> Estimate:
    """Return the Refusal Index, -1 to 1, with a likelihood interval.

    The interval holds the correlations under which the four cells of the table are not much less likely than under
    the estimate (likelihood ratio, margins at their observed values). Percentiles of a bootstrap cover 78 % instead
    of 95 % at a correlation of .9, since half an item in an empty cell pulls every draw to the middle. Where several
    answers share a seed, the likelihood counts the effective number of answers.

    Args:
        refused: 0 or 1 for each question: was it refused when that was allowed?
        wrong: 0 or 1 for each: was the forced answer wrong?
        clusters: The seed that each question comes from.
    """
    method = "tetrachoric, likelihood-ratio"
    n = len(refused)
    if n == 0:
        return Estimate(None, None, None, 0, None, method, "nothing to count")
    r, w = np.asarray(refused, dtype=float), np.asarray(wrong, dtype=float)
    for values, what in ((r, "refused"), (w, "wrong")):
        if values.min() == values.max():
            return Estimate(None, None, None, n, None, method, f"{'every' if values[0] else 'no'} question was {what}")
    cells = np.array([(r * w).sum(), (r * (1 - w)).sum(), ((1 - r) * w).sum(), ((1 - r) * (1 - w)).sum()])
    found = design(_excess(r, w), clusters)
    grid = np.linspace(-_LIMIT, _LIMIT, 4001)
    likelihood = _log_likelihood(cells, grid) * found.n_eff / n
    best = int(likelihood.argmax())
    value = float(spearman_of(grid[best]))
    if found.clusters < MIN_CLUSTERS:
        reason = f"too few seeds ({found.clusters}, at least {MIN_CLUSTERS} are needed)"
        return Estimate(value, None, None, n, found.n_eff, method, reason)
    inside = grid[2 * (likelihood[best] - likelihood) <= found.quantile**2]
    low, high = spearman_of(inside[[0, -1]])
    return Estimate(value, float(low), float(high), n, found.n_eff, method)


def _excess(r: Floats, w: Floats) -> Floats:
    """Return what each item adds to the association, scaled to 0..1 so that its design effect can be taken."""
    product = (r - r.mean()) * (w - w.mean())
    return np.asarray((product - product.min()) / (np.ptp(product) or 1.0))


def _log_likelihood(cells: Floats, grid: Floats) -> Floats:
    """Return the log-likelihood of a table (both, refused only, wrong only, neither) for each correlation."""
    from scipy.special import ndtri

    total = cells.sum()
    first, second = (cells[0] + cells[1]) / total, (cells[0] + cells[2]) / total
    h, k = np.full(len(grid), ndtri(first)), np.full(len(grid), ndtri(second))
    both = bivariate_normal_cdf(h, k, grid)
    shares = np.stack([both, first - both, second - both, 1 - first - second + both])
    return np.asarray((cells[:, None] * np.log(np.clip(shares, 1e-12, 1.0))).sum(axis=0))
