from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusalatlas.errors import DataError
from refusalatlas.spreadsheets import harmless, plain, read_table

ROWS = [["key", "label", "note"], ["k1", "compliant", "a, b; c\td"], ["", "", ""], ["k2", "", 'says "no"']]


def saved(path: Path, delimiter: str, *, before: str = "", encoding: str = "utf-8") -> Path:
    """Save `ROWS` as a spreadsheet does, every cell in quotes."""
    lines = [delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in ROWS]
    path.write_text(before + "\r\n".join(lines) + "\r\n", encoding=encoding, newline="")
    return path


@pytest.mark.parametrize("text", ["=1+1", "+255 700", "-rm", "@SUM(A1)", "\tx", "\rx", "'quoted'", "'=1"])
def test_no_cell_is_computed(text: str) -> None:
    assert harmless(text) == "'" + text


@given(st.text())
def test_way_back_from_a_harmless_cell_is_exact(text: str) -> None:
    assert plain(harmless(text)) == text


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_any_separator_is_read(tmp_path: Path, delimiter: str, encoding: str) -> None:
    table = read_table(saved(tmp_path / "a.csv", delimiter, encoding=encoding))
    assert table.columns == ("key", "label", "note")
    assert table.rows == (
        (2, {"key": "k1", "label": "compliant", "note": "a, b; c\td"}),
        (4, {"key": "k2", "label": "", "note": 'says "no"'}),
    )


@pytest.mark.parametrize(
    ("before", "delimiter"), [("sep=;\r\n", ";"), ("SEP=,\n", ","), ('"sep=|"\r\n', "|"), ("sep=;;;\r\n", ";")]
)
def test_line_that_names_the_separator_is_none_of_the_rows(tmp_path: Path, before: str, delimiter: str) -> None:
    table = read_table(saved(tmp_path / "a.csv", delimiter, before=before, encoding="utf-8-sig"))
    assert table.columns == ("key", "label", "note")
    assert [number for number, _ in table.rows] == [3, 5]  # as the spreadsheet counts them


def test_row_that_is_cut_short_has_empty_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("key,label,note\nk1\nk2,compliant,x,y,z\n", encoding="utf-8")
    assert read_table(path).rows == (
        (2, {"key": "k1", "label": "", "note": ""}),
        (3, {"key": "k2", "label": "compliant", "note": "x"}),
    )


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "is empty; give the sheet that was filled in"),
        (b"\xef\xbb\xbf\r\n", "is empty"),
        (b"PK\x03\x04\x14\x00", r"is a workbook .* save it as CSV \(UTF-8\)"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "is a workbook"),
        (b"key,label\nk1,caf\xe9\n", "row 2 is not UTF-8; save it as CSV UTF-8"),
        (b"\xff\xfek", "not UTF-16"),
    ],
)
def test_file_that_is_no_csv_says_in_a_line_what_to_do(tmp_path: Path, content: bytes, named: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"a\.csv: .*{named}") as error:
        read_table(path)
    assert "\n" not in str(error.value)


def test_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.csv: no such file"):
        read_table(tmp_path / "gone.csv")
