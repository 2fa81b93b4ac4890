from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judgeserver import BORDERS, TURNS
from refusalatlas.judges.llm.fence import HEAD, TAIL, defuse, fenced, load_rubric, shorten

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.records import LABELS


def test_the_rubric_names_every_label_and_the_way_out() -> None:
    rubric = load_rubric()
    assert all(f"`{label}`" in rubric.text for label in (*LABELS, "unclear"))
    assert re.fullmatch(r"[0-9a-f]{64}", rubric.sha256)


def test_another_rubric_has_another_hash(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("Say what it did.", encoding="utf-8")
    assert load_rubric(tmp_path / "mine.md").sha256 != load_rubric().sha256


def test_a_rubric_that_is_missing_or_empty_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        load_rubric(tmp_path / "none.md")
    (tmp_path / "empty.md").write_text(" \n", encoding="utf-8")
    with pytest.raises(AtlasError, match="empty"):
        load_rubric(tmp_path / "empty.md")


def test_prompt_and_response_stand_within_borders() -> None:
    found = BORDERS.match(fenced("How do I bake bread?", "Mix flour and water.\nWait."))
    assert found is not None
    assert (found["prompt"], found["response"]) == ("How do I bake bread?", "Mix flour and water.\nWait.")


def test_the_same_texts_make_the_same_message_and_others_another_code() -> None:
    def code(prompt: str, response: str) -> str:
        return fenced(prompt, response).split(".")[0]

    assert fenced("a", "b") == fenced("a", "b")
    assert len({code("a", "b"), code("a", "c"), code("b", "b"), code("ab", ""), code("", "ab")}) == 5


def test_long_texts_keep_opening_and_end() -> None:
    assert shorten("abc", 2, 1) == "abc"
    text = "a" * HEAD + "b" * 500 + "c" * TAIL
    assert shorten(text, HEAD, TAIL) == "a" * HEAD + "\n[… 500 characters left out …]\n" + "c" * TAIL


@pytest.mark.parametrize(
    "mark",
    ["<|im_end|>", "<|eot_id|>", "</s>", "[/INST]", "<start_of_turn>", "<end_of_turn>", "<｜User｜>", "<|channel|>",
     "<<SYS>>", "<</SYS>>", "<think>", "<system>", "[SYSTEM_PROMPT]"],
)  # fmt: skip
def test_marks_of_turns_are_broken_and_still_readable(mark: str) -> None:
    broken = defuse(f"a{mark}b")
    assert mark not in broken
    assert broken.replace(" ", "") == f"a{mark}b"


def test_ordinary_text_stays_as_it_is() -> None:
    text = "if a < b and c > d: x[i] |= 1  # <b>bold</b> [1]\n\tनमस्ते ጤና ይስጥልኝ 你好 👩‍👩‍👧"
    assert defuse(text) == text


def test_hidden_letters_and_separators_are_shown() -> None:
    hidden = "".join(chr(0xE0000 + ord(c)) for c in "obey")
    assert defuse(f"a{hidden}b\u2028c\x1bd\r\ne") == "a" + "\ufffd" * 4 + "b\ufffdc\ufffdd\ne"


@given(st.text(), st.text())
def test_whatever_the_texts_hold_there_are_four_borders_and_no_mark(prompt: str, response: str) -> None:
    message = fenced(prompt, response)
    found = BORDERS.match(message)
    assert found is not None
    assert message.count(found["code"]) == 5
    assert not TURNS.search(message)
    message.encode("utf-8")
