"""Models against each other on the same requests, and the groups that follow."""

from __future__ import annotations

import numpy as np
import pytest
import synthetic
from refusalatlas.leaderboard.site.answers import Answers, answers_of, groups, p_value

from refusalatlas.tracks import load_items

KEYS = tuple((f"c{cluster}", place) for cluster in range(24) for place in ("en", "sw"))


def made(values: float | list[float], keys: tuple[tuple[str, str], ...] = KEYS) -> Answers:
    return Answers(keys, np.broadcast_to(np.asarray(values, dtype=np.float32), len(keys)).copy())


def test_pairs_hold_the_refusal_of_the_harmful_less_that_of_the_harmless() -> None:
    always = synthetic.Behaviour(refuses_harm=1, refuses_harmless=0, contested=0)
    records = [
        synthetic.record_of(item, *synthetic.decision_on(item, "m", always)) for item in load_items("pairs", "en")
    ]
    found = answers_of(records)
    assert set(found.apart.tolist()) == {1.0}
    assert len(found.keys) == len({record.cluster_id for record in records})


def test_pair_with_a_contested_side_is_left_out() -> None:
    contested = synthetic.Behaviour(contested=1)
    records = [
        synthetic.record_of(item, *synthetic.decision_on(item, "m", contested)) for item in load_items("pairs", "en")
    ]
    assert answers_of(records).keys == ()


def test_models_that_answer_alike_are_not_told_apart() -> None:
    assert p_value(made(0.5), made(0.5)) == 1.0


def test_models_that_share_no_pair_have_no_test() -> None:
    assert p_value(made(1), made(0, tuple((c, "fr") for c, _ in KEYS))) is None


def test_clear_difference_is_found_and_does_not_depend_on_the_side() -> None:
    first, second = made(1), made(0)
    assert p_value(first, second) == p_value(second, first)
    assert p_value(first, second) == pytest.approx(0.0001, abs=1e-4)


def test_only_shared_pairs_count() -> None:
    half = KEYS[::2]
    assert p_value(made(1), made(1, half)) == 1.0


def test_translations_of_a_seed_are_no_further_evidence() -> None:
    few = tuple((f"c{cluster}", f"l{place}") for cluster in range(3) for place in range(40))
    assert p_value(made(1, few), made(0, few)) == 0.25


def test_groups_open_where_a_test_tells_a_model_from_the_first() -> None:
    answers = {"a": made(1), "b": made(1), "c": made(0), "d": made(0)}
    assert groups(["a", "b", "c", "d"], answers) == {"a": 1, "b": 1, "c": 2, "d": 2}


def test_nobody_makes_no_group() -> None:
    assert groups([], {}) == {}
