"""`refusalatlas review`: a sheet of texts for a speaker to mark, and what comes back of it.

The sheet is CSV that a spreadsheet opens: UTF-8 with a byte order mark, and no cell that it would compute. What comes
back is checked as a whole before anything is written; a sheet whose texts have changed since is refused.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import AtlasError, DataError
from .files import dumps, read_text, write_atomic
from .languages import Language, load_languages
from .linting.sheets import Line, Sheet, read_lines, sources
from .packs import builtin_root
from .spreadsheets import FAILED, control_character, harmless, is_computed, plain, read_table

COLUMNS = ("file", "seed_id", "part", "English", "text", "verdict", "better wording", "note")
VERDICTS = ("right", "wrong", "better")


def sheets(language: Language) -> list[Sheet]:
    """Return a language's files of texts.

    Raises:
        DataError: where one of their lines cannot be read.
    """
    found = []
    for track, source in sources(language.folder.parents[1], builtin_root()).items():
        path = language.folder / f"{track}.jsonl"
        if not path.is_file():
            continue
        lines, bad = read_lines(path)
        if bad:
            raise DataError(bad[0].what, where=f"{path}:{bad[0].line or 1}", mend=bad[0].mend)
        found.append(Sheet(language, source, path, lines))
    return found


def _parts(sheet: Sheet, line: Line) -> list[str]:
    return ["text"] + (["response"] if "response" in line.row or sheet.english(line, "response") else [])


def _seed(line: Line) -> str:
    """Return the seed's id, with the locale where the text is of one."""
    locale = line.row.get("locale")
    return f"{line.row.get('seed_id')}@{locale}" if locale else str(line.row.get("seed_id"))


def export(language: Language) -> str:
    """Return the sheet of a language, texts that are still to be written among them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for sheet in sheets(language):
        for line in sheet.lines:
            for part in _parts(sheet, line):
                cells = (sheet.path.name, _seed(line), part, sheet.english(line, part), line.text(part), "", "", "")
                writer.writerow([harmless(cell) for cell in cells])
    return "\ufeff" + out.getvalue()


@dataclass(frozen=True, slots=True)
class Row:
    """One row that came back."""

    number: int
    key: tuple[str, str, str]
    english: str
    text: str
    verdict: str
    better: str
    note: str


def read_sheet(path: Path) -> list[Row]:
    """Return the rows of a sheet.

    Raises:
        DataError: where it is no such sheet, a verdict is none, or a better wording is missing or stands alone.
    """
    table = read_table(path)
    lacking = [name for name in COLUMNS if name not in table.columns]
    if lacking:
        raise DataError(f"lacks the columns {', '.join(lacking)}", where=path, mend="export it again and fill that in")
    rows, wrong = [], []
    for number, cells in table.rows:
        texts = {name: plain(cells[name].strip()) for name in COLUMNS}
        if not any(texts.values()):
            continue
        row = _row(number, texts)
        problems = [*_problems(row), *_problems_of_wording(row, cells["better wording"].strip())]
        wrong += [f"row {number}: {problem}" for problem in problems]
        rows.append(row)
    doubled = [key for key, count in Counter(row.key for row in rows).items() if count > 1]
    wrong += [f"{' '.join(key)} stands there twice" for key in doubled]
    _refuse(wrong, path, "mend these rows; nothing was changed")
    return rows


def _row(number: int, cells: Mapping[str, str]) -> Row:
    key = (cells["file"], cells["seed_id"], cells["part"])
    verdict, better = cells["verdict"].casefold(), cells["better wording"]
    return Row(number, key, cells["English"], cells["text"], verdict, better, cells["note"])


def _problems(row: Row) -> list[str]:
    if row.verdict and row.verdict not in VERDICTS:
        return [f"verdict {row.verdict!r} is none of {', '.join(VERDICTS)}"]
    if row.verdict == "better" and not row.better:
        return ["better, but no better wording"]
    if row.better and row.verdict != "better":
        return [f"a better wording, but the verdict is {row.verdict or 'blank'}"]
    if row.verdict == "right" and not row.text:
        return ["right, but the text is not written yet"]
    return []


def _problems_of_wording(row: Row, cell: str) -> Iterator[str]:
    """Yield what is wrong with a better wording; `cell` is what stood in the sheet, with the quote before a sign."""
    if not row.better:
        return
    odd = control_character(row.better.replace("\n", " "))
    if row.better == row.text:
        yield "the better wording is the text as it stands"
    elif row.text and row.better == row.english:
        yield "the better wording is the English text"
    elif odd:
        yield f"the better wording has the control character {odd}"
    elif is_computed(cell):
        yield f"the better wording begins with {cell[0]!r}, which a spreadsheet computes; write another sign before it"
    elif FAILED.fullmatch(row.better):
        yield f"{row.better} is what a spreadsheet says when it cannot compute; write the wording anew"


def _refuse(wrong: Sequence[str], path: Path, mend: str) -> None:
    if wrong:
        more = f"; and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        raise DataError(f"{'; '.join(wrong[:5])}{more}", where=path, mend=mend)


@dataclass(frozen=True, slots=True)
class Taken:
    """What taking a sheet back changes.

    Attributes:
        files: New content of each file that changes.
        counts: Rows by verdict; blank ones count as ``unread``.
        wrong: The rows marked wrong, as ``file seed part: note``, for whoever mends them.
        reviewed: How many texts now have the reader's name.
    """

    files: Mapping[Path, str]
    counts: Mapping[str, int]
    wrong: tuple[str, ...] = field(default=())
    reviewed: int = 0


def take_back(language: Language, path: Path, *, reviewer: str | None = None, writer: str | None = None) -> Taken:
    """Return what a sheet that came back changes; `save` writes it.

    A reader's name goes to the texts that they marked right or better, never to others, and to a conversation only
    where both of its parts were marked so. A writer's better wordings become theirs: author, ``translated``, no reader
    yet.

    Args:
        language: The language.
        path: The sheet.
        reviewer: The person who has read the texts.
        writer: The person who has written them; either this or `reviewer`.

    Raises:
        AtlasError: where a name is no name, or the reader would review their own text.
        DataError: where the sheet is wrong, or does not fit the texts of now.
    """
    from .linting.provenance import is_machine, is_name

    name = reviewer or writer or ""
    if bool(reviewer) == bool(writer):
        raise AtlasError("is it read or written?", mend="give either --reviewer or --writer")
    if not is_name(name):
        raise AtlasError(f"{name!r} is nobody's name", mend="give the name of the person")
    odd = control_character(name)
    if odd:
        raise AtlasError(f"the name has the control character {odd} in it", mend="give the name in one line")
    if len(name) > MOST_OF_A_NAME:
        raise AtlasError(f"is no name: {len(name)} characters long", mend=f"give it in at most {MOST_OF_A_NAME}")
    if is_machine(name):
        raise AtlasError(f"{name!r} is a machine", mend="texts are read, and taken back as translated, by people alone")
    rows = {row.key: row for row in read_sheet(path)}
    _refuse_other_language(language, rows.values(), path)
    wrong: list[str] = []
    files: dict[Path, str] = {}
    known: set[tuple[str, str, str]] = set()
    reviewed = 0
    for sheet in sheets(language):
        changed: dict[int, dict[str, Any]] = {}
        for line in sheet.lines:
            found = {part: rows.get((sheet.path.name, _seed(line), part)) for part in _parts(sheet, line)}
            known |= {(sheet.path.name, _seed(line), part) for part in found}
            given = {part: row for part, row in found.items() if row is not None}
            wrong += _conflicts(line, given, reviewer)
            new = _applied(line, given, complete=len(given) == len(found), reviewer=reviewer, writer=writer)
            if new != line.row:
                changed[line.number] = new
                reviewed += reviewer is not None and new["reviewer"] == reviewer != line.row.get("reviewer")
        if changed:
            files[sheet.path] = _with_lines(sheet.path, changed)
    wrong += [f"row {row.number}: there is no {' '.join(key)}" for key, row in rows.items() if key not in known]
    _refuse(wrong, path, f"export it again with `refusalatlas review {language.code}`; nothing was changed")
    counts = Counter(row.verdict or "unread" for row in rows.values())
    marked = tuple(f"{' '.join(row.key)}: {row.note or 'no note'}" for row in rows.values() if row.verdict == "wrong")
    return Taken(files, dict(counts), marked, reviewed)


def _refuse_other_language(language: Language, rows: Iterable[Row], path: Path) -> None:
    """Say whose sheet it is where the texts of most rows are those of another language.

    Raises:
        DataError: where they are.
    """
    texts = {row.key: row.text for row in rows if row.text}
    if not texts or _share_of(language, texts) >= MOST_CHANGED:
        return
    for other in load_languages().values():
        if other.code != language.code and _share_of(other, texts) > MOST_CHANGED:
            mend = f"take it back with `refusalatlas review {other.code}`; nothing was changed"
            raise DataError(f"this is the sheet of {other.code}, not of {language.code}", where=path, mend=mend)


MOST_CHANGED = 0.5
"""Share of a sheet's texts that stand so in the language that it is of, however many have changed since."""

