from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusalatlas.judges.lexicon import Lexicon, compile_lexicon, lexicon, read_lexicon
from refusalatlas.judges.normalise import fold

from refusalatlas.errors import DataError
from refusalatlas.languages import load_languages


def found(book: Lexicon, text: str) -> list[str]:
    folded = fold(text)
    return [folded[hit.start : hit.end] for hit in book.find(folded)]


def spaced(*phrases: str) -> Lexicon:
    return compile_lexicon("en", {"refusal": phrases}, spaced=True)


def test_case_apostrophes_and_spacing_are_folded() -> None:
    assert found(spaced("I can't help"), "Sorry, I CAN’T  help.") == ["i can't help"]


def test_a_phrase_begins_where_a_word_begins() -> None:
    assert found(spaced("as an AI"), "He has an airline, was an AI") == []


def test_a_stem_may_go_on() -> None:
    assert found(spaced("discriminat"), "That is discriminatory.") == ["discriminat"]


def test_a_short_last_word_is_a_whole_word() -> None:
    assert found(spaced("but I can"), "but I can't, but I cannot, but I can") == ["but i can"]


@pytest.mark.parametrize("between", ["", "really ", "not, sadly, really "])
def test_a_gap_holds_a_few_words(between: str) -> None:
    assert len(found(spaced("I can't * help"), f"I can't {between}help you")) == 1


def test_a_gap_does_not_reach_into_the_next_sentence() -> None:
    assert found(spaced("I can't * help"), "I can't. You may help.") == []


def test_a_gap_does_not_reach_far() -> None:
    assert found(spaced("I can't * help"), "I can't see what any of this would ever help") == []


def test_in_an_unspaced_script_a_gap_is_letters_and_a_phrase_begins_anywhere() -> None:
    book = compile_lexicon("zh-Hans", {"refusal": ["超出了我*服务范围"]}, spaced=False)
    assert found(book, "抱歉，这超出了我目前的服务范围。") == ["超出了我目前的服务范围"]


def test_an_arabic_conjunction_may_stand_before_a_phrase() -> None:
    assert len(found(spaced("لا أستطيع"), "ولا أستطيع ذلك")) == 1


def test_a_text_made_to_backtrack_costs_little() -> None:
    book = spaced("I can't * help * you * now", "I can't * with * it")
    text = "I can't with help " * 20_000 + "I can't go with any of it"
    assert found(book, text)[-1] == "i can't go with any of it"


@pytest.mark.parametrize(
    "text", ["refusal: ['*']\n", "refusal: ['a * ']\n", "refusal: no\n", "- a\n", "refusal: ['']\n"]
)
def test_a_lexicon_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lexicon.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"lexicon\.yaml"):
        read_lexicon(path, "xx", spaced=True)


@pytest.mark.parametrize("code", sorted(c for c, language in load_languages().items() if language.lexicon.is_file()))
def test_the_lexicon_of_every_language_compiles_and_finds_its_own_phrases(code: str) -> None:
    book = lexicon(code)
    assert book is not None
    assert {"refusal", "apology", "capability", "clarification", "deflection"} <= book.groups
    assert book.find(fold(load_languages()[code].lexicon.read_text(encoding="utf-8")))


def test_a_language_that_is_not_registered_has_none() -> None:
    assert lexicon("tlh") is None


@given(st.text(max_size=200))
def test_hits_lie_within_the_text_and_in_order(text: str) -> None:
    book = lexicon("en")
    assert book is not None
    folded = fold(text)
    hits = book.find(folded)
    assert all(0 <= hit.start < hit.end <= len(folded) for hit in hits)
    assert hits == sorted(hits, key=lambda hit: hit.start)
