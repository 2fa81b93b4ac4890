"""Tables of numbers on terminals of any width: whole, and no rate that looks more exact than it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from refusalatlas.cli import cli
from refusalatlas.cli.tables import print_blocks, print_rows, print_table, shown
from refusalatlas.guards.scoring import GuardCell
from refusalatlas.records import Record
from refusalatlas.scoring import Cell, score_records

NO, YES = "full_refusal", "compliant"
Make = Callable[..., Record]


def cell(make: Make, metric: str, refused: int, n: int) -> Cell:
    records = [make(i, "comply", NO if i < refused else YES) for i in range(n)]
    (found,) = [c for c in score_records(records, by_category=False, pooled=False) if c.metric == metric]
    return found


@pytest.mark.parametrize(
    ("refused", "n", "text"),
    [
        (0, 40, "0.00 (at most 0.08)"),
        (40, 40, "1.00 (at least 0.92)"),
        (0, 1, "0.00 (too few seeds)"),
        (19, 19, "1.00 (too few seeds)"),
        (9, 18, "0.50 (too few seeds)"),
        (3, 40, "0.07 (too few events)"),
        (20, 40, "0.50 [0.35, 0.65]"),
    ],
)
def test_rates_stand_with_interval_bound_or_reason(make_record: Make, refused: int, n: int, text: str) -> None:
    assert shown(cell(make_record, "over_refusal", refused, n)) == text


def test_interval_is_never_rounded_to_a_point() -> None:
    """Forty of 100,000 are no exact nought."""
    short = GuardCell("pairs", "sw", None, None, "recall", 0.0004, 0.00029, 0.00054, 100_000, "wilson-neff", None)
    assert shown(short) == "0.000 [0.000, 0.001]"


def test_nothing_to_count_is_a_dash(make_record: Make) -> None:
    assert shown(cell(make_record, "unsafe_compliance", 1, 30)) == "—"
    assert shown(cell(make_record, "youden_j", 1, 30)) == "—"


@pytest.fixture(scope="module")
def plain_and_split(make_record: Make) -> tuple[list[Cell], list[Cell]]:
    """All that a table can have: two axes and norms; then categories and expectations as well."""
    rows = [
        make_record(i, expected, NO if i % 3 else YES, language=code, axis=axis, category="harassment")
        for i in range(24) for expected in ("refuse", "comply", "aware") for code in ("en", "zh-Hans")
        for axis in ("safety", "appropriateness")
    ]  # fmt: skip
    return score_records(rows, by_category=False), score_records(rows, by_expectation=True)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("width", [60, 80, 120, 200, 400])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(
    plain_and_split: tuple[list[Cell], list[Cell]],
    width: int,
    split: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    print_table(plain_and_split[split], "run")
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= width
    assert "…" not in said
    if width >= (120 if split else 80):  # else texts are wrapped
        for heading in ("awareness rate", "unaware compliance", "over refusal", "youden j", "contested rate"):
            assert heading in said
        assert "0.00 (at most 0.12)" in said
        assert "—" in said


def test_in_a_pipe_a_slice_is_one_line(
    plain_and_split: tuple[list[Cell], list[Cell]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.__stdout__", None)  # no terminal
    print_table(plain_and_split[0])
    said = capsys.readouterr().out.splitlines()
    assert len([line for line in said if "zh-Hans" in line]) == 2  # an axis each
    assert max(map(len, said)) < 400


def test_score_prints_such_a_table(make_record: Make, write_run: Callable[..., Path]) -> None:
    folder = write_run("few", [make_record(i, "comply", NO) for i in range(24)])
    done = CliRunner().invoke(cli, ["score", str(folder)], env={"COLUMNS": "70"})
    assert "1.00 (at least 0.88)" in done.output
    assert max(map(len, done.output.splitlines()[:-1])) <= 70


def test_each_block_says_what_its_rows_are_about(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    numbers = ["0.25 [0.12, 0.40]", "0.50 [0.35, 0.65]", "1.00 (at least 0.92)"]
    print_blocks("Rates", ["track", "language"], ["one", "two", "three"], [["pairs", "sw", *numbers]])
    said = capsys.readouterr().out
    assert said.count("language") == said.count("pairs") == 3
    assert all(number in said for number in numbers)
    assert said.startswith("Rates")


def test_rows_that_are_too_wide_say_once_what_is_always_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    rows = [{"kind": "language", "metric": "over_refusal", "value": v, "p": 1e-300, "reason": None} for v in (0.1, 1.0)]
    monkeypatch.setenv("COLUMNS", "30")
    print_rows(rows, "text")
    narrow = capsys.readouterr().out
    assert "kind: language" in narrow.splitlines()
    assert "p: < .001" in narrow.splitlines()
    assert max(map(len, narrow.splitlines())) <= 30
    monkeypatch.setenv("COLUMNS", "120")
    print_rows(rows, "text")
    wide = capsys.readouterr().out
    assert "kind: language" not in wide
    assert "1e-300" not in wide
    assert wide.count("over_refusal") == 2


def test_numbers_of_rows_are_never_split(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    numbers = {"value": -0.0772, "low": -0.223, "high": 0.0123, "pairs": 1234, "reason": "too few seeds (7)"}
    rows = [{"metric": "over_refusal", "place": place, **numbers, "p": p} for place, p in (("sw", 0.5), ("en", 0.25))]
    rows += [{"metric": "youden_j", "place": "sw", **dict.fromkeys(numbers), "p": None}]
    monkeypatch.setenv("COLUMNS", "48")
    print_rows(rows, "text")
    said = capsys.readouterr().out
    for text in ("-0.0772", "-0.223", "0.0123", "1234", "too few seeds (7)"):
        assert said.count(text) == 2
    assert said.count("over_refusal") % 2 == 0
    assert said.count("over_refusal") > 2  # each block says what its rows are about
    assert max(map(len, said.splitlines())) <= 48


def test_long_words_are_wrapped_and_not_lost(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    print_rows([{"run": "a" * 40, "n": 1}, {"run": "b" * 40, "n": 2}], "text")
    said = capsys.readouterr().out
    assert (said.count("a"), said.count("b")) == (40, 40)


def test_names_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([{"run": "[red]mine[/red] :smile:"}], "text")
    assert "[red]mine[/red] :smile:" in capsys.readouterr().out


def test_no_rows_are_no_crash(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([], "text")
    assert capsys.readouterr().out == ""
