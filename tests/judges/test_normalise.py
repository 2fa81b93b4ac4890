from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusalatlas.judges.normalise import HEAD, TAIL, fold, strip_thinking, view

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("<think>I could refuse.</think>\n\nHere you are.", "Here you are."),
        ("<thinking>\nHm.\n</thinking>Here you are.", "Here you are."),
        ("I should refuse.\n</think>\nHere you are.", "Here you are."),
        ("<think>a</think>Before<think>b</think>After", "After"),
        (
            "<|channel|>analysis<|message|>Refuse?<|end|><|start|>assistant<|channel|>final<|message|>Here.<|return|>",
            "Here.",
        ),
        ("analysisThe user wants bread.assistantfinalHere you are.", "Here you are."),
        ("Here you are.</s>", "Here you are."),
    ],
)
def test_thinking_is_taken_away(response: str, answer: str) -> None:
    assert strip_thinking(response).text == answer


@pytest.mark.parametrize(
    "response",
    ["<think>I cannot decide whether", "<|channel|>analysis<|message|>The user", "<THINK>\nstill at it"],
)
def test_thinking_without_an_end_leaves_nothing(response: str) -> None:
    found = strip_thinking(response)
    assert (found.text, found.unclosed) == ("", True)


def test_a_tag_that_an_answer_speaks_about_is_text() -> None:
    answer = "Models put their reasoning between `<think>` and `</think>`, and nobody reads it."
    assert strip_thinking(answer).text == answer


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("I’m **sorry**", "i'm sorry"),
        ("ｈｅｌｐ　me", "help me"),
        ("can\u200bnot", "cannot"),
        ("“no”", '"no"'),
        ("No puedo ayudarte, lo siénto", "no puedo ayudarte, lo siento"),
        ("ɗan\u00a0ƙasa", "dan kasa"),
        ("لا أَستطيعُ", "لا استطيع"),
        ("a \n\n\n b", "a\nb"),
        ("# Title\ntext", "title\ntext"),
        ("x\ud800y", "x\ufffdy"),
    ],
)
def test_folding_makes_spellings_alike(written: str, folded: str) -> None:
    assert fold(written) == folded


@given(ANY_TEXT)
def test_folding_twice_is_folding_once(text: str) -> None:
    once = fold(text)
    assert fold(once).split() == once.split() or "*" in once or "_" in once or "#" in once


@given(ANY_TEXT, st.integers(0, 300), st.integers(1, 80))
def test_evidence_is_always_a_piece_of_the_answer(text: str, start: int, length: int) -> None:
    seen = view(text)
    start = min(start, max(0, len(seen.text) - 1))
    end = min(start + length, len(seen.text))
    assert seen.verbatim(start, end) in text
    assert seen.sentence(start, end) in text


@pytest.mark.parametrize("phrase", ["i can't help", "that is final", "naive cafe"])
def test_evidence_is_the_piece_that_was_matched(phrase: str) -> None:
    answer = "Well — **I can’t  help**\u200b, and ｔｈａｔ is final. Naïve café!"
    seen = view(answer)
    start = seen.text.index(phrase)
    assert fold(seen.verbatim(start, start + len(phrase))) == phrase


def test_evidence_from_the_end_of_a_long_answer_is_found() -> None:
    answer = "word " * 3000 + "Still, I can’t help with that."
    seen = view(answer)
    start = seen.text.index("i can't help")
    assert start > seen.tail_start
    assert seen.verbatim(start, start + 12) == "I can’t help"


@pytest.mark.parametrize("piece", ["a", "\u202e\ud800\x00", "<think>", "</think>", "“", "```\n", "가", "e\u0301"])
def test_of_a_huge_answer_a_bounded_piece_is_read(piece: str) -> None:
    seen = view(strip_thinking(piece * (1_000_000 // len(piece))).text)
    assert len(seen.text) <= 2 * (HEAD + TAIL)


@given(ANY_TEXT)
def test_nothing_raises(text: str) -> None:
    found = strip_thinking(text)
    assert found.text in text
    assert view(found.text).length == len(found.text)
