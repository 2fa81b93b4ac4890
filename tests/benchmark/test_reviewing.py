from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from refusalatlas.cli import cli
from refusalatlas.errors import AtlasError, DataError
from refusalatlas.languages import Language, load_languages, read_language
from refusalatlas.packs import builtin_root
from refusalatlas.reviewing import COLUMNS, export, read_sheet, save, take_back


@pytest.fixture
def language(tmp_path: Path) -> Language:
    """A copy of the Swahili texts."""
    folder = tmp_path / "pack" / "translations" / "sw"
    shutil.copytree(builtin_root() / "translations" / "sw", folder)
    return read_language(folder)


class Marked:
    """A sheet in a speaker's hands."""

    def __init__(self, language: Language, folder: Path) -> None:
        self.rows = list(csv.DictReader(io.StringIO(export(language).removeprefix("\ufeff"), newline="")))
        self.path = folder / "sheet.csv"

    def row(self, seed: str, part: str = "text") -> dict[str, str]:
        [row] = [row for row in self.rows if row["seed_id"] == seed and row["part"] == part]
        return row

    def save(self, *, delimiter: str = ",", encoding: str = "utf-8-sig") -> Path:
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, COLUMNS, delimiter=delimiter)
        writer.writeheader()
        writer.writerows(self.rows)
        self.path.write_text(out.getvalue(), encoding=encoding)
        return self.path


@pytest.fixture
def marked(language: Language, tmp_path: Path) -> Marked:
    return Marked(language, tmp_path)


def lines(language: Language, track: str) -> dict[str, dict[str, Any]]:
    path = language.folder / f"{track}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["seed_id"]: row for row in rows}


SEED = "fraud-parcel-benign"


def test_sheet_holds_every_text_beside_its_english(language: Language, marked: Marked) -> None:
    assert len(marked.rows) == 10 * 2 + 80 + 80 + 48
    assert marked.row(SEED)["text"] == lines(language, "pairs")[SEED]["text"]
    assert marked.row(SEED)["English"].startswith("I got a text message")
    assert marked.row("permit", "response")["English"].startswith("I can't help")


def test_sheet_begins_with_a_byte_order_mark(language: Language) -> None:
    assert export(language).startswith("\ufefffile,seed_id,part,English,text,verdict,better wording,note\r\n")


def test_reader_is_named_on_what_is_right_and_on_nothing_else(language: Language, marked: Marked) -> None:
    marked.row(SEED)["verdict"] = "right"
    marked.row("fraud-parcel-harmful")["verdict"] = "wrong"
    taken = take_back(language, marked.save(), reviewer="Neema Mushi")
    save(taken)
    rows = lines(language, "pairs")
    assert {seed for seed, row in rows.items() if row["reviewer"] is not None} == {SEED}
    assert rows[SEED]["reviewer"] == "Neema Mushi"
    assert taken.counts == {"right": 1, "wrong": 1, "unread": 226}
    assert taken.reviewed == 1


def test_better_wording_takes_the_place_of_the_text(language: Language, marked: Marked) -> None:
    marked.row(SEED).update({"verdict": "Better", "better wording": "Maneno mazuri zaidi?"})
    save(take_back(language, marked.save(), reviewer="Neema Mushi"))
    row = lines(language, "pairs")[SEED]
    assert (row["text"], row["reviewer"], row["author"]) == ("Maneno mazuri zaidi?", "Neema Mushi", "refusalatlas-llm")


