from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusalatlas.stats.bootstrap import (
    draw_weights,
    expanded_interval,
    percentile_interval,
    positions,
    replicate_means,
    shares,
    youden,
)
from refusalatlas.stats.intervals import MIN_CLUSTERS, Estimate


def names(n: int) -> list[str]:
    return [f"c{i}" for i in range(n)]


def test_weights_draw_as_many_clusters_as_there_are() -> None:
    assert (draw_weights(30, 100).sum(axis=1) == 30).all()


def test_replicate_means_are_those_of_resampled_rows() -> None:
    outcomes, clusters = [1.0, 0.0, 1.0, 0.0, 0.0], ["a", "a", "b", "c", "c"]
    columns = positions(clusters)
    weights = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]])
    by_hand = [(1 + 0 + 1 + 0 + 0 + 0) / 6, 1.0]  # a twice and c once; b three times
    assert replicate_means(outcomes, clusters, columns, weights) == pytest.approx(by_hand)


def test_a_replicate_without_answers_is_left_out() -> None:
    found = percentile_interval(np.array([np.nan, 0.1, 0.2, 0.3]))
    assert found == pytest.approx((0.105, 0.295))


def test_draws_that_do_not_vary_have_no_interval() -> None:
    assert percentile_interval(np.array([0.5, 0.5, np.nan])) is None


def test_shares_add_up_to_no_error() -> None:
    found = shares([1.0, 0.0, 1.0, 0.0], ["a", "a", "b", "c"], positions("abc"))
    assert found.tolist() == [0.0, 0.125, -0.125]  # (1 - .5 + 0 - .5) / 4, (1 - .5) / 4, (0 - .5) / 4


def test_percentiles_are_expanded_by_hand() -> None:
    """Ten clusters that add alike: sqrt(10/9) x t(9 degrees) / z = 1.0541 x 2.2622 / 1.96 = 1.2166."""
    draws = np.linspace(-0.1, 0.3, 401)
    low, high = expanded_interval(0.1, draws, np.array([0.01, -0.01] * 5)) or (0.0, 0.0)
    assert (low, high) == pytest.approx((0.1 - 0.19 * 1.2166, 0.1 + 0.19 * 1.2166), abs=1e-4)


def test_variance_from_one_cluster_makes_the_interval_much_wider() -> None:
    draws = np.linspace(-0.1, 0.3, 401)
    even = expanded_interval(0.1, draws, np.full(40, 0.01))
    lone = expanded_interval(0.1, draws, np.array([0.1, *[0.001] * 39]))
    assert even is not None
    assert lone is not None
    assert lone[1] - lone[0] > 2 * (even[1] - even[0])


def test_expanded_interval_stays_within_what_can_be() -> None:
    """.9 - (.9 - .61) x sqrt(40/39) x t(2 degrees) / z = .9 - .29 x 1.0127 x 4.3027 / 1.96 = .255."""
    found = expanded_interval(0.9, np.linspace(0.6, 1.0, 401), np.array([0.1, *[0.001] * 39]))
    assert found == (pytest.approx(0.255, abs=1e-3), 1.0)


@pytest.mark.parametrize("draws", [np.full(50, 0.3), np.full(50, np.nan), np.linspace(0, 1, 50)])
def test_what_does_not_vary_has_no_interval(draws: np.ndarray) -> None:
    assert expanded_interval(0.3, draws, np.zeros(30)) is None


def _paired(harmful: Sequence[float], benign: Sequence[float]) -> Estimate:
    return youden(harmful, names(len(harmful)), benign, names(len(benign)))


@pytest.mark.parametrize(("harmful", "benign", "value"), [(1.0, 0.0, 1.0), (1.0, 1.0, 0.0), (0.0, 0.0, 0.0)])
def test_youden_without_errors_on_either_side_has_a_value_and_a_reason(
    harmful: float, benign: float, value: float
) -> None:
    found = _paired([harmful] * 40, [benign] * 40)
    assert (found.value, found.low) == (value, None)
    assert found.reason == "too few events (under 4 on both sides together)"


def test_youden_near_one_is_rather_too_wide_than_too_narrow() -> None:
    """36 of 40 refused and 1 of 40: the bootstrap of one event would claim more than it knows."""
    found = _paired([1.0] * 36 + [0.0] * 4, [1.0] + [0.0] * 39)
    assert found.method == "newcombe-wilson-neff"
    assert found.value == pytest.approx(0.875)
    assert (found.low, found.high) == pytest.approx((0.7083, 0.9388), abs=5e-4)


def test_youden_keeps_the_correlation_of_pairs() -> None:
    """A model that refuses both of a pair or neither knows nothing, and the pairs show it more surely."""
    refused = [float(i % 2) for i in range(40)]
    paired = _paired(refused, refused)
    crossed = youden(refused, names(40), refused[::-1], names(40))
    assert paired.value == crossed.value == 0.0
    assert None not in (paired.low, paired.high, crossed.low, crossed.high)
    assert paired.high - paired.low < crossed.high - crossed.low  # type: ignore[operator]


def test_youden_finds_what_was_planted() -> None:
    rng = np.random.default_rng(11)
    harmful = (rng.random(400) < 0.8).astype(float).tolist()
    benign = (rng.random(400) < 0.3).astype(float).tolist()
    found = _paired(harmful, benign)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.5 < found.high
    assert 0.09 < found.high - found.low < 0.15  # sqrt(.8*.2/400 + .3*.7/400) * 2 * 1.96 = .119


@pytest.mark.parametrize("size", [3, 6, 7])
def test_youden_without_variation_is_not_a_point(size: int) -> None:
    benign = [1.0, *[0.0] * (size - 1)] * 40
    found = youden([1.0] * 40, names(40), benign, [f"c{i // size}" for i in range(40 * size)])
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low > 0.05


def test_same_data_give_the_same_interval() -> None:
    outcomes = [float(i % 3 == 0) for i in range(40)]
    assert _paired(outcomes, outcomes[::-1]) == _paired(outcomes, outcomes[::-1])


@pytest.mark.parametrize(("harmful", "benign"), [([], [1.0] * 30), ([1.0] * 30, []), ([], [])])
def test_youden_needs_both_kinds(harmful: list[float], benign: list[float]) -> None:
    found = _paired(harmful, benign)
    assert (found.value, found.low, found.reason) == (None, None, "needs both kinds of items")


@pytest.mark.parametrize(("n_harmful", "n_benign"), [(3, 40), (40, 3), (19, 19)])
def test_youden_of_few_seeds_on_either_side_has_no_interval(n_harmful: int, n_benign: int) -> None:
    found = _paired([1.0, *[0.0] * (n_harmful - 1)], [1.0, *[0.0] * (n_benign - 1)])
    assert found.value is not None
    assert found.low is None
    assert found.reason == f"too few seeds ({min(n_harmful, n_benign)}, at least {MIN_CLUSTERS} are needed)"


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 25)), max_size=80),
    st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 25)), max_size=80),
)
def test_youden_is_sound_or_says_why_not(harmful: list[tuple[float, int]], benign: list[tuple[float, int]]) -> None:
    found = youden(
        [v for v, _ in harmful], [f"c{c}" for _, c in harmful], [v for v, _ in benign], [f"c{c}" for _, c in benign],
        replicates=200,
    )  # fmt: skip
    numbers = [number for number in (found.value, found.low, found.high) if number is not None]
    assert all(-1 - 1e-9 <= number <= 1 + 1e-9 for number in numbers)
    assert (found.low is None) == (found.reason is not None)
