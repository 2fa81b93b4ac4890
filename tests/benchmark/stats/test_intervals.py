from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from refusalatlas.stats.intervals import Estimate, clustered_rate, design, wilson

BITS = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=120)


def names(n: int) -> list[str]:
    return [f"c{i}" for i in range(n)]


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(counts: tuple[int, int]) -> None:
    k, n = counts
    expected = binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k / n, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(st.floats(0, 1), st.floats(0.5, 1e6))
def test_wilson_holds_the_value_and_stays_within_0_and_1(value: float, n: float) -> None:
    low, high = wilson(value, n)
    assert 0 <= low <= value + 1e-9
    assert value - 1e-9 <= high <= 1


@given(st.floats(0, 1), st.floats(1, 1e4))
def test_more_answers_make_wilson_narrower(value: float, n: float) -> None:
    few, many = wilson(value, n), wilson(value, 2 * n)
    assert many[1] - many[0] < few[1] - few[0]


@given(BITS)
def test_effective_n_lies_between_0_and_n(outcomes: list[float]) -> None:
    clusters = [f"c{i // 3}" for i in range(len(outcomes))]
    assert 0 < effective_n(outcomes, clusters) <= len(outcomes)


@given(BITS)
def test_effective_n_of_distinct_clusters_is_nearly_n(outcomes: list[float]) -> None:
    n = len(outcomes)
    assume(n > 1)
    assert n - 1 - 1e-6 <= effective_n(outcomes, names(n)) <= n


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=80))
def test_rows_that_stand_there_twice_do_not_count_twice(outcomes: list[float]) -> None:
    n = len(outcomes)
    doubled = effective_n(outcomes * 2, names(n) * 2)
    assert n - 1 - 1e-6 <= doubled <= n


@given(BITS, st.randoms())
def test_order_of_answers_does_not_matter(outcomes: list[float], random: np.random.Generator) -> None:
    pairs = [(value, f"c{i // 2}") for i, value in enumerate(outcomes)]
    before = effective_n(*zip(*pairs, strict=True))
    random.shuffle(pairs)
    assert effective_n(*zip(*pairs, strict=True)) == pytest.approx(before)


@pytest.mark.parametrize("size", [2, 3, 6, 7, 10])
def test_clusters_that_all_say_the_same_count_once_each(size: int) -> None:
    """One event in every cluster: no variance between them, whatever the floating point says."""
    outcomes = [1.0, *[0.0] * (size - 1)] * 40
    clusters = [f"c{i // size}" for i in range(40 * size)]
    assert effective_n(outcomes, clusters) == pytest.approx(40)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_without_variation_the_clusters_are_counted(outcome: float) -> None:
    assert effective_n([outcome] * 90, [f"c{i // 3}" for i in range(90)]) == 30


def test_one_cluster_is_one_answer() -> None:
    assert effective_n([0.0, 1.0, 1.0], ["c"] * 3) == 1


def effective_n(outcomes: Sequence[float], clusters: Sequence[str]) -> float:
    return design(outcomes, clusters).n_eff


def _is_sound(estimate: Estimate) -> None:
    numbers = [estimate.value, estimate.low, estimate.high, estimate.n_eff]
    assert not any(number is not None and not math.isfinite(number) for number in numbers)
    assert (estimate.low is None) == (estimate.high is None)
    if estimate.low is None or estimate.value is None:
        assert estimate.reason
    else:
        assert estimate.reason is None
        assert estimate.high is not None
        assert estimate.low <= estimate.value + 1e-9
        assert estimate.value <= estimate.high + 1e-9


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 30)), max_size=150))
def test_rate_is_sound_or_says_why_not(rows: list[tuple[float, int]]) -> None:
    _is_sound(clustered_rate([value for value, _ in rows], [f"c{c}" for _, c in rows]))


def test_nothing_gives_no_value() -> None:
    found = clustered_rate([], [])
    assert (found.value, found.low, found.n, found.reason) == (None, None, 0, "nothing to count")


def test_few_clusters_give_a_value_and_no_interval() -> None:
    found = clustered_rate([1.0, 0.0] * 95, [f"c{i % 19}" for i in range(190)])
    assert (found.value, found.low) == (0.5, None)
    assert found.reason == "too few seeds (19, at least 20 are needed)"


def test_few_events_give_a_value_and_no_interval() -> None:
    found = clustered_rate([1.0] + [0.0] * 39, names(40))
    assert (found.value, found.low) == (1 / 40, None)
    assert found.reason == "too few events (under 4)"


@pytest.mark.parametrize(("outcome", "bound"), [(0.0, "at most 0.08"), (1.0, "at least 0.92")])
def test_what_never_happened_has_a_bound_and_no_interval(outcome: float, bound: str) -> None:
    """0 of 40: 1 - .05 ** (1 / 40) = .072, the exact one-sided bound, which .07 would fall short of."""
    found = clustered_rate([outcome] * 40, names(40))
    assert (found.value, found.low) == (outcome, None)
    assert bound in str(found.reason)


def test_interval_of_independent_answers_is_wilsons() -> None:
    found = clustered_rate([1.0] * 30 + [0.0] * 50, names(80))
    assert (found.low, found.high) == pytest.approx(wilson(30 / 80, 80), abs=1e-12)


def test_clustering_makes_the_interval_wider() -> None:
    outcomes = [float(i % 4 == 0) for i in range(40) for _ in range(5)]
    alone = clustered_rate(outcomes, names(200))
    together = clustered_rate(outcomes, [f"c{i // 5}" for i in range(200)])
    assert None not in (alone.low, together.low, alone.high, together.high)
    assert together.high - together.low > 1.8 * (alone.high - alone.low)  # type: ignore[operator]


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """Clusters of four that resemble each other; an interval that ignores them covers far less."""
    rng = np.random.default_rng(7)
    clusters = [f"c{i // 4}" for i in range(240)]
    covered = naive = 0
    for _ in range(400):
        chance = np.repeat(rng.beta(0.6, 1.4, size=60), 4)  # mean .3
        outcomes = (rng.random(240) < chance).astype(float).tolist()
        found = clustered_rate(outcomes, clusters)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.3 <= found.high
        low, high = wilson(float(np.mean(outcomes)), 240)
        naive += low <= 0.3 <= high
    assert covered / 400 > 0.92
    assert naive / 400 < 0.9


@pytest.mark.parametrize("size", [2, 12, 52])
def test_seeds_are_never_taken_to_be_unlike_themselves(size: int) -> None:
    """Answers that show no correlation at all still count as if two of a seed had one of .2: n / (1 + (m - 1) / 5)."""
    outcomes = [float(i % 5 == 0) for i in range(40 * size)]  # clusters are as alike as can be, not quite the same
    found = design(outcomes, [f"c{i // size}" for i in range(40 * size)])
    assert found.n_eff == pytest.approx(40 * size / (1 + (size - 1) * 0.2))


def test_rate_that_hides_a_rare_kind_of_seed_is_covered() -> None:
    """One seed in twelve triggers in 30 % of 52 languages, the rest in 2.7 %: 20 seeds often hold none of that kind."""
    rng = np.random.default_rng(12)
    clusters = [f"c{i // 52}" for i in range(20 * 52)]
    missed = 0
    for _ in range(200):
        own = np.where(rng.random(20) < 1 / 12, 0.3, 0.02727)
        found = clustered_rate((rng.random((20, 52)) < own[:, None]).astype(float).ravel().tolist(), clusters)
        missed += found.low is not None and found.high is not None and not found.low <= 0.05 <= found.high
    assert missed <= 14  # without the least correlation 38 of these trials miss
