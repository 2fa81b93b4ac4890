from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from refusalatlas import saving
from refusalatlas.errors import AtlasError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def unwritable(tmp_path: Path) -> Path:
    """A folder that even root cannot make: below a file."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "out"


def test_a_folder_that_can_be_written_is_made_and_left_empty(tmp_path: Path) -> None:
    saving.check_output_path(str(tmp_path / "a" / "b"))
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_clear_line(unwritable: Path, fresh: Callable[[], None]) -> None:
    said = r"--output_path .*cannot be written.*nothing has been asked yet"
    for path in (unwritable, unwritable / "x.json"):
        with pytest.raises(AtlasError, match=said) as caught:
            saving.check_output_path(str(path))
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_noticed(tmp_path: Path, fresh: Callable[[], None]) -> None:
    (tmp_path / "out").mkdir(mode=0o555)
    with pytest.raises(AtlasError, match="cannot be written"):
        saving.check_output_path(str(tmp_path / "out"))


# --- at the end of a run ---

RESULTS: dict[str, Any] = {"configs": {"one": {}, "two": {}}, "results": {}}
SAMPLE: dict[str, Any] = {
    "doc_hash": "a", "prompt_hash": "b", "target_hash": "c", "arguments": [["p", {}]], "resps": [["x"]],
    "filtered_resps": ["x"], "target": "",
}  # fmt: skip


@pytest.fixture
def tracker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Any]:
    """Make a tracker of lm_eval's own class, watched, with temporary files going to a folder of the test."""
    from lm_eval.loggers import evaluation_tracker as real

    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    base = real.EvaluationTracker
    own = ModuleType("own")
    own.EvaluationTracker = type(  # type: ignore[attr-defined]
        "EvaluationTracker",
        (base,),
        {
            name: getattr(getattr(base, name), "__wrapped__", getattr(base, name))
            for name in ("save_results_aggregated", "save_results_samples")
        },
    )
    saving.watch(own)
    saving.watch(own)  # twice is once

    def make(path: Path) -> Any:
        made = own.EvaluationTracker(output_path=str(path))
        made.general_config_tracker.log_experiment_args("m", "model=m", None, None, False)
        return made

    return make


def save(tracker: Any) -> None:
    samples = {"one": [dict(SAMPLE), dict(SAMPLE)], "two": [dict(SAMPLE)]}
    tracker.save_results_aggregated(results=dict(RESULTS), samples=samples)
    for task in RESULTS["configs"]:
        tracker.save_results_samples(task_name=task, samples=samples[task])


def test_what_can_be_saved_is_saved_as_ever(tracker: Callable[[Path], Any], tmp_path: Path) -> None:
    save(tracker(tmp_path / "out"))
    assert sorted(p.name.split("_2")[0] for p in (tmp_path / "out" / "m").iterdir()) == [
        "results", "samples_one", "samples_two",
    ]  # fmt: skip
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_tracker_without_a_path_saves_nothing_and_is_content(tracker: Callable[[Any], Any], tmp_path: Path) -> None:
    made = tracker(tmp_path)
    made.output_path = None
    save(made)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_results_that_cannot_be_saved_are_kept_elsewhere_and_the_run_fails(
    tracker: Callable[[Path], Any], unwritable: Path, tmp_path: Path
) -> None:
    with pytest.raises(AtlasError, match="kept in") as caught:
        save(tracker(unwritable))
    (kept,) = (tmp_path / "tmp").iterdir()
    assert str(kept) in str(caught.value)
    names = sorted(path.name.split("_2")[0] for path in (kept / "m").iterdir())
    assert names == ["results", "samples_one", "samples_two"]
    (one,) = (kept / "m").glob("samples_one*")
    assert len([json.loads(line) for line in one.read_text().splitlines()]) == 2


def test_without_samples_the_run_fails_at_once(tracker: Callable[[Path], Any], unwritable: Path) -> None:
    with pytest.raises(AtlasError, match="kept in"):
        tracker(unwritable).save_results_aggregated(results=dict(RESULTS), samples=None)


def test_samples_that_are_cut_short_are_kept_elsewhere(tracker: Callable[[Path], Any], tmp_path: Path) -> None:
    import resource

    made = tracker(tmp_path / "out")
    big = {"one": [{**SAMPLE, "resps": [["x" * 40_000]]} for _ in range(3)], "two": [dict(SAMPLE)]}
    made.save_results_aggregated(results=dict(RESULTS), samples=big)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, limits[1]))
    try:
        with pytest.raises(AtlasError, match="make room and start again with the same --use_cache"):
            made.save_results_samples(task_name="one", samples=big["one"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_nowhere_to_write_is_one_clear_line(
    tracker: Callable[[Path], Any], unwritable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tracker(unwritable)
    monkeypatch.setattr("refusalatlas.saving.tempfile.mkdtemp", lambda prefix: str(unwritable / prefix))
    with pytest.raises(AtlasError, match="cannot be written, there or in"):
        save(made)


# --- the command line ---

LM_EVAL = (
    "import _refusalatlas_autoload as autoload; autoload.install(); "
    "from lm_eval.__main__ import cli_evaluate; cli_evaluate()"
)


def test_lm_eval_notices_before_the_first_request_that_it_cannot_write(unwritable: Path, tmp_path: Path) -> None:
    paths = [str(ROOT / "benchmark"), str(ROOT / "benchmark" / "autoload"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HF_HUB_OFFLINE": "1"}
    environment |= {"HF_HOME": str(tmp_path / "hf"), "REFUSALATLAS_PANEL": "none"}
    command = [sys.executable, "-c", LM_EVAL, "run", "--model", "refusalatlas-reference", "--tasks", "refusal_minos_en"]
    command += ["--use_cache", str(tmp_path / "cache"), "--output_path", str(unwritable), "--log_samples"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"Error: --output_path {unwritable}: cannot be written")
    assert "Running generate_until" not in done.stderr
