"""Several answers to one item, the whole way: asked with seeds of their own, all kept, and their flips reported."""

from __future__ import annotations

import json
import types
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from refusalatlas import adapter, hook
from refusalatlas.cli import cli
from refusalatlas.errors import AtlasError
from refusalatlas.records import Decision, DetectedLanguage, Exchange
from refusalatlas.runs import load_run


class ByWord:
    """A panel that reads one word, so that the right flip rate is known."""

    name, sha256 = "by-word", "0" * 64

    def judge(self, exchanges: Sequence[Exchange]) -> list[Decision]:
        english = DetectedLanguage("en", "en", 1.0)
        refused, complied = (Decision(label, "ok", english, 1.0, False) for label in ("full_refusal", "compliant"))
        return [refused if "No" in exchange.response else complied for exchange in exchanges]


@pytest.fixture
def manager(fresh: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> Any:
    """lm_eval's task manager with our hook, for our tasks alone; lm_eval's own class stays as it was."""
    import sys

    import lm_eval.tasks.manager as real

    from refusalatlas.packs import builtin_root

    init, load = real.TaskManager.__init__, real.TaskManager.load
    own = types.ModuleType("own")
    own.TaskManager = type(  # type: ignore[attr-defined]
        "TaskManager",
        (real.TaskManager,),
        {"__init__": getattr(init, "__wrapped__", init), "load": getattr(load, "__wrapped__", load)},
    )
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    hook.patch(own)
    return own.TaskManager(include_path=str(builtin_root() / "tasks"), include_defaults=False)  # type: ignore[attr-defined]


def test_all_answers_are_asked_kept_and_compared(
    server: Any, says: Any, manager: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from lm_eval import simple_evaluate
    from lm_eval.loggers import EvaluationTracker

    monkeypatch.setenv("REFUSALATLAS_REPEATS", "3")
    monkeypatch.setattr(adapter, "current_panel", ByWord)
    server.answer = lambda body, _: says("No." if body["seed"] == 1234 else f"Yes, {body['seed']}.")
    tracker = EvaluationTracker(output_path=str(tmp_path))
    results = simple_evaluate(
        model="refusalatlas-chat",
        model_args=f"model=m,base_url={server.url}",
        tasks=["refusal_minos_en"],
        gen_kwargs="do_sample=true,temperature=0.7",
        apply_chat_template=True,
        task_manager=manager,
        log_samples=True,
        bootstrap_iters=0,
        evaluation_tracker=tracker,
    )
    assert results is not None
    assert Counter(body["seed"] for body in server.bodies) == {1234: 10, 1235: 10, 1236: 10}
    assert {body["temperature"] for body in server.bodies} == {0.7}
    assert results["configs"]["refusal_minos_en"]["repeats"] == 3
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    tracker.save_results_samples(task_name="refusal_minos_en", samples=samples["refusal_minos_en"])

    run = load_run(tmp_path)
    assert [[d.label for d in record.decisions] for record in run.records] == [
        ["full_refusal", "compliant", "compliant"]
    ] * 10
    assert all(len({p.response_sha256 for p in record.provenance}) == 3 for record in run.records)
    done = CliRunner().invoke(cli, ["score", str(tmp_path), "--gaps", "--format", "json"])
    assert done.exit_code == 0, done.output
    (flip,) = [row for row in map(json.loads, done.stdout.splitlines()) if row["kind"] == "flip"]
    assert (flip["against"], flip["value"], flip["pairs"]) == ("repeat", pytest.approx(2 / 3), 10)


def test_tasks_of_other_people_are_left_alone(manager: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSALATLAS_REPEATS", "3")
    import datasets

    theirs = {
        "task": "theirs", "output_type": "generate_until", "test_split": "test",
        "doc_to_text": "q", "doc_to_target": "q",
        "custom_dataset": lambda **_: {"test": datasets.Dataset.from_list([{"q": "a"}])},
    }  # fmt: skip
    loaded = manager.load([theirs])["tasks"]
    assert [task.config.repeats for task in loaded.values()] == [1]


@pytest.mark.parametrize("given", ["0", "-1", "many", "1001", "٣"])
def test_what_is_no_number_of_repeats_is_one_clear_line(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSALATLAS_REPEATS", given)
    with pytest.raises(AtlasError, match="REFUSALATLAS_REPEATS"):
        hook.repeats()


def test_without_the_variable_lm_eval_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFUSALATLAS_REPEATS", raising=False)
    assert hook.repeats() is None
