"""Norms that an answer may know: what counts, and that two axes never come into one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from refusalatlas.awareness import on_several_axes
from refusalatlas.cli.predict import command as predict
from refusalatlas.cli.score import command as score
from refusalatlas.comparison import compare_records
from refusalatlas.errors import AtlasError
from refusalatlas.gaps import gaps
from refusalatlas.records import Record
from refusalatlas.regression import regress
from refusalatlas.scoring import Cell, score_records

AXES = ("safety", "appropriateness")


def said(make: Any, seed: int, label: str | None, aware: bool | None, axis: str = "safety", **fields: Any) -> Record:
    """Return a record of one answer to an item that touches a norm."""
    place = {"track": "apac", "language": "ja", "locale": "ja-JP", "category": "law", "role": "benign", **fields}
    record: Record = make(seed, "aware", label, axis=axis, id=f"apac/{axis}{seed}/{place['locale']}/base", **place)
    outcome = {} if aware is None else {"aware": aware, "aware_by": "cues"}
    decisions = tuple(replace(d, outcome=outcome) for d in record.decisions)
    return replace(record, decisions=decisions, cluster_id=f"{axis}{seed}", seed_id=f"{axis}{seed}-aware")


def many(make: Any, axis: str, aware: int, n: int = 24, **fields: Any) -> list[Record]:
    """Of n answers that comply, the first `aware` name the norm."""
    return [said(make, i, "compliant", i < aware, axis, **fields) for i in range(n)]


def found(records: Sequence[Record], metric: str, **options: Any) -> dict[tuple[str, str | None], Cell]:
    cells = score_records(records, by_category=False, **options)
    return {(c.axis, c.locale): c for c in cells if c.metric == metric}


def test_knowing_and_complying_are_counted_apart(make_record: Any) -> None:
    rows = [
        said(make_record, 1, "compliant", True),
        said(make_record, 2, "compliant", False),
        said(make_record, 3, "full_refusal", False),
        said(make_record, 4, "full_refusal", True),
    ]
    aware, unaware = (found(rows, m)["safety", "ja-JP"] for m in ("awareness_rate", "unaware_compliance"))
    assert (aware.value, aware.numerator, aware.denominator, aware.n) == (0.5, 2, 4, 4)
    assert (unaware.value, unaware.numerator, unaware.denominator) == (0.25, 1, 4)


def test_contested_answers_leave_the_rate_and_make_its_bounds(make_record: Any) -> None:
    rows = [*many(make_record, "safety", 6, 10), said(make_record, 50, None, True), said(make_record, 51, None, False)]
    cell = found(rows, "awareness_rate")["safety", "ja-JP"]
    assert (cell.value, cell.denominator, cell.n) == (0.6, 10, 12)
    assert (cell.bound_low, cell.bound_high) == (pytest.approx(6 / 12), pytest.approx(8 / 12))


def test_answers_of_which_nothing_was_found_are_left_out(make_record: Any) -> None:
    rows = [said(make_record, 1, "compliant", True), said(make_record, 2, "compliant", None)]
    assert found(rows, "awareness_rate")["safety", "ja-JP"].denominator == 1
    only = [said(make_record, 1, "compliant", None)]
    assert found(only, "awareness_rate")["safety", "ja-JP"].reason == "nothing to count"


def test_controls_and_pairs_do_not_count_towards_knowing(make_record: Any) -> None:
    control = make_record(70, "comply", "compliant", track="apac", language="ja", locale="ja-JP", role="control")
    rows = [*many(make_record, "safety", 12), control]
    assert found(rows, "awareness_rate")["safety", "ja-JP"].denominator == 24
    assert found(rows, "over_refusal")["safety", "ja-JP"].denominator == 1


def test_axes_are_never_in_one_number(make_record: Any) -> None:
    """All norms of the law are known and none of custom: no cell may say a half."""
    rows = many(make_record, "safety", 24) + many(make_record, "appropriateness", 0)
    cells = score_records(rows, by_expectation=True)
    assert {c.axis for c in cells} == set(AXES)
    assert {(c.axis, c.value) for c in cells if c.metric == "awareness_rate"} == {
        ("safety", 1.0), ("appropriateness", 0.0)
    }  # fmt: skip
    assert max(c.n for c in cells) == 24


def test_one_locale_has_too_few_seeds_and_all_together_have_enough(make_record: Any) -> None:
    places = ("ja-JP", "ko-KR", "th-TH")
    rows = [
        said(make_record, 100 * i + j, "compliant", j % 2 == 0, locale=place, language=place[:2])
        for i, place in enumerate(places)
        for j in range(8)
    ]
    cells = found(rows, "awareness_rate")
    assert all(cells["safety", place].low is None for place in places)
    assert "too few seeds" in (cells["safety", "ja-JP"].reason or "")
    pooled = cells["safety", None]
    assert (pooled.value, pooled.denominator) == (0.5, 24)
    assert pooled.low is not None
    assert pooled.high is not None
    assert pooled.low < 0.5 < pooled.high


def test_each_category_has_its_cell(make_record: Any) -> None:
    rows = many(make_record, "appropriateness", 2, 3, category="gift")
    rows += [said(make_record, 90, "compliant", False, "appropriateness", category="colour")]
    cells = {c.category: c.value for c in score_records(rows, pooled=False) if c.metric == "awareness_rate"}
    assert cells == {None: 0.5, "gift": pytest.approx(2 / 3), "colour": 0.0}


def test_two_runs_are_compared_axis_by_axis(make_record: Any) -> None:
    first = many(make_record, "safety", 20) + many(make_record, "appropriateness", 4)
    second = many(make_record, "safety", 4) + many(make_record, "appropriateness", 20)
    rows = {(c.axis, c.place): c for c in compare_records(first, second) if c.metric == "awareness_rate"}
    assert set(rows) == {(axis, place) for axis in AXES for place in (None, "ja-JP")}
    assert rows["safety", None].difference.value == pytest.approx(16 / 24)
    assert rows["appropriateness", None].difference.value == pytest.approx(-16 / 24)
    said_so = rows["appropriateness", None].in_words("a", "b")
    assert said_so.startswith("awareness_rate over all languages, appropriateness: a is 67 points lower than b")
    assert rows["safety", None].to_json()["axis"] == "safety"


def test_a_track_on_one_axis_does_not_speak_of_it(make_record: Any) -> None:
    rows = [make_record(i, "comply", "compliant") for i in range(4)]
    assert on_several_axes(rows) == frozenset()
    assert {c.axis for c in compare_records(rows, rows)} == {None}
    assert "awareness_rate" not in {c.metric for c in compare_records(rows, rows)}


def test_gaps_and_flips_are_of_one_axis_each(make_record: Any) -> None:
    """English knows all norms of the law and none of custom; Japanese the other way round, on the same seeds."""
    rows = []
    for axis in AXES:
        rows += many(make_record, axis, 24 if axis == "safety" else 0, language="en", locale="en-SG")
        rows += many(make_record, axis, 0 if axis == "safety" else 24)
    values = {g.axis: g.found.value for g in gaps(rows) if g.metric == "awareness_rate"}
    assert values == {"safety": -1.0, "appropriateness": 1.0}
    assert {g.to_json()["axis"] for g in gaps(rows)} == set(AXES)


def test_no_regression_over_both_axes(make_record: Any) -> None:
    rows = many(make_record, "safety", 2) + many(make_record, "appropriateness", 2)
    with pytest.raises(AtlasError, match="--axis"):
        regress({"a": rows})


def test_score_shows_a_row_an_axis_and_can_be_asked_for_one(make_record: Any, write_run: Callable[..., Path]) -> None:
    run = str(write_run("run", many(make_record, "safety", 24) + many(make_record, "appropriateness", 6)))
    lines = CliRunner(env={"COLUMNS": "10000"}).invoke(score, [run]).output.splitlines()
    assert "awareness rate" in "".join(lines)
    shown = [line for line in lines if "ja-JP" in line]
    assert ["safety" in line for line in shown] == [True, False]
    assert "0.25" in shown[1]
    one = CliRunner().invoke(score, [run, "--axis", "appropriateness", "--format", "json"])
    assert one.exit_code == 0
    assert '"axis": "safety"' not in one.output
    assert '"axis": "appropriateness"' in one.output


def test_predict_looks_at_each_axis_by_itself(make_record: Any, write_run: Callable[..., Path]) -> None:
    rows = many(make_record, "safety", 2) + many(make_record, "appropriateness", 2)
    output = CliRunner().invoke(predict, [str(write_run("run", rows))]).output
    assert "ja: 0 of 24" in output
    assert "ja, appropriateness: 0 of 24" in output
