from __future__ import annotations

import numpy as np
import pytest

from refusalatlas.stats.intervals import Estimate, clustered_rate
from refusalatlas.stats.judge_error import JudgeCounts, corrected_rate

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
