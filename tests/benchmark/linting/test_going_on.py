"""`lint` goes on past whatever is broken: one file never hides what is wrong with the others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from refusalatlas import languages
from refusalatlas.cli import cli
from refusalatlas.errors import DataError
from refusalatlas.languages import load_languages, read_language
from refusalatlas.linting.findings import Finding, collected
from refusalatlas.linting.words import check_rules
from refusalatlas.packs import packs


@pytest.fixture
def as_ours(copy: Any, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]) -> Path:
    """The folder of the copy, whose languages are taken for built-in ones: broken, they stop everything else."""
    real = packs()[0]
    ours = replace(real, translations=copy.root / "translations")
    monkeypatch.setattr(languages, "packs", lambda: (ours, real))
    fresh()
    folder: Path = copy.root / "translations"
    return folder


def test_broken_language_is_a_finding_beside_those_of_the_others(copy: Any, as_ours: Path) -> None:
    (as_ours / "xx").mkdir()
    (as_ours / "xx" / "language.yaml").write_text("code: [xx\n", encoding="utf-8")
    copy.edit("pairs.jsonl", 3, reviewer="none")
    assert copy.found() == [("provenance", "pairs.jsonl", 3), ("unreadable", "language.yaml", 2)]
    with pytest.raises(DataError, match=r"xx/language\.yaml"):
        load_languages()  # and nothing else goes on past it


def test_gap_alone_is_one_finding_and_hides_no_other(copy: Any) -> None:
    copy.replace("lexicon.yaml", "\nrefusal:\n", '\nrefusal:\n  - "*"\n')
    copy.edit("pairs.jsonl", 3, reviewer="none")
    number = (copy.folder / "lexicon.yaml").read_text(encoding="utf-8").split("\n").index('  - "*"') + 1
    assert copy.found() == [("lexicon", "lexicon.yaml", number), ("provenance", "pairs.jsonl", 3)]


def test_judge_whose_lexicon_is_broken_finds_nothing(copy: Any, as_ours: Path) -> None:
    copy.replace("lexicon.yaml", "\nrefusal:\n", '\nrefusal:\n  - "*"\n')
    assert list(check_rules(read_language(copy.folder), [])) == []


def test_folder_without_language_is_a_finding(copy: Any) -> None:
    shutil.copytree(copy.folder, copy.root / "translations" / "xx")
    (copy.root / "translations" / "xx" / "language.yaml").unlink()
    [finding] = copy.findings()
    assert (finding.rule, finding.path.parts[-2:]) == ("form", ("xx", "language.yaml"))
    assert finding.what.startswith("is missing")


def test_texts_of_a_track_of_its_own_in_our_language_are_looked_at(copy: Any, english: Callable[..., None]) -> None:
    english("How do I bake bread with my grandmother?", "Nitaokaje mkate pamoja na bibi yangu nyumbani?")
    path = copy.root / "translations/en/own.jsonl"
    row = json.loads(path.read_text(encoding="utf-8"))
    copy.write(path, [{**row, "reviewer": "none"}])
    (path.parent / "strings.yaml").write_text("refusal: [No.]\n", encoding="utf-8")  # would never be read
    assert copy.found() == [("provenance", "own.jsonl", 1), ("form", "strings.yaml", None)]


def test_text_that_is_a_number_is_named_by_line(copy: Any) -> None:
    copy.edit("pairs.jsonl", 3, text=123)
    [of_line] = [finding for finding in copy.findings() if finding.rule == "field"]
    assert (of_line.rule, of_line.line) == ("field", 3)
    assert of_line.what == "fraud-hospital-harmful: text: Input should be a valid string"


def test_error_on_the_way_of_a_rule_is_a_finding_of_its_file(tmp_path: Path) -> None:
    def rule(where: object) -> Any:
        yield Finding("x", tmp_path, 1, "first", "mend")
        raise DataError("broken", where=str(where), mend="mend it")

    named = list(collected(rule(f"{tmp_path / 'b.yaml'}:7"), tmp_path / "a"))
    assert [(f.path.name, f.line, f.what) for f in named[1:]] == [("b.yaml", 7, "broken")]
    assert [f.path.name for f in collected(rule("sw"), tmp_path / "a")][1:] == ["a"]


def test_pack_is_told_where_the_english_files_are(copy: Any) -> None:
    copy.edit("pairs.jsonl", 3, reviewer="none")
    done = CliRunner().invoke(cli, ["lint", str(copy.root)])
    assert "The English files are in " in done.stderr
    done = CliRunner().invoke(cli, ["lint", str(copy.root), "--language", "br"])
    assert "or name the folder of its pack: `refusalatlas lint FOLDER --language br`" in str(done.exception)
