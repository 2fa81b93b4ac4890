"""Numbers in sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusalatlas.wording import counted, p_number, p_words


@pytest.mark.parametrize(("number", "shown"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (4160, "4,160 runs")])
def test_one_is_no_plural(number: int, shown: str) -> None:
    assert counted(number, "run") == shown


def test_plural_without_s() -> None:
    assert counted(2, "reply", "replies") == "2 replies"


@pytest.mark.parametrize(
    ("p", "shown"),
    [(0.0, "< .001"), (0.0004, "< .001"), (0.001, ".001"), (0.0344, ".034"), (0.9996, "1"), (1.0, "1")],
)
def test_p_value_in_a_table(p: float, shown: str) -> None:
    assert p_number(p) == shown


def test_p_value_in_a_sentence() -> None:
    assert p_words(0.0001) == "p < .001"
    assert p_words(0.034) == "p = .034"


@given(st.floats(0, 1))
def test_p_value_is_never_nought(p: float) -> None:
    assert p_words(p) not in ("p = .000", "p = 0.000", "p = 0")
