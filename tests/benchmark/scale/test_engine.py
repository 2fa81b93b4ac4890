"""The whole way on a local Ray cluster of two workers, with one of them killed."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("ray.data", reason="needs the ray extra")

from refusalatlas.cli import cli
from refusalatlas.errors import AtlasError
from refusalatlas.exchanges import read_exchanges
from refusalatlas.records import Panel
from refusalatlas.scale.engine import Cluster, Watcher, import_ray, judge_files, start
from refusalatlas.scale.manifest import NAME, read_decisions

Load = Callable[[str], Panel]
Row = dict[str, Any]
TWO = Cluster(workers=2)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of this machine with two CPUs, for all tests of this module."""
    ray = import_ray()
    start(ray, TWO)
    yield ray
    ray.shutdown()


def in_process(panel: Panel, *sources: Path) -> list[Row]:
    """Return what judging gives without Ray."""
    exchanges = [exchange for source in sources for exchange in read_exchanges(str(source))]
    return [{"id": e.id, **d.to_json()} for e, d in zip(exchanges, panel.judge(exchanges), strict=True)]


def decisions(folder: Path) -> list[Row]:
    """Return what a folder holds."""
    return [{"id": item, **decision.to_json()} for item, decision in read_decisions(folder)]


class Killer(threading.Thread):
    """Kills the first worker that is seen in the middle of a part; `killed` is its process id."""

    killed: int | None = None

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.over = folder, threading.Event()

    def run(self) -> None:
        while not self.over.is_set():
            for begun in self.folder.glob(".part-*.parquet.*"):
                self.killed = int(begun.name.rpartition(".")[2])
                os.kill(self.killed, signal.SIGKILL)
                return
            time.sleep(0.002)

    def __enter__(self) -> Killer:
        self.start()
        return self

    def __exit__(self, *args: object) -> None:
        self.over.set()
        self.join()


@pytest.mark.slow
def test_worker_killed_in_the_middle_costs_nothing_and_doubles_nothing(
    cluster: Any, tmp_path: Path, light: Load, answers: list[Row], write_lines: Callable[..., Path]
) -> None:
    sources = write_lines("b.jsonl", answers[:300]), write_lines("a.jsonl", answers[300:])
    folder, seen = tmp_path / "out", []
    with Killer(folder) as killer:
        done = judge_files(
            [str(source) for source in sources],
            folder,
            "light",
            light,
            cluster=TWO,
            part_lines=40,
            watcher=Watcher(lambda *numbers: seen.append(numbers)),
        )
    assert killer.killed not in (None, os.getpid())
    assert (done.parts, done.rows) == (11, 400)
    assert decisions(folder) == in_process(light("light"), *sources)
    assert sorted(p.name for p in folder.iterdir()) == [NAME, *(f"part-{i:06}.parquet" for i in range(11))]
    assert [parts for parts, _, _ in seen] == list(range(1, 12))
    assert seen[-1] == (11, 11, 400)
    (folder / "part-000004.parquet").unlink()
    again = Watcher(lambda *numbers: seen.append(numbers))
    judge_files([str(source) for source in sources], folder, "light", light, cluster=TWO, watcher=again)
    assert seen[11:] == [(1, 1, 40)]
    assert decisions(folder) == in_process(light("light"), *sources)
    with pytest.raises(AtlasError, match=r"begun with panel light \(\w{12}\), not lighter \(\w{12}\); name a new"):
        judge_files([str(source) for source in sources], folder, "lighter", light, cluster=TWO)
    with pytest.raises(AtlasError, match=r"3 workers are wanted, and the cluster has 2 CPUs; --workers 2"):
        judge_files([str(sources[1])], tmp_path / "more", "light", light, cluster=Cluster(workers=3))


@pytest.mark.slow
def test_second_start_judges_what_is_missing(
    cluster: Any, tmp_path: Path, light: Load, answers: list[Row], write_lines: Callable[..., Path]
) -> None:
    source, folder, seen = write_lines("in.jsonl", [*answers[:60], {"id": "wrong"}]), tmp_path / "out", []
    again = [str(source)], folder, "light", light
    with pytest.raises(AtlasError, match=r"in\.jsonl:61: .*each line needs id"):
        judge_files(*again, cluster=TWO, part_lines=20)
    assert not (folder / "part-000003.parquet").exists()
    source = write_lines("in.jsonl", answers[:61])
    with pytest.raises(AtlasError, match=r"held something else .*; name a new folder"):
        judge_files(*again, cluster=TWO)
    folder = tmp_path / "whole"
    judge_files([str(source)], folder, "light", light, cluster=TWO, part_lines=20)
    (folder / "part-000001.parquet").unlink()
    (folder / "part-000003.parquet").write_bytes(b"PAR1")
    before = {i: (folder / f"part-00000{i}.parquet").stat().st_mtime_ns for i in (0, 2)}
    judge_files([str(source)], folder, "light", light, cluster=TWO, watcher=Watcher(lambda *n: seen.append(n)))
    assert seen[-1] == (2, 2, 21)
    assert {i: (folder / f"part-00000{i}.parquet").stat().st_mtime_ns for i in (0, 2)} == before
    assert decisions(folder) == in_process(light("light"), source)


