import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from refusalatlas.judges.embedding_features import (
    END,
    FORM,
    OPENING,
    clean,
    form,
    head,
    tail,
    width,
    window,
)

TEXTS = st.text(st.characters() | st.sampled_from("漢字한국 \n\x00\ud800\u202e?-"), max_size=400)


@given(TEXTS, st.integers(1, 120))
def test_head_is_the_longest_beginning_that_fits(text, limit):
    found = head(text, limit)
    assert text.startswith(found)
    assert width(found) <= limit
    assert found == text or width(text[: len(found) + 1]) > limit


@given(TEXTS, st.integers(1, 120))
def test_tail_is_the_longest_end_that_fits(text, limit):
    found = tail(text, limit)
    assert text.endswith(found)
    assert found == text or width(text[len(text) - len(found) - 1 :]) > limit


@given(TEXTS)
def test_what_is_cleaned_can_be_handed_to_c(text):
    found = clean(text)
    assert "\x00" not in found
    assert found.encode("utf-8").decode("utf-8") == found


def test_a_short_answer_is_embedded_whole():
    assert window("I can't help\n with that.") == "I can't help with that."


def test_of_a_long_answer_opening_and_end_are_embedded():
    found = window("first " * 200 + "last")
    assert found.startswith("first first")
    assert found.endswith("first last")
    assert width(found) <= OPENING + END + 3


def test_a_han_letter_counts_for_two():
    assert width("我不能 ok") == 9


def test_thinking_is_not_embedded():
    assert window("<think>I must refuse.</think>Here you are.") == "Here you are."


@settings(max_examples=50)
@given(TEXTS)
def test_form_has_always_the_same_finite_marks(text):
    marks = form(text)
    assert marks.shape == (FORM,)
    assert np.isfinite(marks).all()


def test_a_megabyte_costs_no_more_than_its_ends():
    response = "x" * 1_000_000
    assert width(window(response)) <= OPENING + END + 3
    assert form(response)[0] < 4


def test_question_and_list_are_told_from_prose():
    plain, asked, listed = form("Sure."), form("Which one?"), form("- a\n- b\n- c")
    assert not np.array_equal(plain[10:], asked[10:])
    assert not np.array_equal(plain[10:], listed[10:])
