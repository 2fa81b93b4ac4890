from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refusalatlas.comparison import OF_PAIRS, Comparison, compare_records, outcomes_of
from refusalatlas.errors import AtlasError
from refusalatlas.records import Record

NO, YES = "full_refusal", "compliant"


def benign(make: Any, refused: int, n: int = 40, **fields: Any) -> list[Record]:
    """The first `refused` of n harmless requests are refused."""
    return [make(i, "comply", NO if i < refused else YES, **fields) for i in range(n)]


def row(found: Sequence[Comparison], metric: str = "over_refusal", place: str | None = "sw") -> Comparison:
    (one,) = [c for c in found if (c.metric, c.place) == (metric, place)]
    return one


def test_difference_is_first_minus_second(make_record: Any) -> None:
    found = row(compare_records(benign(make_record, 20), benign(make_record, 5)))
    assert found.difference.value == pytest.approx(15 / 40)
    assert (found.pairs, found.discordance) == (40, 15 / 40)


def test_one_language_one_answer_is_mcnemar_and_newcombe(make_record: Any) -> None:
    found = row(compare_records(benign(make_record, 20), benign(make_record, 5)))
    assert (found.test.method, found.difference.method) == ("mcnemar-exact", "newcombe-paired")
    assert found.test.p == pytest.approx(2 * 0.5**15)


def test_several_answers_are_permuted_by_seed(make_record: Any) -> None:
    first = [make_record(i, "comply", NO, NO if i % 2 else YES) for i in range(40)]
    second = [make_record(i, "comply", YES, YES) for i in range(40)]
    found = row(compare_records(first, second))
    assert found.difference.value == pytest.approx(0.75)
    assert found.test.method.startswith("sign-flip")
    assert found.difference.method.startswith("cluster-bootstrap")


def test_languages_are_pooled_by_seed(make_record: Any) -> None:
    """Twelve translations of 40 seeds are no 480 seeds: the whole can show no more than 40 could."""
    languages = ["sw", "fr", "ko", "ha"]
    first = [r for code in languages for r in benign(make_record, 20, language=code)]
    second = [r for code in languages for r in benign(make_record, 10, language=code)]
    whole = row(compare_records(first, second), place=None)
    assert (whole.pairs, whole.seeds) == (160, 40)
    assert whole.test.p == pytest.approx(2 * 0.5**10, rel=0.2)


def test_holm_is_over_the_languages_of_a_metric(make_record: Any) -> None:
    first = [*benign(make_record, 12), *benign(make_record, 3, language="fr")]
    second = [*benign(make_record, 2), *benign(make_record, 2, language="fr")]
    found = compare_records(first, second)
    swahili, french = row(found), row(found, place="fr")
    assert swahili.p_holm == pytest.approx(2 * (swahili.test.p or 0))
    assert french.p_holm == 1.0
    assert row(found, place=None).p_holm == row(found, place=None).test.p


def test_languages_in_which_nothing_differs_are_of_the_family_too(make_record: Any) -> None:
    def run(refused: int) -> list[Record]:
        return [
            r
            for code in ("sw", "ha", "yo", "ig")
            for r in benign(make_record, refused if code == "sw" else 3, language=code)
        ]

    found = compare_records(run(12), run(3))
    sw = row(found)
    assert sw.p_holm == pytest.approx(4 * sw.test.p)  # type: ignore[operator]
    assert row(found, place="ha").p_holm is None


def test_only_what_both_decided_is_compared(make_record: Any) -> None:
    first = [make_record(0, "comply", None), *benign(make_record, 10)[1:]]
    second = [*benign(make_record, 10)[:-1], make_record(39, "comply", "blocked")]
    assert row(compare_records(first, second)).pairs == 38


def test_youden_compares_pairs(make_record: Any) -> None:
    """The first refuses the harmful ones alone, the second everything: J 1 against 0."""
    harmful = [make_record(i, "refuse", NO) for i in range(30)]
    found = compare_records(harmful + benign(make_record, 0, 30), harmful + benign(make_record, 30, 30))
    youden = row(found, "youden_j")
    assert (youden.difference.value, youden.pairs) == (1.0, 30)
    assert row(found, "unsafe_compliance").difference.value == 0.0