def test_lines_that_were_not_marked_stay_byte_for_byte(language: Language, marked: Marked) -> None:
    before = (language.folder / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    marked.row(SEED)["verdict"] = "right"
    save(take_back(language, marked.save(), reviewer="Neema Mushi"))
    after = (language.folder / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    assert [n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [1]


def test_conversation_of_which_one_part_was_read_has_no_reader(language: Language, marked: Marked) -> None:
    marked.row("permit")["verdict"] = "right"
    save(take_back(language, marked.save(), reviewer="Neema Mushi"))
    assert lines(language, "minos")["permit"]["reviewer"] is None
    marked.row("permit", "response")["verdict"] = "right"
    save(take_back(language, marked.save(), reviewer="Neema Mushi"))
    assert lines(language, "minos")["permit"]["reviewer"] == "Neema Mushi"


def test_earlier_reader_is_not_named_beside_words_that_they_never_read(language: Language, marked: Marked) -> None:
    for part in ("text", "response"):
        marked.row("permit", part)["verdict"] = "right"
    save(take_back(language, marked.save(), reviewer="Neema Mushi"))
    marked.row("permit").update({"verdict": "better", "better wording": "Nitengenezee kibali?"})
    marked.row("permit", "response")["verdict"] = "wrong"
    save(take_back(language, marked.save(), reviewer="Asha Juma"))
    assert lines(language, "minos")["permit"]["reviewer"] is None


def test_notes_on_wrong_texts_are_handed_on(language: Language, marked: Marked) -> None:
    marked.row(SEED).update({"verdict": "wrong", "note": "says the opposite"})
    taken = take_back(language, marked.save(), reviewer="Neema Mushi")
    assert taken.wrong == (f"pairs.jsonl {SEED} text: says the opposite",)
    assert taken.files == {}


@pytest.mark.parametrize(
    ("delimiter", "encoding"), [(";", "utf-8-sig"), ("\t", "utf-16"), (",", "utf-8"), (";", "utf-8")]
)
def test_what_spreadsheets_make_of_csv_is_read(
    language: Language, marked: Marked, delimiter: str, encoding: str
) -> None:
    marked.row(SEED)["verdict"] = "right"
    taken = take_back(language, marked.save(delimiter=delimiter, encoding=encoding), reviewer="Neema Mushi")
    assert taken.reviewed == 1


def test_sheet_with_a_line_about_its_separator_is_read(language: Language, marked: Marked) -> None:
    marked.row(SEED)["verdict"] = "right"
    path = marked.save(delimiter=";")
    path.write_text("sep=;\r\n" + path.read_text(encoding="utf-8-sig"), encoding="utf-8-sig", newline="")
    assert take_back(language, path, reviewer="Neema Mushi").reviewed == 1


def test_sheet_whose_texts_have_changed_is_refused_whole(language: Language, marked: Marked) -> None:
    marked.row("fraud-parcel-harmful")["verdict"] = "right"
    path = language.folder / "pairs.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("Nimepata SMS", "Nilipata SMS"), encoding="utf-8")
    with pytest.raises(DataError, match=f"the text of {SEED} has changed since"):
        take_back(language, marked.save(), reviewer="Neema Mushi")


@pytest.mark.parametrize(
    ("cells", "named"),
    [
        ({"verdict": "fine"}, "verdict 'fine' is none of right, wrong, better"),
        ({"verdict": "better"}, "better, but no better wording"),
        ({"verdict": "right", "better wording": "x"}, "a better wording, but the verdict is right"),
        ({"better wording": "x"}, "a better wording, but the verdict is blank"),
        ({"verdict": "better", "better wording": "\x07Maneno"}, r"has the control character U\+0007"),
        ({"verdict": "better", "better wording": "=SUM(A1)"}, "begins with '=', which a spreadsheet computes"),
        ({"verdict": "better", "better wording": "#NAME?"}, "what a spreadsheet says when it cannot compute"),
        ({"seed_id": "nothing"}, "there is no pairs.jsonl nothing text"),
        ({"seed_id": "fraud-parcel-harmful"}, "stands there twice"),
    ],
)
def test_row_that_is_wrong_changes_nothing(
    language: Language, marked: Marked, cells: dict[str, str], named: str
) -> None:
    marked.row(SEED).update(cells)
    with pytest.raises(DataError, match=named):
        take_back(language, marked.save(), reviewer="Neema Mushi")


def test_file_that_is_no_sheet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="lacks the columns file"):
        read_sheet(path)


def test_sheet_in_another_encoding_says_how_to_save_it(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("file,é\n".encode("latin-1"))
    with pytest.raises(DataError, match="row 1 is not UTF-8; save it as CSV UTF-8"):
        read_sheet(path)


@pytest.mark.parametrize("name", ["none", "?", "x", "  "])
def test_nobody_is_no_reader(language: Language, marked: Marked, name: str) -> None:
    with pytest.raises(AtlasError):
        take_back(language, marked.save(), reviewer=name)


def test_nobody_reviews_their_own_text(language: Language, marked: Marked) -> None:
    marked.row(SEED).update({"verdict": "better", "better wording": "Maneno yangu mwenyewe?"})
    save(take_back(language, marked.save(), writer="Asha Juma"))
    again = Marked(language, marked.path.parent)
    again.row(SEED)["verdict"] = "right"
    with pytest.raises(DataError, match="somebody else has to read it"):
        take_back(language, again.save(), reviewer="asha juma")


def test_writer_becomes_the_author_and_nobody_has_read_it(language: Language, marked: Marked) -> None:
    marked.row(SEED).update({"verdict": "better", "better wording": "Maneno mapya?"})
    save(take_back(language, marked.save(), writer="Asha Juma"))
    row = lines(language, "pairs")[SEED]
    assert (row["author"], row["method"], row["reviewer"]) == ("Asha Juma", "translated", None)


def review(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["review", *map(str, arguments)])


def test_command_makes_a_sheet_and_takes_it_back(
    language: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]
) -> None:
    monkeypatch.setitem(load_languages(), "sw", language)
    sheet = tmp_path / "sw.csv"
    assert review("sw", "--output", sheet).exit_code == 0
    done = review("sw", "--take-back", sheet, "--reviewer", "Neema Mushi")
    assert done.exit_code == 0
    assert "0 right, 0 better, 0 wrong, 228 unread" in done.stderr


def test_sheet_is_never_overwritten(tmp_path: Path) -> None:
    sheet = tmp_path / "sw.csv"
    sheet.write_text("somebody's work", encoding="utf-8")
    done = review("sw", "--output", sheet)
    assert done.exit_code == 1
    assert sheet.read_text(encoding="utf-8") == "somebody's work"


@pytest.mark.parametrize(
    "arguments", [["--reviewer", "A B"], ["--take-back", "x"], ["--take-back", "x", "--writer", "A", "--reviewer", "B"]]
)
def test_options_that_do_not_fit_are_wrong_usage(arguments: list[str]) -> None:
    assert review("sw", *arguments).exit_code == 2


@pytest.mark.parametrize("name", ["GPT-4", "Claude", "a bot"])
def test_machine_is_no_reader(language: Language, marked: Marked, name: str) -> None:
    with pytest.raises(AtlasError, match="is a machine"):
        take_back(language, marked.save(), reviewer=name)


def test_empty_rows_at_the_end_are_no_rows(language: Language, marked: Marked) -> None:
    path = marked.save()
    path.write_text(path.read_text(encoding="utf-8-sig") + "," * (len(COLUMNS) - 1) + "\n" * 3, encoding="utf-8-sig")
    assert len(read_sheet(path)) == len(marked.rows)


@pytest.mark.parametrize(("column", "said"), [("text", "the text as it stands"), ("English", "the English text")])
def test_better_wording_that_is_none_changes_nothing(
    language: Language, marked: Marked, column: str, said: str
) -> None:
    marked.row(SEED).update({"verdict": "better", "better wording": marked.row(SEED)[column]})
    with pytest.raises(DataError, match=f"row [0-9]+: the better wording is {said}"):
        take_back(language, marked.save(), reviewer="Neema Mushi")


def test_sign_behind_a_quote_is_no_formula(language: Language, marked: Marked) -> None:
    marked.row(SEED).update({"verdict": "better", "better wording": "'- Nimepata ujumbe?"})
    save(take_back(language, marked.save(), reviewer="Neema Mushi"))
    assert lines(language, "pairs")[SEED]["text"] == "- Nimepata ujumbe?"


@pytest.mark.parametrize("name", ["Neema\nMushi", "Neema\x1b[31m Mushi", "N" * 121])
def test_name_is_one_line_of_letters(language: Language, marked: Marked, name: str) -> None:
    with pytest.raises(AtlasError, match=r"control character|is no name"):
        take_back(language, marked.save(), reviewer=name)


def test_sheet_of_another_language_is_said_to_be_one(language: Language, tmp_path: Path) -> None:
    sheet = Marked(load_languages()["de"], tmp_path)
    sheet.row(SEED)["verdict"] = "right"
    with pytest.raises(DataError, match="this is the sheet of de, not of sw"):
        take_back(language, sheet.save(), reviewer="Neema Mushi")
