from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refusalatlas.stats.paired import (
    clustered_difference,
    detectable_difference,
    mcnemar,
    mcnemar_power,
    paired_rate_difference,
    pairs_needed,
    seed_means,
    seeds_for_width,
    sign_flip,
)


@pytest.mark.parametrize(("b", "c"), [(1, 8), (0, 6), (10, 10), (3, 17), (25, 4)])
def test_mcnemar_is_statsmodels(b: int, c: int) -> None:
    statsmodels = pytest.importorskip("statsmodels.stats.contingency_tables")
    expected = statsmodels.mcnemar([[30, b], [c, 12]], exact=True).pvalue
    assert mcnemar(b, c).p == pytest.approx(expected)


def test_mcnemar_without_discordant_pairs_tests_nothing() -> None:
    assert mcnemar(0, 0).p is None


def test_newcombes_interval_by_hand() -> None:
    """50 of 50 against 36 of 50: Wilson .9287 to 1 and .5833 to .8253, phi 0.

    .28 - sqrt(.0713**2 + .1053**2) = .1528 and .28 + (.72 - .5833) = .4167.
    """
    found = paired_rate_difference([1.0] * 50, [1.0] * 36 + [0.0] * 14)
    assert found.value == pytest.approx(0.28)
    assert (found.low, found.high) == pytest.approx((0.1528, 0.4167), abs=2e-4)


def test_pairs_that_go_together_narrow_the_interval() -> None:
    first = [1.0] * 20 + [0.0] * 20
    together = paired_rate_difference(first, [1.0] * 18 + [0.0] * 22)
    apart = paired_rate_difference(first, [0.0] * 22 + [1.0] * 18)
    assert together.value == apart.value
    assert None not in (together.low, together.high, apart.low, apart.high)
    assert together.high - together.low < apart.high - apart.low  # type: ignore[operator]


def test_few_pairs_have_no_interval() -> None:
    found = paired_rate_difference([1.0] * 19, [0.0] * 19)
    assert (found.value, found.low) == (1.0, None)


def test_paired_interval_covers_the_truth() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(500):
        common = rng.normal(size=40)
        first = (0.7 * common + rng.normal(size=40) * 0.714 > 0.0).astype(float)
        second = (0.7 * common + rng.normal(size=40) * 0.714 > 0.6).astype(float)
        found = paired_rate_difference(first.tolist(), second.tolist())
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.5 - 0.27425 <= found.high  # P(Z > .6) = .27425
    assert covered / 500 > 0.93


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), max_size=9))
def test_sign_flip_counts_all_patterns(differences: list[float]) -> None:
    found = sign_flip(differences)
    moved = [d for d in differences if d]
    if not moved:
        assert found.p is None
        return
    observed = abs(sum(moved)) - 1e-12
    signs = itertools.product((1, -1), repeat=len(moved))
    patterns = [abs(sum(s * d for s, d in zip(pattern, moved, strict=True))) for pattern in signs]
    assert found.p == pytest.approx(sum(p >= observed for p in patterns) / len(patterns))


def test_sampled_sign_flip_is_scipys() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(5)
    differences = rng.normal(0.3, 1.0, size=40)
    expected = scipy_stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(1)
    ).pvalue
    found = sign_flip(differences.tolist())
    assert found.p == pytest.approx(expected, abs=0.01)
    assert found == sign_flip(differences.tolist())  # the draw is seeded


def test_sign_flip_rejects_rarely_under_the_null() -> None:
    rng = np.random.default_rng(8)
    rejected = sum((sign_flip(rng.normal(size=14).tolist()).p or 1.0) < 0.05 for _ in range(400))
    assert rejected / 400 < 0.085  # 99.9 % bound of 5 % in 400 trials


def test_sign_flip_of_what_no_sample_reaches_is_bounded() -> None:
    """Forty differences of one sign: p is 2 x .5**40, and the bound 2 exp(-20) is above it and below 1 / 10,000."""
    found = sign_flip([0.5] * 40)
    assert found.method == "sign-flip-hoeffding"
    assert found.p is not None
    assert 2 * 0.5**40 < found.p == pytest.approx(2 * np.exp(-20), rel=1e-6)


@given(st.lists(st.floats(-1, 1).filter(lambda d: d == 0 or abs(d) > 0.01), min_size=1, max_size=12))
def test_hoeffdings_bound_is_never_below_the_exact_p(differences: list[float]) -> None:
    found = sign_flip(differences)
    moved = np.array([d for d in differences if d])
    if found.p is not None:
        assert found.p <= 2 * np.exp(-(moved.sum() ** 2) / (2 * moved @ moved)) + 1e-9


def test_seed_means_average_within_a_seed() -> None:
    assert seed_means([1.0, 0.0, 1.0], ["b", "b", "a"]) == {"a": 1.0, "b": 0.5}


def test_shared_seeds_cancel_out_of_a_difference() -> None:
    """Both models find the same seeds hard; the paired interval knows, two separate ones would not."""
    rng = np.random.default_rng(2)
    seeds = [f"s{i // 5}" for i in range(300)]
    hard = np.repeat(rng.random(60) < 0.5, 5)
    first = (hard & (rng.random(300) < 0.9)).astype(float).tolist()
    second = (hard & (rng.random(300) < 0.8)).astype(float).tolist()
    paired = clustered_difference(first, seeds, second, seeds)
    unpaired = clustered_difference(first, seeds, second, [f"t{s}" for s in seeds])
    assert None not in (paired.low, paired.high, unpaired.low, unpaired.high)
    assert paired.high - paired.low < 0.6 * (unpaired.high - unpaired.low)  # type: ignore[operator]


