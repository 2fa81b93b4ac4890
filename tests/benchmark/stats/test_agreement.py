from __future__ import annotations

import numpy as np
import pytest

from refusalatlas.stats.agreement import agreement, cohen_kappa, positive_agreement

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", example C: nominal data, 4 observers, 12 units.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
KRIPPENDORFF = [list(unit) for unit in zip(*OBSERVERS, strict=True)]

# Fleiss (1971): 30 patients, 6 psychiatrists, five diagnoses; kappa .430.
FLEISS = [
    (0, 0, 0, 6, 0), (0, 3, 0, 0, 3), (0, 1, 4, 0, 1), (0, 0, 0, 0, 6), (0, 3, 0, 3, 0), (2, 0, 4, 0, 0),
    (0, 0, 4, 0, 2), (2, 0, 3, 1, 0), (2, 0, 0, 4, 0), (0, 0, 0, 0, 6), (1, 0, 0, 5, 0), (1, 1, 0, 4, 0),
    (0, 3, 3, 0, 0), (1, 0, 0, 5, 0), (0, 2, 0, 3, 1), (0, 0, 5, 0, 1), (3, 0, 0, 1, 2), (5, 1, 0, 0, 0),
    (0, 2, 0, 4, 0), (1, 0, 2, 0, 3), (0, 0, 0, 0, 6), (0, 1, 0, 5, 0), (0, 2, 0, 1, 3), (2, 0, 0, 4, 0),
    (1, 0, 0, 4, 1), (0, 5, 0, 1, 0), (4, 0, 0, 0, 2), (0, 2, 0, 4, 0), (1, 0, 5, 0, 0), (0, 0, 0, 0, 6),
]  # fmt: skip


def _rows(counts: list[tuple[int, ...]]) -> list[list[int]]:
    return [[category for category, n in enumerate(row) for _ in range(n)] for row in counts]


def test_krippendorffs_own_example() -> None:
    assert agreement(KRIPPENDORFF, "krippendorff_alpha").value == pytest.approx(0.743, abs=5e-4)


def test_fleiss_own_example() -> None:
    assert agreement(_rows(FLEISS), "fleiss_kappa").value == pytest.approx(0.430, abs=5e-4)


def test_fleiss_is_statsmodels() -> None:
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    expected = inter_rater.fleiss_kappa(np.array(FLEISS), method="fleiss")
    assert agreement(_rows(FLEISS), "fleiss_kappa").value == pytest.approx(expected)


def test_ac1_stays_where_kappa_collapses() -> None:
    """118 of 120 alike, the two others crossed (Gwet's paradox): AC1 by hand, kappa below zero."""
    ratings = [["no", "no"]] * 118 + [["yes", "no"], ["no", "yes"]]
    raw, share = 118 / 120, 2 / 240
    chance = 2 * share * (1 - share)
    assert agreement(ratings, "gwet_ac1").value == pytest.approx((raw - chance) / (1 - chance))
    assert (cohen_kappa(*zip(*ratings, strict=True)) or 0.0) < 0
    assert positive_agreement(*zip(*ratings, strict=True), "yes") == 0.0


def test_interval_holds_the_value_and_is_seeded() -> None:
    found = agreement(_rows(FLEISS), "raw_agreement")
    assert found.low is not None
    assert found.high is not None
    assert found.value is not None
    assert found.low < found.value < found.high
    assert found == agreement(_rows(FLEISS), "raw_agreement")


@pytest.mark.parametrize("statistic", ["krippendorff_alpha", "fleiss_kappa", "gwet_ac1"])
def test_raters_who_always_say_the_same_have_no_variation(statistic: str) -> None:
    found = agreement([["a", "a"]] * 30, statistic)
    assert (found.value, found.reason) == (None, "no variation")


def test_single_ratings_are_no_agreement() -> None:
    assert agreement([["a", None], ["b", None]], "raw_agreement").reason == "no item with two ratings"


def test_positive_agreement_leaves_out_what_was_not_rated() -> None:
    assert positive_agreement(["r", "r", None, "c"], ["r", "c", "r", "c"], "r") == pytest.approx(2 / 3)


def test_cohens_kappa_by_hand() -> None:
    """20 both yes, 5 and 10 apart, 15 both no: observed .7, chance .5, kappa .4."""
    first = ["y"] * 25 + ["n"] * 25
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)
