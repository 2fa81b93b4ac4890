"""Sees to it that what a run has paid for is written.

lm_eval finds out that a folder cannot be written when all answers are there; it then says so in a warning, leaves with
exit code 0, and the results are gone. Runs of our tasks notice it before the first request, and keep the results
somewhere else where it happens at the end (a disk that is full by then).
"""

from __future__ import annotations

import functools
import importlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import AtlasError

_TRACKER = "lm_eval.loggers.evaluation_tracker"
_CONFIG = "lm_eval.config.evaluate_config"

_output_path: str | None = None


def remember_output_path() -> None:
    """Let lm_eval's command line tell us its ``--output_path``; used as a library, lm_eval has none."""
    try:
        config = getattr(importlib.import_module(_CONFIG), "EvaluatorConfig", None)
    except ImportError:  # elsewhere in other releases
        return
    original = getattr(config, "process_tasks", None)
    if original is None or hasattr(original, "_refusalatlas"):
        return

    @functools.wraps(original)
    def process_tasks(self: Any, *args: Any, **kw: Any) -> Any:
        global _output_path
        path = getattr(self, "output_path", None)
        _output_path = str(path) if path else None
        return original(self, *args, **kw)

    process_tasks._refusalatlas = True  # type: ignore[attr-defined]
    config.process_tasks = process_tasks  # type: ignore[union-attr]


def prepare() -> None:
    """Check where the results of this run will go, and watch over them; called when one of our tasks is loaded.

    Raises:
        AtlasError: where the folder of ``--output_path`` cannot be written.
    """
    if _output_path is not None:
        check_output_path(_output_path)
    watch(sys.modules.get(_TRACKER))


@functools.lru_cache(maxsize=8)
def check_output_path(path: str) -> None:
    """Write and remove a file where lm_eval will write its own.

    Raises:
        AtlasError: where that does not work.
    """
    folder = Path(path).parent if path.endswith(".json") else Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".refusalatlas-") as probe:
            probe.write(b"x" * 4096)
            probe.flush()
    except OSError as error:
        mend = "choose a folder that you may write to (nothing has been asked yet)"
        what = f"cannot be written ({error.strerror or error})"
        raise AtlasError(what, where=f"--output_path {path}", mend=mend) from None


def watch(module: ModuleType | None) -> None:
    """Let lm_eval's tracker check that what it has saved is there, keep it elsewhere if not, and say so at the end."""
    tracker = getattr(module, "EvaluationTracker", None)
    if tracker is None or "_refusalatlas" in vars(tracker):  # not what a base has
        return
    save_results, save_samples = tracker.save_results_aggregated, tracker.save_results_samples

    @functools.wraps(save_results)
    def save_results_aggregated(self: Any, results: Any, samples: Any = None) -> None:
        save_results(self, results=results, samples=samples)
        self._refusalatlas_left = list(results.get("configs", ())) if samples else []
        self._refusalatlas_rescued = None
        _rescue(self, lambda: save_results(self, results=results, samples=samples), _results_are_there)
        _end(self)

    @functools.wraps(save_samples)
    def save_results_samples(self: Any, task_name: str, samples: Any) -> None:
        rows = list(samples)
        save_samples(self, task_name=task_name, samples=rows)
        found = functools.partial(_samples_are_there, task=task_name, count=len(rows))
        _rescue(self, lambda: save_samples(self, task_name=task_name, samples=rows), found)
        left = getattr(self, "_refusalatlas_left", [])
        if task_name in left:
            left.remove(task_name)
            _end(self)

    tracker.save_results_aggregated, tracker.save_results_samples = save_results_aggregated, save_results_samples
    tracker._refusalatlas = True


def _rescue(tracker: Any, again: Callable[[], None], there: Callable[[Any], bool]) -> None:
    """Save once more into a folder of our own, where the first attempt has left nothing, or half of it."""
    if not tracker.output_path or there(tracker):
        return
    if tracker._refusalatlas_rescued is None:
        tracker._refusalatlas_rescued = str(tracker.output_path)
        tracker.output_path = tempfile.mkdtemp(prefix="refusalatlas-rescued-")
    again()
    if not there(tracker):
        tracker._refusalatlas_left = []
        raise AtlasError(
            "the results cannot be written, there or in the folder for temporary files",
            where=tracker._refusalatlas_rescued,
            mend="make room and start again with the same --use_cache: it asks only for what is missing there",
        )


def _end(tracker: Any) -> None:
    """Say, once everything is saved, that it lies elsewhere."""
    rescued = getattr(tracker, "_refusalatlas_rescued", None)
    if rescued is not None and not tracker._refusalatlas_left:
        mend = f"the results are kept in {tracker.output_path}, move them from there"
        raise AtlasError("could not be written at the end of the run", where=f"--output_path {rescued}", mend=mend)


def _folder(tracker: Any) -> Path:
    path = Path(tracker.output_path)
    return path.parent if path.suffix == ".json" else path / str(tracker.general_config_tracker.model_name_sanitized)


def _results_are_there(tracker: Any) -> bool:
    path, date = Path(tracker.output_path), getattr(tracker, "date_id", None)
    name = f"{path.stem}_{date}.json" if path.suffix == ".json" else f"results_{date}.json"
    return _ends_with(_folder(tracker) / name, b"}")


def _samples_are_there(tracker: Any, task: str, count: int) -> bool:
    file = _folder(tracker) / f"samples_{task}_{getattr(tracker, 'date_id', None)}.jsonl"
    if count == 0:
        return file.exists()
    try:
        with file.open("rb") as lines:
            return sum(1 for line in lines if line.endswith(b"\n")) == count
    except OSError:
        return False


def _ends_with(file: Path, end: bytes) -> bool:
    try:
        with file.open("rb") as handle:
            handle.seek(-len(end), 2)
            return handle.read() == end
    except OSError:
        return False
