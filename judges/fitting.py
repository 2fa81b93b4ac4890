"""Softmax regression on hashed features, its temperature and its threshold: the arithmetic of `judges train`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refusalatlas.records import LABELS

from .features import BUCKETS, softmax
from .ngram import REFUSED_MASK

FOLDS = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """What the fit is told.

    Attributes:
        penalty: Weight of the squared weights.
        own: Weight of one of the project's examples against one row of a file from elsewhere.
        iterations: Most steps of L-BFGS.
        precision: Share of right refused-or-not verdicts that the abstention threshold is set for.
    """

    penalty: float = 4e-5
    own: float = 4.0
    iterations: int = 50
    precision: float = 0.8


@dataclass(frozen=True, slots=True)
class Matrix:
    """Hashed answers: sparse features, labels, weights, and the fold that each belongs to."""

    x: Any
    y: NDArray[np.intp]
    weight: NDArray[np.float64]
    fold: NDArray[np.intp]


def fit(data: Matrix, keep: NDArray[np.bool_], settings: Settings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weights and bias of a softmax regression with a squared penalty, fitted by L-BFGS from zero."""
    from scipy.optimize import minimize

    x, weight = data.x[keep], data.weight[keep] / data.weight[keep].sum()
    used = np.flatnonzero(np.bincount(x.indices, minlength=BUCKETS) >= 2)
    x = x[:, used]
    transposed, k = x.T.tocsr(), len(LABELS)
    target = np.eye(k)[data.y[keep]]

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        w, b = flat[:-k].reshape(len(used), k), flat[-k:]
        p = softmax(np.asarray(x @ w.astype(np.float32), dtype=np.float64) + b)
        nll = -float(weight @ np.log(np.maximum((p * target).sum(axis=1), 1e-12)))
        slope = (p - target) * weight[:, None]
        steep = np.asarray(transposed @ slope.astype(np.float32), dtype=np.float64) + settings.penalty * w
        value = nll + 0.5 * settings.penalty * float((w * w).sum())
        return value, np.concatenate([steep.ravel(), slope.sum(axis=0)])

    start = np.zeros(len(used) * k + k)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": settings.iterations, "maxcor": 8})
    weights = np.zeros((BUCKETS, k))
    weights[used] = found.x[:-k].reshape(len(used), k)
    return weights, np.asarray(found.x[-k:], dtype=np.float64)


def out_of_fold(data: Matrix, settings: Settings, report: Callable[[str], None]) -> NDArray[np.float64]:
    """Return scores of every answer by a fit that saw no answer to its prompt."""
    result = np.zeros((len(data.y), len(LABELS)))
    for fold in range(FOLDS):
        held = data.fold == fold
        if not held.any() or held.all():
            continue
        weights, bias = fit(data, ~held, settings)
        result[held] = np.asarray(data.x[held] @ weights) + bias
        report(f"fold {fold + 1} of {FOLDS}: {int(held.sum())} answers held out")
    return result


def fit_temperature(logits: NDArray[np.float64], y: NDArray[np.intp], weight: NDArray[np.float64]) -> float:
    """Return the temperature, to two digits, under which the labels are likeliest."""
    grid = np.round(np.geomspace(0.3, 6.0, 120), 2)
    rows = np.arange(len(y))
    losses = [-float(weight @ np.log(np.maximum(softmax(logits / heat)[rows, y], 1e-12))) for heat in grid]
    return float(grid[int(np.argmin(losses))])


def fit_threshold(
    shares: NDArray[np.float64], y: NDArray[np.intp], weight: NDArray[np.float64], precision: float
) -> float:
    """Return the least confidence in a side, of .5 to .9, above which refused-or-not is right as often as asked.

    Where that is out of reach, .7: the judge then says little. The gate asks a second family anyway.
    """
    refused = shares[:, REFUSED_MASK].sum(axis=1)
    right = (refused >= 0.5) == REFUSED_MASK[y]
    sure = np.maximum(refused, 1.0 - refused)
    for threshold in np.round(np.arange(0.5, 0.9, 0.01), 2):
        kept = sure >= threshold
        if kept.sum() >= 20 and float(np.average(right[kept], weights=weight[kept])) >= precision:
            return float(threshold)
    return 0.7
