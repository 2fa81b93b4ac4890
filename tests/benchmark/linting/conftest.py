"""A sound language in a folder of its own, which each test breaks in one place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from refusalatlas.linting import lint
from refusalatlas.linting.findings import Finding
from refusalatlas.linting.sheets import Place
from refusalatlas.packs import builtin_root

CODE = "sw"


class Copy:
    """A copy of the Swahili texts as somebody else's pack."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "translations" / CODE

    def edit(self, name: str, line: int, **fields: Any) -> None:
        """Change fields of a line of JSON lines, counted from 1; a field given as None becomes null."""
        path = self.folder / name
        rows = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
        rows[line - 1].update(fields)
        self.write(path, rows)

    @staticmethod
    def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")

    def text(self, name: str, line: int) -> str:
        rows = (self.folder / name).read_text(encoding="utf-8").splitlines()
        return str(json.loads(rows[line - 1])["text"])

    def replace(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {name}; the test needs another text to break"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def findings(self) -> list[Finding]:
        report = lint([Place(self.root, False)])
        return [finding for finding in report.findings if finding.severity == "finding"]

    def found(self) -> list[tuple[str, str, int | None]]:
        """Return rule, file and line of each finding."""
        return [(finding.rule, finding.path.name, finding.line) for finding in self.findings()]


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """A copy that has nothing wrong with it."""
    shutil.copytree(builtin_root() / "translations" / CODE, tmp_path / "translations" / CODE)
    return Copy(tmp_path)


@pytest.fixture
def english(copy: Copy) -> Callable[..., None]:
    """Give the copy an English source of its own: a track of one seed with this English text, and this Swahili one."""

    def write(source: str, text: str, **fields: Any) -> None:
        seed = {"seed_id": "a", "cluster_id": "a", "category": "fraud", "axis": "safety", "expected": "comply"}
        (copy.root / "tasks/own").mkdir(parents=True)
        track = (builtin_root() / "tasks/minos/track.yaml").read_text(encoding="utf-8")
        (copy.root / "tasks/own/track.yaml").write_text(track.replace("name: minos", "name: own"), encoding="utf-8")
        copy.write(copy.root / "tasks/own/seeds.jsonl", [{**seed, "role": "benign", "meta": {}}])
        line = {"seed_id": "a", "method": "native", "author": "Asha Juma", "reviewer": None, "meta": {}}
        (copy.root / "translations/en").mkdir()
        copy.write(copy.root / "translations/en/own.jsonl", [{**line, "text": source}])
        copy.write(copy.folder / "own.jsonl", [{**line, "text": text, **fields}])

    return write
