"""Fixtures: copies of published sets where the hub would be, and sets to describe them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from shapes import SET, SHAPES, Copies

from refusalatlas.external import hub
from refusalatlas.external.sets import ExternalSet, read_set


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]) -> Iterator[Copies]:
    """An empty folder of copies."""
    import datasets

    folder = tmp_path / "copies"
    folder.mkdir()
    monkeypatch.setenv(hub.COPIES, str(folder))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    yield Copies(folder)
    datasets.enable_progress_bars()


@pytest.fixture
def published(copies: Copies) -> Copies:
    """Copies of all built-in sets."""
    for repository, splits in SHAPES.items():
        copies.add(repository, splits)
    return copies


@pytest.fixture
def make_set(tmp_path: Path) -> Callable[..., ExternalSet]:
    """Make a set: `make_set({"expected: comply": "expected: refuse"}, more lines)`."""

    def make(changes: dict[str, str] | None = None, more: str = "") -> ExternalSet:
        text = SET
        for old, new in (changes or {}).items():
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "tiny.yaml"
        path.write_text(text + more, encoding="utf-8")
        return read_set(path)

    return make
