"""A panel of two real judges that loads fast, and answers of the project's own examples to judge."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="needs the ray extra")

from refusalatlas.judges import panel as panels
from refusalatlas.judges.examples import load_examples

from refusalatlas.records import Panel

LIGHT = """\
description: rules and n-grams, for tests
judges:
  - {name: rules, family: rules}
  - {name: ngram, family: ngram}
"""

Row = dict[str, Any]


@pytest.fixture(scope="session")
def light(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Panel]:
    """A loader of panels that workers can load too: `light` and `lighter`, which differ in their hash."""
    folder = tmp_path_factory.mktemp("panels")
    (folder / "light.yaml").write_text(LIGHT, encoding="utf-8")
    (folder / "lighter.yaml").write_text(LIGHT + "gate: {dissent: 0.8}\n", encoding="utf-8")
    return functools.partial(panels._load, folder=folder)


@pytest.fixture(scope="session")
def answers() -> list[Row]:
    """400 lines to judge, in many languages; every fourth text stands there twice, far apart."""
    examples = sorted(load_examples(sealed=False), key=lambda e: len(e.response))
    drawn = examples[:: len(examples) // 300][:300]
    texts = [{"prompt": e.prompt, "response": e.response, "language": e.language} for e in [*drawn, *drawn[::3]]]
    return [{"id": f"a{number}", **text} for number, text in enumerate(texts)]


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., Path]:
    """Write rows as a file of JSON lines."""

    def write(name: str, rows: Sequence[Row]) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path

    return write
