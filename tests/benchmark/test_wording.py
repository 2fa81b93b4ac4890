"""Numbers in sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusalatlas.wording import at_least_points, counted, p_number, p_words, percent, points, signed_points


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


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.0, "0 points"), (0.003, "0.3 points"), (0.00004, "0.004 points"), (0.00999, "1 point"), (0.01, "1 point"),
     (0.224, "22 points"), (2.0, "200 points")],
)  # fmt: skip
def test_difference_in_points(share: float, shown: str) -> None:
    assert points(share) == shown


@pytest.mark.parametrize(
    ("difference", "shown"),
    [(0.0, "+0"), (-0.0, "+0"), (0.004, "+0.4"), (-0.0002, "-0.02"), (0.38, "+38"), (-1.0, "-100")],
)
def test_difference_with_its_sign(difference: float, shown: str) -> None:
    assert signed_points(difference) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.2421, "25 points"),
        (0.24, "24 points"),
        (0.00052, "0.06 points"),
        (0.0100001, "2 points"),
        (1.0, "100 points"),
    ],
)
def test_least_difference_is_rounded_up(share: float, shown: str) -> None:
    assert at_least_points(share) == shown


@pytest.mark.parametrize(("share", "shown"), [(0.3, "30%"), (0.015, "1.5%"), (0.999, "99.9%"), (1.0, "100%")])
def test_share_in_per_cent(share: float, shown: str) -> None:
    assert percent(share) == shown


@given(st.floats(1e-12, 1.0))
def test_what_is_there_is_never_nought(share: float) -> None:
    assert float(points(share).split()[0]) > 0
    assert float(signed_points(-share)) < 0
