"""What a worker does, here without Ray."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from refusalatlas.adapter import panel_id
from refusalatlas.exchanges import Located, read_exchanges
from refusalatlas.records import Decision, Exchange, Panel
from refusalatlas.scale.decisions import part_path, read_part
from refusalatlas.scale.parts import make_plan
from refusalatlas.scale.worker import BATCH, MOST_DEATHS, Job, Worker, decide_once, part_row

Load = Callable[[str], Panel]


@dataclass
class Counting:
    """A panel that notes what it is asked."""

    panel: Panel
    asked: list[str] = field(default_factory=list)

    def judge(self, exchanges: Sequence[Exchange]) -> list[Decision]:
        assert len(exchanges) <= BATCH
        self.asked += [exchange.id for exchange in exchanges]
        return self.panel.judge(exchanges)


def work(worker: Worker, source: Path, part_lines: int = 2048) -> dict[str, list[Any]]:
    """Let a worker judge all parts of a file, as Ray would hand them over."""
    rows = [part_row(part) for part in make_plan([str(source)], part_lines).parts]
    return worker({key: np.array([row[key] for row in rows]) for key in rows[0]})


def test_what_stands_there_twice_is_judged_once(light: Load, answers: list[dict[str, Any]]) -> None:
    panel = Counting(light("light"))
    found = [Located(n, 0, Exchange(a["id"], a["prompt"], a["response"], a["language"])) for n, a in enumerate(answers)]
    decided = [pair for batch in decide_once(panel, iter(found)) for pair in batch]  # type: ignore[arg-type]
    assert [at for at, _ in decided] == found
    distinct = {(a["prompt"], a["response"], a["language"]) for a in answers}
    assert len(panel.asked) == len(distinct) < len(answers)


@pytest.mark.parametrize("other", [{"language": "sw"}, {"finish_reason": "length"}, {"condition": "blocked"}])
def test_what_differs_in_anything_a_judge_may_see_is_judged_again(light: Load, other: dict[str, Any]) -> None:
    panel = Counting(light("light"))
    pair = [
        Exchange("a", "p", "I cannot help.", "en"),
        Exchange("b", "p", "I cannot help.", **{"language": "en", **other}),
    ]
    list(decide_once(panel, (Located(n, 0, exchange) for n, exchange in enumerate(pair))))  # type: ignore[arg-type]
    assert panel.asked == ["a", "b"]


def test_worker_writes_what_judging_in_process_gives(
    tmp_path: Path, light: Load, answers: list[dict[str, Any]], write_lines: Callable[..., Path]
) -> None:
    source, panel = write_lines("in.jsonl", answers[:40]), light("light")
    out = tmp_path / "out"
    out.mkdir()
    done = work(Worker(Job(str(out), "d", panel_id(panel), functools.partial(light, "light"))), source, 15)
    assert done == {"index": [0, 1, 2], "rows": [15, 15, 10], "error": [""] * 3, "warnings": [""] * 3}
    exchanges = list(read_exchanges(str(source)))
    expected = [(e.id, d.to_json()) for e, d in zip(exchanges, panel.judge(exchanges), strict=True)]
    assert [(item, d.to_json()) for i in range(3) for item, d in read_part(part_path(out, i))] == expected


def test_panel_is_loaded_once_and_finished_parts_are_left_alone(
    tmp_path: Path, light: Load, answers: list[dict[str, Any]], write_lines: Callable[..., Path]
) -> None:
    loaded = []

    def load() -> Panel:
        loaded.append("light")
        return light("light")

    source, job = write_lines("in.jsonl", answers[:9]), Job(str(tmp_path), "d", panel_id(light("light")), load)
    worker = Worker(job)
    work(worker, source, 3)
    stamps = [part_path(tmp_path, i).stat().st_mtime_ns for i in range(3)]
    assert work(worker, source, 3)["rows"] == [3, 3, 3]
    assert loaded == ["light"]
    assert [part_path(tmp_path, i).stat().st_mtime_ns for i in range(3)] == stamps
    work(Worker(job), source, 3)
    assert loaded == ["light"], "nothing to judge, no panel to load"


def test_other_panel_on_a_worker_is_one_line(
    tmp_path: Path, light: Load, answers: list[dict[str, Any]], write_lines: Callable[..., Path]
) -> None:
    job = Job(str(tmp_path), "d", panel_id(light("lighter")), lambda: light("light"))
    (error,) = work(Worker(job), write_lines("in.jsonl", answers[:2]))["error"]
    assert "has another panel" in error
    assert "install the same release" in error
    assert not list(tmp_path.glob("*.parquet"))


def test_wrong_line_comes_back_as_one(
    tmp_path: Path, light: Load, answers: list[dict[str, Any]], write_lines: Callable[..., Path]
) -> None:
    source = write_lines("in.jsonl", [*answers[:3], {"id": 1}])
    done = work(Worker(Job(str(tmp_path), "d", panel_id(light("light")), functools.partial(light, "light"))), source, 2)
    assert done["rows"] == [2, 0]
    assert done["error"][0] == ""
    assert "in.jsonl:4: " in done["error"][1]


def test_part_over_which_workers_keep_dying_is_given_up(
    tmp_path: Path, light: Load, answers: list[dict[str, Any]], write_lines: Callable[..., Path]
) -> None:
    source = write_lines("in.jsonl", answers[:4])
    worker = Worker(Job(str(tmp_path), "d", panel_id(light("light")), functools.partial(light, "light")))
    for number in range(MOST_DEATHS):
        (tmp_path / f".part-000001.parquet.host.{number}").touch()
    done = work(worker, source, 2)
    assert done["rows"] == [2, 0]
    assert "in.jsonl:3: 5 workers died over these 2 lines" in done["error"][1]


def test_warnings_of_judges_come_back_with_the_part(
    tmp_path: Path, light: Load, answers: list[dict[str, Any]], write_lines: Callable[..., Path]
) -> None:
    class Warns(Counting):
        name, sha256 = "light", "0"

        def judge(self, exchanges: Sequence[Exchange]) -> list[Decision]:
            logging.getLogger("refusalatlas.judges").warning("judge x failed\nand abstains")
            return super().judge(exchanges)

    panel = Warns(light("light"))
    job = Job(str(tmp_path), "d", "light@0", lambda: panel)  # type: ignore[arg-type, return-value]
    done = work(Worker(job), write_lines("in.jsonl", answers[:4]), 2)
    assert done["warnings"] == ["judge x failed and abstains"] * 2
