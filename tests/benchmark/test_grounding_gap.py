"""Refusal of a question less refusal of the same request for a place, seed by seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from refusalatlas.grounding_gap import GROUNDING_GAP, grounding_gap, question_of
from refusalatlas.records import Record
from refusalatlas.scoring import DIRECTION, Cell, score_records

Make = Callable[..., Record]


def cells(records: list[Record]) -> dict[tuple[str, str | None], Cell]:
    found = score_records(records, by_category=False)
    return {(cell.variant, cell.language): cell for cell in found if cell.metric == GROUNDING_GAP}


def asked(make: Make, variant: str, refused: Callable[[int], bool], n: int = 24, **fields: Any) -> list[Record]:
    labels = {True: "full_refusal", False: "compliant"}
    return [make(i, "refuse", labels[refused(i)], variant=variant, **fields) for i in range(n)]


def test_it_is_the_difference_with_its_interval(make_record: Make) -> None:
    records = asked(make_record, "base", lambda i: i < 18) + asked(make_record, "point", lambda i: i < 6)
    cell = cells(records)["point", "sw"]
    assert cell.value == pytest.approx(0.5)
    assert (cell.denominator, cell.n, cell.numerator) == (24, 24, None)
    assert cell.low is not None and cell.high is not None
    assert 0.2 < cell.low < 0.5 < cell.high < 0.75
    assert ("base", "sw") not in cells(records)


def test_it_is_below_zero_where_the_place_is_refused_more_often(make_record: Make) -> None:
    records = asked(make_record, "base", lambda i: False) + asked(make_record, "box", lambda i: i < 12)
    assert cells(records)["box", "sw"].value == pytest.approx(-0.5)


def test_only_seeds_that_have_both_count(make_record: Make) -> None:
    records = asked(make_record, "base", lambda i: True) + asked(make_record, "point", lambda i: False, n=20)
    records += [make_record(30, "refuse", "full_refusal", variant="point")]
    cell = cells(records)["point", "sw"]
    assert (cell.value, cell.denominator) == (1.0, 20)


def test_harmless_requests_do_not_count(make_record: Make) -> None:
    records = asked(make_record, "base", lambda i: True) + asked(make_record, "point", lambda i: True)
    records += [make_record(i, "comply", "full_refusal") for i in range(24)]
    records += [make_record(i, "comply", "compliant", variant="point") for i in range(24)]
    assert cells(records)["point", "sw"].value == 0.0


def test_pictures_are_set_against_pictures(make_record: Make) -> None:
    records = asked(make_record, "base", lambda i: False) + asked(make_record, "picture", lambda i: True)
    records += asked(make_record, "picture_point", lambda i: False)
    assert cells(records)["picture_point", "sw"].value == 1.0
    assert question_of("picture_box") == "picture" and question_of("box") == "base" and question_of("json") is None


def test_contested_answers_make_the_bounds(make_record: Make) -> None:
    records = asked(make_record, "base", lambda i: True, n=20) + asked(make_record, "point", lambda i: False, n=20)
    records += [make_record(20, "refuse", None), make_record(20, "refuse", "compliant", variant="point")]
    records += [make_record(21, "refuse", "full_refusal"), make_record(21, "refuse", None, variant="point")]
    cell = cells(records)["point", "sw"]
    assert (cell.value, cell.denominator) == (1.0, 20)
    assert cell.bound_low == pytest.approx((20 + 0 + 0) / 22)
    assert cell.bound_high == pytest.approx(1.0)


def test_few_seeds_have_no_interval(make_record: Make) -> None:
    records = asked(make_record, "base", lambda i: True, n=8) + asked(make_record, "point", lambda i: i < 2, n=8)
    cell = cells(records)["point", "sw"]
    assert (cell.value, cell.low, cell.high) == (0.75, None, None)
    assert cell.reason


def test_languages_are_pooled_by_seed(make_record: Make) -> None:
    records = [
        record
        for code in ("sw", "en", "ko")
        for record in (
            *asked(make_record, "base", lambda i: i % 2 == 0, language=code),
            *asked(make_record, "point", lambda i: i % 4 == 0, language=code),
        )
    ]
    pooled = cells(records)["point", None]
    assert (pooled.value, pooled.denominator) == (pytest.approx(0.25), 72)
    one = cells(records)["point", "sw"]
    assert None not in (pooled.low, pooled.high, one.low, one.high)
    assert pooled.high - pooled.low > 0.7 * (one.high - one.low)  # type: ignore[operator]


def test_without_the_question_there_is_no_gap(make_record: Make) -> None:
    assert cells(asked(make_record, "point", lambda i: True)) == {}
    assert cells(asked(make_record, "base", lambda i: True)) == {}
    assert grounding_gap([], []).bounds == (None, None)


def test_it_has_one_direction() -> None:
    assert DIRECTION[GROUNDING_GAP] == "lower is better"


def test_tables_show_it(make_record: Make, capsys: pytest.CaptureFixture[str]) -> None:
    from refusalatlas.cli.tables import print_table

    records = asked(make_record, "base", lambda i: True) + asked(make_record, "point", lambda i: False)
    print_table(score_records(records, by_category=False))
    assert "grounding gap" in capsys.readouterr().out
    print_table(score_records(asked(make_record, "base", lambda i: True), by_category=False))
    assert "grounding gap" not in capsys.readouterr().out
