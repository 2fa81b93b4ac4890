"""Fixtures: a judging server, and judges that ask it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from judgeserver import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as state:
        yield state


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("URL", "MODEL", "KEY"):
        monkeypatch.delenv(f"REFUSALATLAS_JUDGE_{name}", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache-home"))


@pytest.fixture
def make(server: Server, tmp_path: Path) -> Callable[..., Any]:
    """Makes a judge that asks the server, with its cache in the test's folder and no long waits."""
    from refusalatlas.judges.llm import LlmJudge

    def judge(**params: Any) -> LlmJudge:
        given = {"base_url": server.url, "model": "m-1", "retry_wait_s": 0.01, "timeout_s": 10, **params}
        return LlmJudge(**{"cache": str(tmp_path / "cache"), **given})

    return judge
