from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refusalatlas.files import dumps
from refusalatlas.gaps import Gap, gaps
from refusalatlas.records import Record

NO, YES = "full_refusal", "compliant"


def benign(make: Any, refused: int, n: int = 40, **fields: Any) -> list[Record]:
    return [make(i, "comply", NO if i < refused else YES, **fields) for i in range(n)]


def row(found: Sequence[Gap], kind: str, **wanted: str) -> Gap:
    (one,) = [g for g in found if g.kind == kind and all(getattr(g, k) == v for k, v in wanted.items())]
    return one


def test_language_gap_is_against_english_by_seed(make_record: Any) -> None:
    found = row(gaps(benign(make_record, 4, language="en") + benign(make_record, 24)), "language")
    assert (found.place, found.against, found.pairs) == ("sw", "en", 40)
    assert found.found.value == pytest.approx(0.5)
    assert found.found.method == "newcombe-paired"
    assert found.p == pytest.approx(2 * 0.5**20)


def test_language_gap_leaves_out_seeds_that_english_lacks(make_record: Any) -> None:
    found = row(gaps(benign(make_record, 0, 25, language="en") + benign(make_record, 30)), "language")
    assert (found.found.value, found.pairs) == (1.0, 25)


def test_holm_is_over_the_languages_of_one_run(make_record: Any) -> None:
    rows = benign(make_record, 0, language="en") + benign(make_record, 10) + benign(make_record, 2, language="fr")
    found = gaps(rows)
    swahili, french = (row(found, "language", place=place) for place in ("sw", "fr"))
    assert swahili.p_holm == pytest.approx(2 * (swahili.p or 0))
    assert french.p_holm == french.p == 0.5


def test_pivot_can_be_another_language_and_have_locales(make_record: Any) -> None:
    rows = benign(make_record, 40, locale="sw-KE") + benign(make_record, 0, locale="sw-TZ")
    found = row(gaps(rows + benign(make_record, 0, language="en"), pivot="sw"), "language")
    assert (found.place, found.against, found.found.value) == ("en", "sw", -0.5)


def test_format_gap_is_against_base_in_the_same_language(make_record: Any) -> None:
    rows = benign(make_record, 30) + benign(make_record, 6, variant="json") + benign(make_record, 40, language="fr")
    found = row(gaps(rows), "format")
    assert (found.place, found.variant, found.against, found.pairs) == ("sw", "json", "base", 40)
    assert found.found.value == pytest.approx(-0.6)


def test_youden_has_gaps_too(make_record: Any) -> None:
    """In English it tells the two of a pair apart, in Swahili it refuses both."""
    rows = [make_record(i, "refuse", NO, language=code) for i in range(30) for code in ("en", "sw")]
    rows += benign(make_record, 0, 30, language="en") + benign(make_record, 30, 30)
    assert row(gaps(rows), "language", metric="youden_j").found.value == -1.0


def test_flips_over_repeats_are_pairs_of_answers_that_differ(make_record: Any) -> None:
    """One refusal in four answers: three of six pairs differ."""
    found = row(gaps([make_record(i, "comply", NO, YES, YES, YES) for i in range(30)]), "flip")
    assert (found.against, found.found.value, found.pairs) == ("repeat", 0.5, 30)


@pytest.mark.parametrize("answers", [2, 3, 8])
def test_flips_do_not_grow_with_the_number_of_answers(make_record: Any, answers: int) -> None:
    """Each answer is refused with probability .3: two of them differ with .42, however many there are."""
    import numpy as np

    rng = np.random.default_rng(answers)
    rows = [make_record(i, "comply", *(NO if x < 0.3 else YES for x in rng.random(answers))) for i in range(600)]
    found = row(gaps(rows), "flip").found
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.42 < found.high


def test_flips_over_a_variant_count_both_ways(make_record: Any) -> None:
    """Ten seeds flip to refused and ten from refused: no gap, and half of them flip."""
    base = benign(make_record, 20)
    framed = [make_record(i, "comply", NO if 10 <= i < 30 else YES, variant="frame") for i in range(40)]
    found = gaps(base + framed)
    assert row(found, "format", metric="over_refusal").found.value == 0.0
    assert row(found, "flip", against="base").found.value == 0.5


def test_contested_and_blocked_answers_do_not_flip(make_record: Any) -> None:
    assert gaps([make_record(i, "comply", NO, None, "blocked") for i in range(30)]) == []


def test_tracks_are_kept_apart(make_record: Any) -> None:
    rows = benign(make_record, 0, language="en") + benign(make_record, 9, track="tiers")
    assert gaps(rows) == []


def test_few_seeds_have_a_gap_and_a_reason(make_record: Any) -> None:
    found = row(gaps(benign(make_record, 0, 10, language="en") + benign(make_record, 5, 10)), "language")
    assert (found.found.value, found.found.low) == (0.5, None)
    assert found.reason == "too few seeds (10, at least 20 are needed)"


LABEL = st.sampled_from([NO, YES, "evasion", "capability_limitation", None, "empty"])
ANSWERS = st.lists(
    st.tuples(
        st.integers(0, 24), st.sampled_from(["refuse", "comply", "either"]), st.sampled_from(["sw", "en"]),
        st.sampled_from(["base", "json"]), st.lists(LABEL, min_size=1, max_size=3),
    ),
    max_size=80,
    unique_by=lambda row: row[:4],
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(ANSWERS)
def test_gaps_are_sound_whatever_was_answered(make_record: Any, answers: list[tuple[Any, ...]]) -> None:
    rows = [make_record(s, e, *labels, language=code, variant=form) for s, e, code, form, labels in answers]
    found = gaps(rows)
    assert found == gaps(rows[::-1])
    for gap in found:
        row = json.loads(dumps(gap.to_json()))
        assert all(math.isfinite(v) for v in row.values() if isinstance(v, float))
        assert row["value"] is not None
        assert row["low"] is not None or row["reason"]
        assert gap.pairs > 0
