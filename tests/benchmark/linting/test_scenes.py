"""One thing that breaks each rule on scenes, and the note on a track that a language has not begun."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refusalatlas.languages import get_language, read_language
from refusalatlas.linting import lint
from refusalatlas.linting.coverage import not_begun
from refusalatlas.linting.scenes import check_scenes
from refusalatlas.linting.sheets import Place, Sheet, read_lines, sources
from refusalatlas.packs import builtin_root


def sheet(folder: Path, code: str = "en", track: str = "grounding") -> Sheet:
    path = builtin_root() / "translations" / code / f"{track}.jsonl"
    return Sheet(read_language(folder), sources(builtin_root(), builtin_root())[track], path, read_lines(path)[0])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the English files."""
    import shutil

    shutil.copytree(builtin_root() / "translations" / "en", tmp_path / "en")
    return tmp_path / "en"


def found(folder: Path, old: str, new: str) -> list[str]:
    path = folder / "strings.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return [finding.rule for finding in check_scenes(sheet(folder))]


def test_sound_names_have_no_findings(folder: Path) -> None:
    assert list(check_scenes(sheet(folder))) == []


def test_a_thing_without_a_name_is_unfinished(folder: Path) -> None:
    assert found(folder, "  - wrench = wrench|spanner", "") == ["unfinished"]


@pytest.mark.parametrize("entry", ["wrench: wrench", "wrench =", "wrenches = wrench", "umbrella = wrench"])
def test_an_entry_that_names_no_thing_of_the_scenes_is_found(folder: Path, entry: str) -> None:
    assert found(folder, "  - wrench = wrench|spanner", f'  - "{entry}"') == ["strings", "unfinished"]


def test_two_things_of_one_name_are_found(folder: Path) -> None:
    assert found(folder, "wrench = wrench|spanner", "wrench = Umbrella") == ["strings"]


def test_a_name_in_another_script_is_found(folder: Path) -> None:
    assert found(folder, "wrench = wrench|spanner", "wrench = ключ") == ["script"]


def test_tracks_without_scenes_are_left_alone(folder: Path) -> None:
    (folder / "strings.yaml").write_text("refusal: []\n", encoding="utf-8")
    assert list(check_scenes(sheet(folder, track="pairs"))) == []


def test_a_track_that_grows_language_by_language_may_be_missing() -> None:
    source = sources(builtin_root(), builtin_root())["grounding"]
    assert source.may_wait("sw")
    assert not source.may_wait("en") and not source.may_wait("de")
    assert not sources(builtin_root(), builtin_root())["pairs"].may_wait("sw")
    assert not sources(builtin_root(), builtin_root())["apac"].may_wait("ko")
    finding = not_begun(Sheet(get_language("sw"), source, Path("sw/grounding.jsonl"), ()))
    assert (finding.rule, finding.severity) == ("unfinished", "info")
    assert "48 texts" in finding.what


def test_a_track_that_was_begun_is_wanted_whole(copy: Any) -> None:
    path = copy.folder / "grounding.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8")
    findings = [f for f in lint([Place(copy.root, False)]).findings if f.path.name == "grounding.jsonl"]
    assert ("unfinished", "finding") in {(f.rule, f.severity) for f in findings}
