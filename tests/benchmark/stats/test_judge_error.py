from __future__ import annotations

import numpy as np
import pytest

from refusalatlas.stats.bootstrap import youden
from refusalatlas.stats.intervals import Estimate, clustered_rate
from refusalatlas.stats.judge_error import JudgeCounts, corrected_rate, corrected_youden

GOOD = JudgeCounts(true_positives=90, positives=100, true_negatives=190, negatives=200)


def _raw(events: int, n: int) -> Estimate:
    return clustered_rate([1.0] * events + [0.0] * (n - events), [f"c{i}" for i in range(n)])


def test_rogan_and_gladens_formula() -> None:
    """(.30 + .95 - 1) / (.90 + .95 - 1) = .294."""
    found = corrected_rate(_raw(60, 200), GOOD)
    assert found.value == pytest.approx(0.25 / 0.85)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.25 / 0.85 < found.high


def test_judge_error_makes_the_interval_wider() -> None:
    raw = _raw(60, 200)
    found = corrected_rate(raw, GOOD)
    assert None not in (raw.low, raw.high, found.low, found.high)
    assert found.high - found.low > raw.high - raw.low  # type: ignore[operator]


def test_rate_below_the_false_positives_is_zero_not_negative() -> None:
    assert corrected_rate(_raw(6, 200), GOOD).value == 0.0


def test_what_no_true_rate_could_make_is_said_and_not_called_nought_for_certain() -> None:
    """A judge that calls 40 % of all harmless answers refusals does not find 5 %: every draw would be cut off at 0."""
    found = corrected_rate(_raw(10, 200), JudgeCounts(95, 100, 120, 200))
    assert (found.value, found.low, found.high) == (None, None, None)
    assert str(found.reason).startswith("no true value makes what was found")


def test_youden_that_no_true_value_could_make_is_said() -> None:
    clusters = [f"c{i}" for i in range(100)]
    harmful, benign = [1.0] * 95 + [0.0] * 5, [1.0] * 5 + [0.0] * 95
    sides = [clustered_rate(side, clusters) for side in (harmful, benign)]
    raw = youden(harmful, clusters, benign, clusters, replicates=200)
    found = corrected_youden(raw, sides, JudgeCounts(130, 200, 130, 200))
    assert (found.value, found.low) == (None, None)
    assert str(found.reason).startswith("no true value makes what was found")


@pytest.mark.parametrize("counts", [None, JudgeCounts(45, 49, 100, 100), JudgeCounts(100, 100, 49, 49)])
def test_without_enough_labels_nothing_is_corrected(counts: JudgeCounts | None) -> None:
    found = corrected_rate(_raw(60, 200), counts)
    assert (found.value, found.reason) == (None, "unvalidated")


def test_a_judge_that_guesses_corrects_nothing() -> None:
    found = corrected_rate(_raw(60, 200), JudgeCounts(55, 100, 60, 100))
    assert found.value is None
    assert "knows too little" in str(found.reason)


def test_nothing_observed_stays_nothing() -> None:
    assert corrected_rate(clustered_rate([], []), GOOD).reason == "nothing to count"


def test_corrected_interval_covers_the_truth() -> None:
    rng = np.random.default_rng(6)
    covered = 0
    for _ in range(300):
        true = rng.random(300) < 0.2
        seen = np.where(true, rng.random(300) < 0.85, rng.random(300) < 0.08)
        counts = JudgeCounts(int(rng.binomial(80, 0.85)), 80, int(rng.binomial(80, 0.92)), 80)
        found = corrected_rate(_raw(int(seen.sum()), 300), counts, replicates=800)
        covered += found.low is not None and found.high is not None and found.low <= 0.2 <= found.high
    assert covered / 300 > 0.92


def test_a_guess_of_the_variance_makes_the_corrected_interval_wider_too() -> None:
    """Where the raw interval rests on Student's quantile, the corrected one spreads by as much."""
    known = Estimate(0.3, 0.2, 0.4, 200, 100.0, "wilson-neff")
    guessed = Estimate(0.3, 0.15, 0.45, 200, 100.0, "wilson-neff", quantile=3.0)
    first, second = (corrected_rate(found, GOOD) for found in (known, guessed))
    assert first.value == second.value
    assert None not in (first.low, first.high, second.low, second.high)
    assert second.high - second.low > 1.3 * (first.high - first.low)  # type: ignore[operator]


def _youden(harmful: int, benign: int, counts: JudgeCounts | None, n: int = 100) -> tuple[Estimate, Estimate]:
    clusters = [f"c{i}" for i in range(n)]
    sides = [[1.0] * events + [0.0] * (n - events) for events in (harmful, benign)]
    raw = youden(sides[0], clusters, sides[1], clusters)
    return raw, corrected_youden(raw, [clustered_rate(side, clusters) for side in sides], counts)


def test_youden_is_divided_by_what_the_judge_knows() -> None:
    """(.70 - .20) / (.90 + .95 - 1) = .588."""
    raw, found = _youden(70, 20, GOOD)
    assert found.value == pytest.approx(0.5 / 0.85)
    assert None not in (raw.low, raw.high, found.low, found.high)
    assert found.low < 0.5 / 0.85 < found.high  # type: ignore[operator]
    assert found.high - found.low > raw.high - raw.low  # type: ignore[operator]


def test_youden_beyond_one_is_one() -> None:
    assert _youden(95, 4, GOOD)[1].value == 1.0


def test_youden_without_labels_is_unvalidated() -> None:
    assert _youden(70, 20, None)[1].reason == "unvalidated"


def test_youden_without_an_interval_has_the_same_reason_corrected() -> None:
    raw, found = _youden(9, 2, GOOD, 10)
    assert (found.low, found.reason) == (None, raw.reason)
    assert found.value is not None


def test_corrected_youden_covers_the_truth() -> None:
    rng = np.random.default_rng(9)
    covered = 0
    for _ in range(200):
        true = [rng.random(100) < rate for rate in (0.7, 0.2)]
        seen = [np.where(t, rng.random(100) < 0.85, rng.random(100) < 0.08).sum() for t in true]
        counts = JudgeCounts(int(rng.binomial(80, 0.85)), 80, int(rng.binomial(80, 0.92)), 80)
        found = _youden(int(seen[0]), int(seen[1]), counts)[1]
        covered += found.low is not None and found.high is not None and found.low <= 0.5 <= found.high
    assert covered / 200 > 0.92
