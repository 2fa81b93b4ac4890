"""Judging on Ray Data: parts are shared out among workers, and each finished one is a file that stays.

Ray moves no text: a worker reads its part's lines from a file that all machines see, and writes its decisions beside
the others. So memory is bounded by a worker's batch, a worker that dies costs the part that it was at, and what a
second start finds finished it leaves alone.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..adapter import panel_id
from ..errors import AtlasError
from ..records import Panel
from .decisions import pyarrow
from .manifest import Manifest, begin, clear_leftovers, finish, missing, read_manifest
from .parts import PART_LINES, Part, make_plan
from .worker import Job, Worker, part_row

_ATTEMPTS = 3
"""Times that a cluster is started here: Ray gives up after half a minute, which is short on a machine that is busy."""

_QUIET = {"log_to_driver": False, "logging_level": logging.ERROR}


@dataclass(frozen=True, slots=True)
class Watcher:
    """What is told while it goes on.

    Attributes:
        done: Called whenever a part is finished, with how many are, how many there are to do, and their answers so far.
        warn: Called once with each line that a worker's judges warn of.
    """

    done: Callable[[int, int, int], None] = lambda parts, of, answers: None
    warn: Callable[[str], None] = lambda line: None


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where the work is done.

    Attributes:
        address: Of a Ray cluster (``auto``: the one that runs on this machine), or None for the one that
            ``RAY_ADDRESS`` names, or else for one that is started here and stopped at the end.
        workers: How many, each with a panel of its own and one CPU; None for as many as there are CPUs.
    """

    address: str | None = None
    workers: int | None = None


def judge_files(
    sources: Sequence[str],
    folder: Path,
    name: str,
    load: Callable[[str], Panel],
    *,
    cluster: Cluster | None = None,
    part_lines: int | None = None,
    watcher: Watcher | None = None,
) -> Manifest:
    """Judge all that the sources hold into a folder of Parquet files; a second start judges what is missing.

    Args:
        sources: See `make_plan`. All machines must see them, and the folder, under the same names.
        folder: New, or begun with the same panel and input.
        name: Of the panel, or the path of its file, which all machines must see too.
        load: Loads a panel by its name, here and in the workers; the service ``load_panel``.
        cluster: Where; a cluster started here by default.
        part_lines: Lines of a part (`PART_LINES`); of a folder that was begun, what it was begun with.
        watcher: Told how far it is.

    Returns:
        The manifest, complete.

    Raises:
        AtlasError: where something is missing, wrong or not the same as before; finished parts stay.
    """
    ray = import_ray()
    before = read_manifest(folder)
    lines = before.part_lines if before else part_lines or PART_LINES
    plan = make_plan(sources, lines)
    panel = panel_id(load(name))
    manifest = begin(folder, panel, plan, lines)
    left = missing(folder, manifest)
    if left:
        clear_leftovers(folder)
        job = Job(str(folder.resolve()), manifest.job(), panel, functools.partial(load, name))
        with _started(ray, cluster or Cluster()) as workers:
            _work(ray, job, [plan.parts[i] for i in left], min(workers, len(left)), watcher or Watcher())
    return finish(folder, manifest)


def import_ray() -> Any:
    """Return Ray with Ray Data, with its reports to its makers turned off.

    Raises:
        AtlasError: where it is not installed.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
        import ray.data
    except ImportError:
        raise AtlasError("Ray is not installed", where="--engine ray", mend="pip install 'refusalatlas[ray]'") from None
    pyarrow()
    return ray


@contextmanager
def _started(ray: Any, cluster: Cluster) -> Iterator[int]:
    """Give the number of workers on a cluster that runs; one that was started here is stopped again."""
    ours = not ray.is_initialized()
    if ours:
        start(ray, cluster)
    try:
        cpus = int(ray.cluster_resources().get("CPU", 0))
        workers = cluster.workers or cpus
        if not 1 <= workers <= cpus:
            what = f"{workers} workers are wanted, and the cluster has {cpus} CPUs"
            raise AtlasError(what, where="--engine ray", mend=f"--workers {max(cpus, 1)}, or a larger cluster")
        yield workers
    finally:
        if ours:
            ray.shutdown()


def start(ray: Any, cluster: Cluster) -> None:
    """Connect to a cluster, or start one of this machine's CPUs.

    Raises:
        AtlasError: where it cannot be reached or does not come up.
    """
    address = cluster.address or os.environ.get("RAY_ADDRESS")
    threads = os.environ.get("OMP_NUM_THREADS")
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers inherit it: one CPU each, and not all of them each
    try:
        if address:
            ray.init(address=address, **_QUIET)
        else:
            _start_here(ray, cluster.workers)
    except Exception as error:  # Ray raises bare ones too
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        where = f"Ray cluster {address or 'on this machine'}"
        raise AtlasError(f"cannot be reached ({line[:200]})", where=where, mend="see `ray status`") from None
    finally:
        if threads is None:
            del os.environ["OMP_NUM_THREADS"]


def _start_here(ray: Any, workers: int | None) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            ray.init(address="local", num_cpus=workers, include_dashboard=False, **_QUIET)
        except Exception:  # a bare one, where it is not up within half a minute
            ray.shutdown()
            if attempt == _ATTEMPTS:
                raise
        else:
            return


def _work(ray: Any, job: Job, parts: Sequence[Part], workers: int, watcher: Watcher) -> None:
    data = ray.data
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    rows = data.from_items([part_row(part) for part in parts], override_num_blocks=len(parts))
    done = rows.map_batches(
        Worker,
        fn_constructor_args=(job,),
        batch_size=1,
        batch_format="numpy",
        compute=data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
        num_cpus=1,
    )
    answers, said = 0, set[str]()
    try:
        for count, row in enumerate(done.iter_rows(), 1):
            if row["error"]:
                raise AtlasError(row["error"])
            answers += int(row["rows"])
            for line in filter(None, row["warnings"].split("\n")):
                if line not in said:
                    said.add(line)
                    watcher.warn(line)
            watcher.done(count, len(parts), answers)
    except ray.exceptions.RayError as error:
        reason = repr(getattr(error, "cause", None) or error).splitlines()[0]
        mend = "start the same command again: it judges only what is missing"
        raise AtlasError(f"a worker failed for good ({reason[:300]})", where="--engine ray", mend=mend) from error
