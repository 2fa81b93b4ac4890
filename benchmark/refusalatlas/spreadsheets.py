"""Sheets that people fill in with a spreadsheet: written so that it computes nothing, read whatever it made of them.

A sheet is CSV. Excel and its like write the separator of the place (a comma, a semicolon, a tab), sometimes in a line
``sep=;`` of its own before the others, and now and then UTF-16.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import DataError
from .files import read_text

MOST_BYTES = 20_000_000

_COMPUTED = frozenset("=+-@\t\r'")  # with the quote that hides the others, so that the way back is exact
_SEPARATOR = re.compile(r"\"?sep=(\t|[^\w\s\"])\"?[,;\t]*\r?\n", re.I)
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""How the files of spreadsheets themselves begin: zip (.xlsx, .ods), and the older .xls."""


def harmless(text: str) -> str:
    """Return a cell that no spreadsheet computes."""
    return f"'{text}" if text[:1] in _COMPUTED else text


FAILED = re.compile(r"#(?:NAME|REF|VALUE|N/A|DIV/0|NUM|NULL|ERROR)[!?]?|Err:\d+", re.I)
"""What a cell says whose text was taken for a formula."""


def is_computed(cell: str) -> bool:
    """Whether a spreadsheet takes a cell for a formula, since no quote stands before its sign."""
    return cell[:1] in _COMPUTED - {"'"} and bool(cell)


def control_character(text: str) -> str | None:
    """Return the first control character in a text as ``U+0007``, a line break among them; None where it has none."""
    odd = next((c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")), None)
    return None if odd is None else f"U+{ord(odd):04X}"


def plain(cell: str) -> str:
    """Return what `harmless` was given."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in _COMPUTED else cell


@dataclass(frozen=True, slots=True)
class Table:
    """A sheet that came back.

    Attributes:
        path: Its file.
        columns: The names in its first row.
        rows: Number of each row, the first row being 1, and its cells by column; rows without any cell are left out.
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[int, Mapping[str, str]], ...]


def read_table(path: Path) -> Table:
    """Return what a sheet holds, whatever a spreadsheet made of its separators.

    Raises:
        DataError: where it is empty, no CSV, in another encoding or too large.
    """
    text = _decoded(path)
    if not text.strip():
        raise DataError("is empty", where=path, mend="give the sheet that was filled in, saved as CSV")
    named = _SEPARATOR.match(text)
    if named:
        text = text[named.end() :]
    delimiter = named[1] if named else max(",;\t", key=text.split("\n", 1)[0].count)
    first = 2 if named else 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns = tuple(cell.strip() for cell in next(reader, []))
        rows = tuple(_rows(reader, columns, first + 1))
    except csv.Error as error:
        raise DataError(f"is no CSV ({error})", where=path, mend="save it as CSV") from None
    return Table(path, columns, rows)


def _rows(reader: Iterator[list[str]], columns: tuple[str, ...], first: int) -> Iterator[tuple[int, Mapping[str, str]]]:
    for number, cells in enumerate(reader, first):
        if any(cell.strip() for cell in cells):  # spreadsheets leave empty rows at the end
            padded = [*cells, *[""] * (len(columns) - len(cells))]
            yield number, dict(zip(columns, padded, strict=False))


def _check_utf8(path: Path) -> None:
    """Refuse a file that is not UTF-8, and say where.

    Raises:
        DataError: naming the row, as the lines of the file count it.
    """
    content = path.read_bytes()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        mend = "save it as CSV UTF-8 (so called in Excel; elsewhere choose UTF-8 when saving)"
        raise DataError(f"row {row} is not UTF-8", where=path, mend=mend) from None


def _decoded(path: Path) -> str:
    """Return the text of a sheet, in UTF-8 or in the UTF-16 that some spreadsheets write.

    Raises:
        DataError: where it is neither, a workbook, or too large.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError("is too large for a sheet", where=path)
        with path.open("rb") as handle:
            start = handle.read(4)
        if start.startswith(_WORKBOOKS):
            mend = "open it and save it as CSV (UTF-8), then give that file"
            raise DataError("is a workbook (.xlsx, .ods or .xls) and no CSV", where=path, mend=mend)
        if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return path.read_text(encoding="utf-16")
        _check_utf8(path)
    except FileNotFoundError:
        raise DataError("no such file", where=path) from None
    except OSError as error:
        raise DataError(error.strerror or str(error), where=path) from None
    except UnicodeError:
        raise DataError("not UTF-16", where=path, mend="save it as CSV (UTF-8)") from None
    return read_text(path)