MOST_OF_A_NAME = 120
"""Characters of a name; what the field `reviewer` of a text holds."""


def _share_of(language: Language, texts: Mapping[tuple[str, str, str], str]) -> float:
    try:
        found = sheets(language)
    except DataError:
        return 0.0
    there = {
        (sheet.path.name, _seed(line), part): line.text(part)
        for sheet in found
        for line in sheet.lines
        for part in _parts(sheet, line)
    }
    return sum(there.get(key) == text for key, text in texts.items()) / len(texts)


def _conflicts(line: Line, given: Mapping[str, Row], reviewer: str | None) -> Iterable[str]:
    for part, row in given.items():
        if row.text != line.text(part):
            yield f"row {row.number}: the text of {line.row.get('seed_id')} has changed since"
        if reviewer and row.verdict in ("right", "better") and reviewer.casefold() == line.text("author").casefold():
            yield f"row {row.number}: {reviewer} wrote this text; somebody else has to read it"


def _applied(
    line: Line, given: Mapping[str, Row], *, complete: bool, reviewer: str | None, writer: str | None
) -> dict[str, Any]:
    """Return a line's row with what was marked in it."""
    new = dict(line.row)
    better = {part: row.better for part, row in given.items() if row.verdict == "better"}
    new.update(better)
    if writer and better:
        new.update(method="translated", author=writer, reviewer=None)
    if reviewer and given:
        read = complete and all(row.verdict in ("right", "better") for row in given.values())
        if read:
            new["reviewer"] = reviewer
        elif better:
            new["reviewer"] = None  # whoever had read it has not read this wording
    return new


def _with_lines(path: Path, changed: Mapping[int, Mapping[str, Any]]) -> str:
    """Return a file's text with some lines exchanged and all others as they were."""
    lines = read_text(path).split("\n")
    for number, row in changed.items():
        lines[number - 1] = dumps(row)
    return "\n".join(lines)


def save(taken: Taken) -> None:
    """Write the files that a sheet changes; each whole or not at all."""
    for path, text in taken.files.items():
        write_atomic(path, text)
