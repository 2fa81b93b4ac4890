"""One thing that breaks each rule on pictures of one thing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refusalatlas.languages import read_language
from refusalatlas.linting.coverage import check_coverage
from refusalatlas.linting.findings import Finding
from refusalatlas.linting.likeness import check_likeness
from refusalatlas.linting.sheets import Sheet, read_lines, sources
from refusalatlas.linting.shown import check_shown
from refusalatlas.packs import builtin_root

ROOT = builtin_root()
FIRST = "sg-firecracker-box"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the English files."""
    shutil.copytree(ROOT / "translations" / "en", tmp_path / "en")
    return tmp_path / "en"


def sheet(folder: Path, track: str = "apacpictures") -> Sheet:
    path = folder / f"{track}.jsonl"
    return Sheet(read_language(folder), sources(ROOT, ROOT)[track], path, read_lines(path)[0])


def changed(folder: Path, seed_id: str, change: Callable[[dict[str, Any]], object]) -> Sheet:
    """Return the English texts with one line changed."""
    path = folder / "apacpictures.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(next(row for row in rows if row["seed_id"] == seed_id))
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return sheet(folder)


def rules(findings: Any) -> list[tuple[str, str]]:
    return [(finding.rule, finding.what) for finding in findings if isinstance(finding, Finding)]


def test_sound_texts_have_no_findings(folder: Path) -> None:
    assert rules(check_shown(sheet(folder))) == rules(check_likeness(sheet(folder))) == []
    assert rules(check_shown(sheet(folder, "apac"))) == []


def test_every_seed_needs_its_text(folder: Path) -> None:
    path = folder / "apacpictures.jsonl"
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[1:]), encoding="utf-8")
    assert [rule for rule, _ in rules(check_coverage(sheet(folder)))] == ["unfinished"]


def test_both_pictures_of_a_cluster_have_the_same_text(folder: Path) -> None:
    found = rules(check_shown(changed(folder, f"{FIRST}-fine", lambda row: row.update(text="Draft me a message."))))
    assert [rule for rule, _ in found] == ["pair"]
    assert "the other picture" in found[0][1]


@pytest.mark.parametrize("thing", ["firecrackers", "a Lantern"])
def test_a_text_names_neither_thing(folder: Path, thing: str) -> None:
    for role in ("aware", "fine"):
        last = changed(folder, f"{FIRST}-{role}", lambda row: row.update(text=f"Please bring {thing} from JB."))
    assert [rule for rule, _ in rules(check_shown(last))] == ["shown", "shown"]


def test_a_cue_is_no_name_of_a_thing(folder: Path) -> None:
    found = rules(
        check_shown(changed(folder, f"{FIRST}-aware", lambda row: row["meta"]["aware"]["cues"].append("fire")))
    )
    assert [rule for rule, _ in found] == ["aware"]
    assert "holds the cue 'fire'" in found[0][1]


def test_a_cue_is_nothing_that_a_plain_refusal_says(folder: Path) -> None:
    from refusalatlas.linting.awareness import check_awareness

    last = changed(folder, f"{FIRST}-aware", lambda row: row["meta"]["aware"]["cues"].append("against the law"))
    assert [rule for rule, _ in rules(check_awareness(last))] == ["aware"]


@pytest.mark.parametrize(
    ("new", "wanted"),
    [
        ("", ["unfinished"]),
        ("  - firecrackers = firecracker\n", ["strings", "unfinished"]),
        ("  - firecracker = teapot\n", ["strings"]),
        ("  - firecracker = banger|Teapot\n", ["strings"]),
        ("  - firecracker = 鞭炮\n", ["script"]),
    ],
)
def test_every_thing_has_names_of_its_own_in_the_script(folder: Path, new: str, wanted: list[str]) -> None:
    path = folder / "strings.yaml"
    text = path.read_text(encoding="utf-8")
    old = "  - firecracker = firecracker\n"
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert [rule for rule, _ in rules(check_shown(sheet(folder)))] == wanted


def test_an_icon_that_is_not_there_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("refusalatlas.linting.shown.icon_path", lambda track, emoji: tmp_path / f"{emoji}.png")
    found = rules(check_shown(sheet(folder)))
    assert {rule for rule, _ in found} == {"icon"} and len(found) > 10


@pytest.mark.parametrize("change", [{"expected": "comply"}, {"cluster_id": "sg-alone"}])
def test_a_cluster_is_one_picture_that_touches_a_norm_and_one_that_does_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str]
) -> None:
    from dataclasses import replace

    made = sheet(folder)
    seeds = dict(made.source.seeds)
    seeds[f"{FIRST}-aware"] = {**seeds[f"{FIRST}-aware"], **change}
    found = rules(check_shown(replace(made, source=replace(made.source, seeds=seeds))))
    assert ("seed", f"{FIRST}: is not one `aware` and one `comply` seed of two things in the same locales") in found
