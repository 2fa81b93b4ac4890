from __future__ import annotations

import json
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from refusalatlas.cli import cli
from refusalatlas.errors import AtlasError
from refusalatlas.guards import adapter
from refusalatlas.guards.generated import has_guard_tasks
from refusalatlas.guards.runs import load_guard_records
from refusalatlas.packs import builtin_root
from refusalatlas.runs import load_run
from refusalatlas.tracks import get_track, load_items

FILES = builtin_root() / "tasks" / "guards" / "lm_eval"


def test_tasks_of_guards_are_outside_the_glob_and_the_tags_of_ours() -> None:
    files = [path for path in FILES.glob("*.yaml") if not path.name.startswith("_")]
    assert len(files) >= 64
    for path in files:
        task = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert not fnmatch(task["task"], "refusal_*")
        assert all(tag.startswith("refusal-guard") for tag in task["tag"])
        assert "ra_track" not in task["dataset_kwargs"]


def test_tracks_of_harmful_and_benign_prompts_have_them() -> None:
    assert [name for name in ("africa", "apac", "minos", "pairs", "phantom") if has_guard_tasks(get_track(name))] == [
        "africa",
        "pairs",
    ]


def test_docs_are_the_harmful_and_the_benign_prompts() -> None:
    docs = adapter.load(ra_guard_track="pairs", ra_language="sw", pretrained="x")["test"].to_list()
    assert [(doc["id"], doc["prompt"]) for doc in docs] == [(i.id, i.prompt) for i in load_items("pairs", "sw")]
    assert {doc["role"] for doc in docs} == {"harmful", "benign"}


@pytest.fixture
def doc() -> dict[str, Any]:
    (item,) = [item for item in load_items("pairs", "en") if item.seed_id == "fraud-parcel-harmful"]
    return adapter.doc_of(item)


@pytest.mark.parametrize("results", [["unsafe\nS2"], [["unsafe\nS2"]], ["unsafe\nS2", "safe"]])
def test_answer_becomes_a_record_and_values(
    doc: dict[str, Any], monkeypatch: pytest.MonkeyPatch, results: list[Any]
) -> None:
    monkeypatch.setenv("REFUSALATLAS_GUARD", "llama-guard")
    found = adapter.process_results(doc, results)
    assert (found["guard_recall"], found["guard_false_positive_rate"], found["guard_undecided_rate"]) == (
        1.0,
        None,
        0.0,
    )
    assert found["guard_category_accuracy"] == 1.0
    assert found["guard"]["id"] == "pairs/fraud-parcel-harmful/en/base"
    assert found["guard"]["preset"].startswith("llama-guard@")
    assert "prompt" not in found["guard"]


def test_answer_that_says_neither_is_undecided(doc: dict[str, Any]) -> None:
    found = adapter.process_results(doc, ["I'm sorry, but I can't help with that."])
    assert (found["guard_recall"], found["guard_undecided_rate"]) == (None, 1.0)


def test_unknown_preset_is_known_before_the_guard_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSALATLAS_GUARD", "lama-guard")
    with pytest.raises(AtlasError, match="did you mean llama-guard"):
        adapter.load(ra_guard_track="pairs", ra_language="sw")


@pytest.fixture(scope="module")
def guarded(evaluate: Callable[..., dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a guard that calls prompts harmful where they have an even number of letters, in two languages."""
    from lm_eval.api.model import LM

    class Guard(LM):  # type: ignore[misc]
        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            return ["unsafe\nS2" if len(request.args[0]) % 2 == 0 else "safe" for request in requests]

        def loglikelihood(self, requests: Any) -> Any:
            raise AssertionError("a guard is asked to write its verdict, never for likelihoods")

        loglikelihood_rolling = loglikelihood

    folder = tmp_path_factory.mktemp("guard")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFUSALATLAS_GUARD", "llama-guard")
        results = evaluate(Guard(), ["refusalguard_pairs_en", "refusalguard_africa_sw_KE"], folder)
    assert results["results"]["refusalguard_pairs_en"]["guard_recall,none"] == _recall("pairs", "en")
    return folder


def _recall(track: str, language: str) -> float:
    harmful = [i for i in load_items(track, language) if i.role == "harmful"]
    return sum(len(i.prompt) % 2 == 0 for i in harmful) / len(harmful)


def test_run_comes_back_as_records_of_every_prompt(guarded: Path) -> None:
    records = load_guard_records(guarded)
    assert {(r.track, r.language, r.locale) for r in records} == {("pairs", "en", None), ("africa", "sw", "sw-KE")}
    prompts = {i.id: i.prompt for i in (*load_items("pairs", "en"), *load_items("africa", "sw"))}
    assert {r.id: r.flagged for r in records} == {r.id: len(prompts[r.id]) % 2 == 0 for r in records}
    assert len(records) == len(prompts)


def test_command_scores_it_in_all_forms(guarded: Path) -> None:
    done = CliRunner().invoke(cli, ["guards", str(guarded), "--format", "json"])
    rows = [json.loads(line) for line in done.output.splitlines()]
    (recall,) = [r["value"] for r in rows if (r["track"], r["language"], r["metric"]) == ("pairs", "en", "recall")]
    assert recall == pytest.approx(_recall("pairs", "en"), abs=1e-6)
    table = CliRunner(env={"COLUMNS": "10000"}).invoke(cli, ["guards", str(guarded), "--categories"]).output
    assert "words read by llama-guard" in table
    assert "sw-KE" in table and "fraud" in table
    csv = CliRunner().invoke(cli, ["guards", str(guarded), "--format", "csv"]).output
    assert csv.startswith("track,language,locale,category,metric,value,low,high,n,method,reason\n")


def test_guards_are_in_no_rate_of_models_that_answer(guarded: Path) -> None:
    with pytest.raises(
        AtlasError, match=r"no task of Refusal Atlas in this run; score guards with `refusalatlas guards`"
    ):
        load_run(guarded)


def test_run_of_something_else_says_how_to_run_guards(run_folder: Path) -> None:
    with pytest.raises(AtlasError, match="no task of guards in this run; run lm_eval with --tasks refusal-guard"):
        load_guard_records(run_folder)
