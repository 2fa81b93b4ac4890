from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refusalatlas.adapter import panel_id
from refusalatlas.errors import AtlasError
from refusalatlas.exchanges import read_exchanges
from refusalatlas.records import Panel
from refusalatlas.scale.decided import DecidedPanel
from refusalatlas.scale.manifest import begin, finish
from refusalatlas.scale.parts import make_plan
from refusalatlas.scale.worker import Job, Worker, part_row


def test_folder_gives_its_decisions_and_no_others(
    tmp_path: Path, light: Callable[[str], Panel], answers: list[dict[str, Any]], write_lines: Callable[..., Path]
) -> None:
    source, folder, panel = write_lines("in.jsonl", answers[:7]), tmp_path / "out", light("light")
    plan = make_plan([str(source)], 3)
    manifest = begin(folder, panel_id(panel), plan, 3)
    rows = [part_row(part) for part in plan.parts]
    worker = Worker(Job(str(folder), manifest.job(), panel_id(panel), functools.partial(light, "light")))
    worker({name: np.array([row[name] for row in rows]) for name in rows[0]})
    decided, exchanges = DecidedPanel(folder, finish(folder, manifest)), list(read_exchanges(str(source)))
    assert panel_id(decided) == panel_id(panel)
    assert [d.to_json() for d in decided.judge(exchanges)] == [d.to_json() for d in panel.judge(exchanges)]
    for others in (exchanges[::-1], exchanges[1:], [*exchanges, exchanges[0]]):
        with pytest.raises(AtlasError, match="holds decisions on other answers than this run's"):
            decided.judge(others)