@pytest.mark.parametrize(("moved", "reason"), [(0, "no variation"), (3, "too few seeds differ (under 4)"), (4, None)])
def test_difference_that_few_seeds_make_has_no_interval(moved: int, reason: str | None) -> None:
    seeds = [f"s{i // 3}" for i in range(120)]
    first = [float(i % 3 == 0) for i in range(120)]
    second = [0.0 if i < 3 * moved else value for i, value in enumerate(first)]
    found = clustered_difference(first, seeds, second, seeds)
    assert found.value == pytest.approx(moved / 120)
    assert found.reason == reason
    assert (found.low is None) == (reason is not None)


def test_pairs_needed_are_those_of_the_exact_test_and_far_out_connors() -> None:
    """Connor (1987): (1.96 sqrt(.3) + .8416 sqrt(.3 - .04))^2 / .04 = 56.5 pairs; the exact test wants a few more."""
    assert pairs_needed(0.2, 0.3) == 61
    assert mcnemar_power(61, 0.2, 0.3) >= 0.8 > mcnemar_power(57, 0.2, 0.3)
    assert pairs_needed(0.02, 0.3) == 5885


@pytest.mark.parametrize(("pairs", "power"), [(4, 0.0), (5, 0.0), (6, 1.0)])
def test_so_few_pairs_show_nothing_even_where_all_differ(pairs: int, power: float) -> None:
    """The smallest p-value of n pairs is 2 / 2 ** n: .0625 of five, .03125 of six."""
    assert mcnemar_power(pairs, 1.0, 1.0) == pytest.approx(power)
    assert (detectable_difference(pairs, 1.0) is None) == (power == 0.0)


@settings(deadline=None)
@given(st.integers(1, 25), st.floats(0.05, 1.0), st.floats(0.0, 1.0), st.sampled_from([0.05, 0.01, 0.001]))
def test_power_is_the_sum_over_all_tables(pairs: int, discordance: float, share: float, alpha: float) -> None:
    """By brute force: every way in which the pairs may fall, and whether the test rejects there."""
    difference = share * discordance
    up, down = (discordance + difference) / 2, (discordance - difference) / 2
    total = 0.0
    for only_first in range(pairs + 1):
        for only_second in range(pairs + 1 - only_first):
            p = mcnemar(only_first, only_second).p
            if p is not None and p <= alpha:
                rest = pairs - only_first - only_second
                ways = math.comb(pairs, only_first) * math.comb(pairs - only_first, only_second)
                total += ways * up**only_first * max(down, 0.0) ** only_second * max(1 - discordance, 0.0) ** rest
    assert mcnemar_power(pairs, difference, discordance, alpha) == pytest.approx(total, abs=1e-9)


@given(st.integers(5, 300), st.floats(0.05, 1.0))
@settings(max_examples=30, deadline=None)
def test_detectable_difference_is_just_found(pairs: int, discordance: float) -> None:
    found = detectable_difference(pairs, discordance)
    if found is None:
        assert mcnemar_power(pairs, discordance, discordance) < 0.8
    else:
        assert mcnemar_power(pairs, found, discordance) >= 0.8
        assert found < 1e-5 or mcnemar_power(pairs, found - 1e-5, discordance) < 0.8


@pytest.mark.parametrize("pairs", [20, 40, 200, 400])
def test_power_is_what_it_says(pairs: int) -> None:
    """Simulated McNemar tests at the detectable difference reject 80 %."""
    difference = detectable_difference(pairs, 0.5)
    assert difference is not None
    up = (0.5 + difference) / 2
    rng = np.random.default_rng(4)
    draws = rng.multinomial(pairs, [up, 0.5 - up, 0.5], size=2000)
    rejected = np.mean([(mcnemar(int(b), int(c)).p or 1.0) <= 0.05 for b, c, _ in draws])
    assert rejected == pytest.approx(0.8, abs=0.03)


def test_where_a_fifth_that_differ_show_nothing_more_may_differ() -> None:
    assert detectable_difference(20, 0.2) is None
    found = detectable_difference(20, 0.2, more=True)
    assert found is not None
    assert 0.2 < found < 0.6
    assert mcnemar_power(20, found, found) == pytest.approx(0.8, abs=0.01)
    assert detectable_difference(5, 0.2, more=True) is None


def test_difference_of_two_js_may_be_as_large_as_two() -> None:
    """Values of Youden's J run from -1 to 1; an interval cut off at 1 lay below the difference itself."""
    seeds = [f"s{i}" for i in range(40)]
    first, second = [1.0] * 36 + [0.0] * 4, [-1.0] * 30 + [0.0] * 10
    found = clustered_difference(first, seeds, second, seeds, reach=2.0)
    assert found.value == pytest.approx(1.65)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1.65 < found.high <= 2.0


def test_ties_of_fractional_outcomes_are_not_lost_to_rounding() -> None:
    """Thirds in any order and precision: 2 of the 8 patterns of three equal differences reach the observed sum."""
    assert sign_flip([1 / 3, 1 - 2 / 3, 0.1 + 0.2 + 1 / 30]).p == 0.25


def test_seeds_for_a_width_are_the_fewest() -> None:
    assert seeds_for_width(0.1) == 381
