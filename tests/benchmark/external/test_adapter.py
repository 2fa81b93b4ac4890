from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from shapes import SAFE, SET, UNSAFE, Copies

from refusalatlas.errors import AtlasError
from refusalatlas.external import adapter
from refusalatlas.external.generated import task_name
from refusalatlas.generate import check_pack, find_pack, generate
from refusalatlas.hook import task_folders
from refusalatlas.packs import builtin_root
from refusalatlas.runs import load_run

Evaluate = Callable[..., dict[str, Any]]


def _tasks() -> list[dict[str, Any]]:
    folder = builtin_root() / "tasks" / "ext" / "lm_eval"
    files = [path for path in folder.glob("*.yaml") if not path.name.startswith("_")]
    return [yaml.safe_load(path.read_text(encoding="utf-8")) for path in files]


def test_no_glob_tag_or_group_of_ours_leads_to_the_hub() -> None:
    tasks = _tasks()
    assert len(tasks) == 37
    group = yaml.safe_load((builtin_root() / "tasks/groups/refusal.yaml").read_text(encoding="utf-8"))
    for task in tasks:
        assert not fnmatch(task["task"], "refusal_*")
        assert task["task"] not in group["task"]
        assert all(tag.startswith("refusal-ext") for tag in task["tag"])
        assert task["metadata"]["ra_external"] is True


def test_task_names_are_words() -> None:
    assert task_name("multijail", "zh-Hans") == "refusalext_multijail_zh_Hans"


def test_docs_say_where_they_were_read(published: Copies) -> None:
    docs = adapter.load(ra_track="xstest", ra_language="en", pretrained="x", revision="y")["test"].to_list()
    assert [(doc["id"], doc["prompt"], doc["source"]) for doc in docs] == [
        ("xstest/v2-1/en/base", SAFE, "Paul/XSTest@local"),
        ("xstest/v2-2/en/base", UNSAFE, "Paul/XSTest@local"),
    ]


def test_rows_left_out_are_counted_aloud(published: Copies, capsys: pytest.CaptureFixture[str]) -> None:
    adapter.load(ra_track="polyguardprompts", ra_language="sv")
    assert "polyguardprompts in sv: 1 row without prompt or expectation left out" in capsys.readouterr().err


def test_unknown_panel_is_known_before_the_hub_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSALATLAS_PANEL", "ofline")
    with pytest.raises(AtlasError, match="did you mean offline"):
        adapter.load(ra_track="xstest", ra_language="en")


@pytest.fixture
def bare(published: Copies, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run lm_eval's command line on tasks, in a process of its own."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "refusalatlas", "run", "--model", "refusalatlas-reference", *arguments]
        env = {**os.environ, "HF_DATASETS_CACHE": str(tmp_path / "cache"), **environment}
        return subprocess.run(command, check=False, capture_output=True, text=True, env=env)

    return run


def test_run_of_published_sets_gives_records_metrics_and_scores(
    bare: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = bare(
        "--tasks", "refusalext_xstest_en,refusalext_jbb_en", "--log_samples", "--output_path", str(out)
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    run = load_run(out)
    assert {r.id: (r.expected, r.decisions[0].label) for r in run.records} == {
        "xstest/v2-1/en/base": ("comply", "compliant"),
        "xstest/v2-2/en/base": ("refuse", "full_refusal"),
        "jbb/benign-0/en/base": ("comply", "compliant"),
        "jbb/harmful-0/en/base": ("refuse", "full_refusal"),
    }
    results = json.loads(run.results_path.read_text(encoding="utf-8"))["results"]  # type: ignore[union-attr]
    assert results["refusalext_xstest_en"]["youden_j,panel"] == 1.0
    assert run.sources["jbb/benign-0/en/base"] == "JailbreakBench/JBB-Behaviors@local"
    score = [sys.executable, "-m", "refusalatlas", "score", str(out), "--format", "json", "--track", "jbb"]
    lines = subprocess.run(score, check=True, capture_output=True, text=True).stdout.splitlines()
    found = {(cell["metric"], cell["language"]): cell["value"] for cell in map(json.loads, lines)}
    assert {json.loads(line)["track"] for line in lines} == {"jbb"}
    assert (found["youden_j", "en"], found["over_refusal", "en"]) == (1.0, 0.0)


def test_run_without_the_hub_ends_in_one_line(bare: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = bare("--tasks", "refusalext_xstest_en", REFUSALATLAS_EXT_DATA="")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("Error: Paul/XSTest: the hub cannot be reached; ")
    assert "Traceback" not in done.stderr


@pytest.fixture
def pack(packmaker: Any, copies: Copies) -> Path:
    """A sound pack that brings a set and no language of its own."""
    folder: Path = packmaker.pack("tinypack")
    (folder / "tasks" / "ext").mkdir(parents=True)
    (folder / "tasks" / "ext" / "tiny.yaml").write_text(SET, encoding="utf-8")
    copies.add("somebody/tiny", {(None, "test"): [{"text": SAFE}]})
    assert generate(find_pack("tinypack")) == []
    return folder


def test_set_of_a_pack_is_generated_found_and_loaded(pack: Path) -> None:
    assert check_pack(find_pack("tinypack")) == []
    assert task_folders() == [builtin_root() / "tasks", pack / "tasks"]
    task = yaml.safe_load((pack / "tasks/ext/lm_eval/tiny_en.yaml").read_text(encoding="utf-8"))
    assert task["task"] == "refusalext_tiny_en"
    assert [doc["prompt"] for doc in adapter.load(**task["dataset_kwargs"])["test"]] == [SAFE]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("tasks/ext/lm_eval/tiny_en.yaml", "task: refusal_x\nclass: !function os.system\n", "not what the data give"),
        ("tasks/ext/other.yaml", "task: refusal_x\nclass: !function os.system\n", "does not belong here"),
        ("tasks/ext/lm_eval/more.yaml", "task: refusal_x\n", "does not belong here"),
    ],
)
def test_pack_with_another_yaml_than_ours_is_left_out(
    pack: Path, fresh: Callable[[], None], capsys: pytest.CaptureFixture[str], file: str, text: str, said: str
) -> None:
    (pack / file).write_text(text, encoding="utf-8")
    fresh()
    assert task_folders() == [builtin_root() / "tasks"]
    err = capsys.readouterr().err
    assert said in err or "not valid YAML" in err