def test_command_gives_the_lines_and_the_run_of_the_command_in_process(
    cluster: Any, finished_run: Path, tmp_path: Path
) -> None:
    source, parts, new = str(finished_run), str(tmp_path / "parts"), tmp_path / "new"
    plain = CliRunner().invoke(cli, ["judge", source, "--write-run", str(tmp_path / "plain")])
    ray = ["judge", source, "--engine", "ray", "--workers", "1", "--output", parts]
    first = CliRunner().invoke(cli, [*ray, "--write-run", str(new)])
    again = CliRunner().invoke(cli, [*ray, "--format", "json"])
    assert (first.exit_code, first.stdout) == (0, "")
    assert first.stderr.endswith(f"20 answers in 2 parts: {parts}\n")
    assert again.stdout == plain.stdout
    assert len(plain.stdout.splitlines()) == 20
    assert contents(new) == contents(tmp_path / "plain")
    third = CliRunner().invoke(cli, [*ray, "--write-run", str(new)])
    assert str(third.exception) == f"{new}: is there already; name a new folder"


def test_panel_of_ones_own_reaches_workers_that_stand_elsewhere(
    cluster: Any, tmp_path: Path, answers: list[Row], write_lines: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lines("in.jsonl", answers[:6])
    text = "description: phrases alone\njudges: [{name: rules, family: rules}]\n"
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    plain = CliRunner().invoke(cli, ["judge", "in.jsonl", "--panel", "mine.yaml"])
    ray = ["--engine", "ray", "--workers", "1", "--output", "parts", "--format", "json"]
    spread = CliRunner().invoke(cli, ["judge", "in.jsonl", "--panel", "mine.yaml", *ray])
    assert (spread.exit_code, spread.stdout) == (0, plain.stdout)
    assert len(plain.stdout.splitlines()) == 6


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_cannot_work_is_said_before_any_worker_starts(
    tmp_path: Path, light: Load, answers: list[Row], write_lines: Callable[..., Path]
) -> None:
    source, folder = [str(write_lines("in.jsonl", answers[:4]))], tmp_path / "out"
    (folder).mkdir()
    (folder / "mine.txt").touch()
    with pytest.raises(AtlasError, match="is no folder of decisions"):
        judge_files(source, folder, "light", light)
    with pytest.raises(AtlasError, match="unknown panel"):
        judge_files(source, tmp_path / "new", "dark", light)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "ray"], "name it with --output"),
        (["y.jsonl", "--engine", "ray", "--output", "out", "--write-run", "run"], "--write-run takes one run"),
        (["--engine", "ray", "--output", "out", "--max-requests", "5"], "--max-requests, --max-cost, --prices works"),
        (["--workers", "2"], "--workers works with --engine ray only"),
        (["--address", "auto"], "--address works with --engine ray only"),
        (["--part-lines", "9"], "--part-lines works with --engine ray only"),
    ],
)
def test_options_of_the_other_engine_are_wrong_usage(options: list[str], message: str) -> None:
    done = CliRunner().invoke(cli, ["judge", "x.jsonl", *options])
    assert done.exit_code == 2
    assert message in done.stderr


class Silent:
    """In the place of Ray: a cluster that comes up at the third attempt, or never."""

    def __init__(self, needed: int) -> None:
        self.needed, self.asked = needed, []

    def init(self, **options: Any) -> None:
        self.asked.append((options["address"], os.environ["OMP_NUM_THREADS"]))
        if len(self.asked) < self.needed:
            raise Exception("The current node timed out during startup.\nMore of it.")  # as Ray does

    def shutdown(self) -> None:
        """Nothing to stop."""


def test_cluster_that_is_slow_to_come_up_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    slow, never, elsewhere = Silent(3), Silent(99), Silent(99)
    start(slow, Cluster())
    assert slow.asked == [("local", "1")] * 3
    with pytest.raises(AtlasError, match=r"on this machine: cannot be reached \(The current node timed out"):
        start(never, Cluster())
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    with pytest.raises(AtlasError, match=r"Ray cluster head:6379: cannot be reached .*; see `ray status`"):
        start(elsewhere, Cluster())
    assert elsewhere.asked == [("head:6379", "1")]
    assert "OMP_NUM_THREADS" not in os.environ


@pytest.mark.parametrize("absent", ["ray", "pyarrow"])
def test_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, absent: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == absent]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, absent, None)
    (tmp_path / "x.jsonl").write_text(json.dumps({"id": 1, "prompt": "p", "response": "r"}), encoding="utf-8")
    done = CliRunner().invoke(
        cli, ["judge", str(tmp_path / "x.jsonl"), "--engine", "ray", "--output", str(tmp_path / "out")]
    )
    assert isinstance(done.exception, AtlasError)
    assert "pip install 'refusalatlas[ray]'" in str(done.exception)
    assert not (tmp_path / "out").exists()
