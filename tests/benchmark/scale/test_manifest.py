from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refusalatlas.errors import AtlasError
from refusalatlas.records import Decision, DetectedLanguage
from refusalatlas.scale.decisions import part_path, row_of, write_part
from refusalatlas.scale.manifest import NAME, begin, finish, missing, read_decisions, read_manifest
from refusalatlas.scale.parts import make_plan

PANEL = "light@" + "a" * 64


@pytest.fixture
def source(answers: list[dict[str, Any]], write_lines: Callable[..., Path]) -> Path:
    return write_lines("in.jsonl", answers[:5])


def fill(folder: Path, source: Path, *parts: int) -> None:
    """Write parts of two lines each, with ids that tell where they belong."""
    job = begin(folder, PANEL, make_plan([str(source)], 2), 2).job()
    decision = Decision(None, "empty", DetectedLanguage(None, None, 0.0), 0.0, False)
    for part in parts:
        rows = [
            {"source": "in", "line": n, "answer": 0, "id": f"{part}/{n}", **row_of(decision)}
            for n in range(2 if part < 2 else 1)
        ]
        write_part(part_path(folder, part), [rows], job, part)


def test_second_start_finds_what_is_missing(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "out"
    fill(folder, source, 0, 2)
    again = begin(folder, PANEL, make_plan([str(source)], 2), 2)
    assert missing(folder, again) == [1]
    with pytest.raises(AtlasError, match=r"holds 2 of 3 parts; start the same command again"):
        list(read_decisions(folder))
    with pytest.raises(AtlasError, match=r"holds 2 of 3 parts"):
        finish(folder, again)
    fill(folder, source, 1)
    (folder / ".part-000001.parquet.host.1").touch()
    assert finish(folder, again).rows == 5
    assert [item for item, _ in read_decisions(folder)] == ["0/0", "0/1", "1/0", "1/1", "2/0"]
    assert sorted(p.name for p in folder.iterdir()) == [NAME, *(f"part-00000{i}.parquet" for i in range(3))]


def test_moved_input_is_the_same_input(tmp_path: Path, source: Path) -> None:
    fill(tmp_path / "out", source, 0)
    moved = source.rename(tmp_path / "moved.jsonl")
    assert missing(tmp_path / "out", begin(tmp_path / "out", PANEL, make_plan([str(moved)], 2), 2)) == [1, 2]


def test_other_panel_or_input_is_one_clear_line(tmp_path: Path, source: Path) -> None:
    folder, plan = tmp_path / "out", make_plan([str(source)], 2)
    begin(folder, PANEL, plan, 2)
    with pytest.raises(AtlasError, match=r"begun with panel light \(aaaaaaaaaaaa\), not light \(b{12}\); name a new"):
        begin(folder, "light@" + "b" * 64, plan, 2)
    with pytest.raises(AtlasError, match="begun with 1 input files, not 2"):
        begin(folder, PANEL, make_plan([str(source)] * 2, 2), 2)
    source.write_text(source.read_text(encoding="utf-8").replace("a0", "b0", 1), encoding="utf-8")
    with pytest.raises(AtlasError, match=r"begun when .*in\.jsonl held something else"):
        begin(folder, PANEL, make_plan([str(source)], 2), 2)


def test_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    assert read_manifest(tmp_path / "new") is None
    (tmp_path / "mine.txt").write_text("x", encoding="utf-8")
    with pytest.raises(AtlasError, match="is no folder of decisions"):
        read_manifest(tmp_path)
    with pytest.raises(AtlasError, match="holds no decisions"):
        next(read_decisions(tmp_path / "new"))
    for text, problem in [("{", "not JSON"), (json.dumps({"format": 2}), "format: ")]:
        (tmp_path / NAME).write_text(text, encoding="utf-8")
        with pytest.raises(AtlasError, match=problem):
            read_manifest(tmp_path)
