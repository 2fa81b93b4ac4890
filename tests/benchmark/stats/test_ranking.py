from __future__ import annotations

import numpy as np

from refusalatlas.stats.ranking import rank_intervals, tie_groups


def test_models_that_no_test_tells_apart_share_a_group() -> None:
    p = {("a", "b"): 0.4, ("a", "c"): 0.001, ("a", "d"): 0.001, ("c", "d"): 0.9}
    assert tie_groups(["a", "b", "c", "d"], lambda x, y: p[x, y]) == [["a", "b"], ["c", "d"]]


def test_holm_guards_a_group_against_many_chances() -> None:
    """Twenty models at p = .04 each: any of them may be luck."""
    names = [f"m{i}" for i in range(21)]
    assert tie_groups(names, lambda _x, _y: 0.04) == [names]


def test_best_of_many_is_no_better_for_having_been_chosen() -> None:
    """p = .01 against the best of five: ten pairs might have come to be that, so it is no news."""
    assert tie_groups(list("abcde"), lambda _x, y: 0.01 if y == "e" else 0.5) == [list("abcde")]
    assert tie_groups(list("abcde"), lambda x, y: 0.004 if (x, y) == ("a", "e") else 0.5) == [list("abcd"), ["e"]]


def test_missing_tests_do_not_split() -> None:
    assert tie_groups(["a", "b"], lambda _x, _y: None) == [["a", "b"]]


def test_no_models_no_groups() -> None:
    assert tie_groups([], lambda _x, _y: 0.0) == []


def test_rank_intervals_overlap_where_models_do() -> None:
    rng = np.random.default_rng(1)
    draws = {"good": rng.normal(0.9, 0.01, 2000), "x": rng.normal(0.5, 0.05, 2000), "y": rng.normal(0.5, 0.05, 2000)}
    assert rank_intervals(draws, higher_is_better=True) == {"good": (1, 1), "x": (2, 3), "y": (2, 3)}
    assert rank_intervals(draws, higher_is_better=False)["good"] == (3, 3)


def test_missing_replicates_rank_last() -> None:
    draws = {"a": np.array([np.nan, np.nan]), "b": np.array([0.1, 0.2])}
    assert rank_intervals(draws, higher_is_better=True) == {"a": (2, 2), "b": (1, 1)}