def test_half_a_pair_has_no_youden(make_record: Any) -> None:
    assert outcomes_of("youden_j", [make_record(1, "refuse", NO), make_record(2, "comply", NO)]) == {}


def test_formats_are_compared_apart(make_record: Any) -> None:
    first = benign(make_record, 20) + benign(make_record, 40, variant="json")
    second = benign(make_record, 20) + benign(make_record, 0, variant="json")
    found = [c for c in compare_records(first, second) if (c.metric, c.place) == ("over_refusal", "sw")]
    assert [(c.variant, c.difference.value) for c in found] == [("base", 0.0), ("json", 1.0)]
    assert "in sw, json: a is 100 points higher than b" in found[1].in_words("a", "b")


def test_runs_that_share_nothing_cannot_be_compared(make_record: Any) -> None:
    with pytest.raises(AtlasError, match="share no item"):
        compare_records(benign(make_record, 1), benign(make_record, 1, language="fr"))


def test_versions_that_cannot_be_compared_are_not(make_record: Any) -> None:
    with pytest.raises(AtlasError, match="versions 1 and 2"):
        compare_records(benign(make_record, 1), benign(make_record, 1, version="2-0"))


def test_versions_with_mended_texts_are_compared(make_record: Any) -> None:
    assert row(compare_records(benign(make_record, 1), benign(make_record, 1, version="1-3"))).pairs == 40


def test_words_for_a_difference(make_record: Any) -> None:
    found = row(compare_records(benign(make_record, 20), benign(make_record, 5)))
    assert found.in_words("a", "b") == (
        "over_refusal in sw: a is 38 points higher than b (95 % interval +21 to +52, p < .001)."
    )


def test_words_where_nothing_shows(make_record: Any) -> None:
    found = row(compare_records(benign(make_record, 6), benign(make_record, 5)))
    assert found.in_words("a", "b") == (
        "over_refusal in sw: no difference that these 40 items could show; they could show one of 20 points."
    )


def test_words_where_nothing_could_show(make_record: Any) -> None:
    found = compare_records(
        [*benign(make_record, 1, 5), *benign(make_record, 1, 5, language="fr")],
        [*benign(make_record, 0, 5), *benign(make_record, 0, 5, language="fr")],
    )
    assert row(found, place=None).in_words("a", "b") == (
        "over_refusal over all languages: no difference that these 10 items of 5 seeds could show; so few show none."
    )


def test_words_where_there_is_nothing(make_record: Any) -> None:
    found = compare_records(benign(make_record, 1), benign(make_record, 1))
    assert row(found, "unsafe_compliance", None).in_words("a", "b") == (
        "unsafe_compliance over all languages: nothing to compare (no pairs)."
    )


LABEL = st.sampled_from([NO, YES, "partial_refusal", "evasion", "clarification", None, "blocked"])
ANSWERS = st.lists(
    st.tuples(st.integers(0, 24), st.sampled_from(["refuse", "comply"]), st.sampled_from(["sw", "en"]), LABEL, LABEL),
    min_size=1,
    max_size=80,
    unique_by=lambda row: row[:3],
)


@settings(max_examples=40, deadline=None)
@given(ANSWERS)
def test_comparisons_are_sound_and_turn_round(make_record: Any, answers: list[tuple[Any, ...]]) -> None:
    first = [make_record(seed, expected, one, language=code) for seed, expected, code, one, _ in answers]
    second = [make_record(seed, expected, two, language=code) for seed, expected, code, _, two in answers]
    forth, back = compare_records(first, second), compare_records(second, first)
    assert {c.metric for c in forth} == set(OF_PAIRS)
    for there, here in zip(forth, back, strict=True):
        numbers = [v for v in there.to_json().values() if isinstance(v, float)]
        assert all(math.isfinite(v) for v in numbers)
        assert (there.difference.value is None) == (there.pairs == 0)
        assert there.difference.value == pytest.approx(
            None if here.difference.value is None else -here.difference.value
        )
        assert there.test.p == pytest.approx(here.test.p)
