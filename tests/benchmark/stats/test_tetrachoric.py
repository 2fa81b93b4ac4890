from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, spearmanr

from refusalatlas.stats.tetrachoric import bivariate_normal_cdf, refusal_index, spearman_of, tetrachoric


@pytest.mark.parametrize(("h", "k", "rho"), [(0.3, -0.5, 0.7), (-1.0, 1.0, -0.9), (0.0, 0.0, 0.95), (2.0, 2.0, 0.99)])
def test_bivariate_normal_is_scipys(h: float, k: float, rho: float) -> None:
    expected = multivariate_normal(cov=[[1, rho], [rho, 1]]).cdf([h, k])
    found = bivariate_normal_cdf(np.array([h]), np.array([k]), np.array([rho]))
    assert found[0] == pytest.approx(expected, abs=1e-6)


def test_tetrachoric_of_halves_has_a_closed_form() -> None:
    """With both margins one half, P(both) = 1/4 + asin(rho) / (2 pi) (Sheppard 1899)."""
    rho = np.array([-0.8, -0.2, 0.0, 0.5, 0.9])
    both = 0.25 + np.arcsin(rho) / (2 * np.pi)
    half = np.full(5, 0.5)
    assert tetrachoric(both, half, half) == pytest.approx(rho, abs=1e-6)


def test_spearman_of_a_normal_copula_is_what_ranks_give() -> None:
    rng = np.random.default_rng(1)
    sample = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=200_000)
    assert float(spearman_of(np.array(0.6))) == pytest.approx(spearmanr(*sample.T).statistic, abs=0.005)


@pytest.mark.parametrize("rho", [0.0, 0.4, 0.9])
def test_planted_index_lies_within_its_interval(rho: float) -> None:
    rng = np.random.default_rng(7)
    truth = float(spearman_of(np.array(rho)))
    covered = 0
    for _ in range(200):
        latent = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=200)
        refused, wrong = (latent[:, 0] > 0.7).astype(float), (latent[:, 1] > 0.0).astype(float)
        found = refusal_index(refused.tolist(), wrong.tolist(), [f"s{i}" for i in range(200)])
        covered += found.low is not None and found.high is not None and found.low <= truth <= found.high
    assert covered / 200 > 0.90


def test_index_does_not_depend_on_how_often_a_model_refuses() -> None:
    """The same latent relation, seen at three thresholds of refusing: one index."""
    rng = np.random.default_rng(9)
    latent = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=20_000)
    wrong = (latent[:, 1] > 0.2).astype(float).tolist()
    seeds = [f"s{i}" for i in range(20_000)]
    found = [refusal_index((latent[:, 0] > cut).astype(float).tolist(), wrong, seeds).value for cut in (-0.5, 0.5, 1.2)]
    assert found == pytest.approx([0.582] * 3, abs=0.03)


@pytest.mark.parametrize(
    ("refused", "wrong", "reason"),
    [([], [], "nothing to count"), ([0.0] * 30, [0.0, 1.0] * 15, "no question was refused"),
     ([0.0, 1.0] * 15, [1.0] * 30, "every question was wrong")],
)  # fmt: skip
def test_what_does_not_vary_has_no_index(refused: list[float], wrong: list[float], reason: str) -> None:
    found = refusal_index(refused, wrong, [f"s{i}" for i in range(len(refused))])
    assert (found.value, found.reason) == (None, reason)


def test_translations_of_a_seed_do_not_narrow_the_interval_as_new_seeds_would() -> None:
    rng = np.random.default_rng(3)
    latent = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=60)
    refused = np.repeat((latent[:, 0] > 0.5).astype(float), 10).tolist()
    wrong = np.repeat((latent[:, 1] > 0.0).astype(float), 10).tolist()
    together = refusal_index(refused, wrong, [f"s{i // 10}" for i in range(600)])
    apart = refusal_index(refused, wrong, [f"s{i}" for i in range(600)])
    assert None not in (together.low, together.high, apart.low, apart.high)
    assert together.high - together.low > 2 * (apart.high - apart.low)  # type: ignore[operator]
