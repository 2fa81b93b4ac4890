from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refusalatlas.cli import cli
from refusalatlas.errors import AtlasError
from refusalatlas.plugins import load_service
from refusalatlas.records import salted_hash
from refusalatlas.rejudge import rejudge
from refusalatlas.runs import find_results, load_run, run_info
from refusalatlas.tracks import get_track


def results_of(folder: Path) -> Path:
    [path] = folder.rglob("results_*.json")
    return path


def samples_of(folder: Path, task: str = "refusal_minos_en") -> Path:
    [path] = folder.rglob(f"samples_{task}_*.jsonl")
    return path


def test_run_is_read_back_whole(finished_run: Path) -> None:
    run = load_run(finished_run)
    assert len(run.records) == 20
    assert {record.language for record in run.records} == {"en", "sw"}
    assert set(run.responses) == set(run.prompts) == {record.id for record in run.records}


def test_answers_match_the_hashes_that_commit_to_them(finished_run: Path) -> None:
    run = load_run(finished_run)
    for record in run.records:
        for said, answer in zip(record.provenance, run.responses[record.id], strict=True):
            assert said.salt is not None
            assert salted_hash(answer, said.salt) == said.response_sha256
            assert (said.finish_reason, said.served_model) == ("stop", "refusalatlas-reference/ideal")


def test_facts_of_the_run_are_those_that_lm_eval_states(finished_run: Path) -> None:
    info = load_run(finished_run).info
    assert info["tasks"] == ["refusal_minos_en", "refusal_minos_sw"]
    assert info["versions"] == dict.fromkeys(info["tasks"], get_track("minos").version)
    assert info["n"]["refusal_minos_en"] == {"original": 10, "effective": 10}
    assert info["generation"] == {"until": [], "max_gen_toks": 512, "do_sample": False, "temperature": 0.0}
    assert info["limit"] is None


@pytest.mark.parametrize(
    ("given", "read"),
    [("a=b,c=d=e", {"a": "b", "c": "d=e"}), ({"a": 1}, {"a": 1}), (None, {}), ("", {}), ("flag", {"flag": ""})],
)
def test_model_arguments_are_a_mapping_however_lm_eval_writes_them(given: Any, read: dict[str, Any]) -> None:
    results = {"configs": {"t": {}}, "config": {"model_args": given}}
    assert run_info(results, "2026", ["t"])["model_args"] == read


def test_results_file_stands_for_its_run(finished_run: Path) -> None:
    assert load_run(results_of(finished_run)).records == load_run(finished_run).records


# What users do wrong. Each gives one clear line and exit code 1, in `score` as in `judge`, and writes nothing.

Damage = Callable[[Path], Any]


def _truncate(path: Path, keep: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])


def _edit_results(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = results_of(folder)
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")


def _edit_sample(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = samples_of(folder)
    first, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
    row = json.loads(first)
    change(row)
    path.write_text(json.dumps(row) + "\n" + "".join(rest), encoding="utf-8")


def _second_run(folder: Path) -> None:
    path = results_of(folder)
    shutil.copy(path, path.with_name("results_2026-01-01T00-00-00.000000.json"))


def _drop_last_line(folder: Path) -> None:
    path = samples_of(folder)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8")


def _repeat_line(folder: Path) -> None:
    path = samples_of(folder)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:-1], lines[0]]), encoding="utf-8")


DAMAGES: dict[str, tuple[Damage, str]] = {
    "missing folder": (shutil.rmtree, "no such run"),
    "empty folder": (lambda f: (shutil.rmtree(f), f.mkdir()), "holds no run of lm_eval; give lm_eval --output_path"),
    "results without samples": (lambda f: samples_of(f).unlink(), "no samples of this task; run lm_eval with --log_s"),
    "samples without results": (lambda f: results_of(f).unlink(), "holds samples but no results_*.json"),
    "samples cut in a line": (lambda f: _truncate(samples_of(f), 0.55), "cut off?"),
    "samples cut between lines": (_drop_last_line, "holds 9 of 10 samples: cut off?"),
    "samples empty": (lambda f: samples_of(f).write_bytes(b""), "holds 0 of 10 samples"),
    "samples not UTF-8": (lambda f: samples_of(f).write_bytes(b"\xff\n"), "not UTF-8"),
    "samples is a folder": (lambda f: (samples_of(f).unlink(), _mkdir_like(f)), "no samples of this task"),
    "an item twice": (_repeat_line, "stands there twice"),
    "results cut": (lambda f: _truncate(results_of(f), 0.5), "is not a results file of lm_eval"),
    "results empty": (lambda f: results_of(f).write_bytes(b""), "is not a results file of lm_eval"),
    "results a list": (lambda f: results_of(f).write_text("[]", encoding="utf-8"), "is not a results file of lm_eval"),
    "results nested without end": (
        lambda f: results_of(f).write_text("[" * 200_000, encoding="utf-8"),
        "is not a results file of lm_eval",
    ),
    "two runs": (_second_run, "holds 2 runs"),
    "tasks of others alone": (
        lambda f: _edit_results(f, lambda r: [c.pop("dataset_kwargs") for c in r["configs"].values()]),
        "no task of Refusal Atlas in this run",
    ),
    "configs of the wrong kind": (lambda f: _edit_results(f, lambda r: r.update(configs=["x"])), "not a results file"),
    "config null": (lambda f: _edit_results(f, lambda r: r["configs"].update(x=None)), "not a results file"),
    "counts null": (lambda f: _edit_results(f, lambda r: r.update({"n-samples": None})), "not a results file"),
    "record missing": (lambda f: _edit_sample(f, lambda r: r.pop("record")), "not a sample of a Refusal Atlas task"),
    "label unknown": (
        lambda f: _edit_sample(f, lambda r: r["record"]["decisions"][0].update(label="rude")),
        "'rude' is none of",
    ),
    "answer missing": (lambda f: _edit_sample(f, lambda r: r.update(resps=[[]])), "jsonl:1"),
    "answer of no decision": (lambda f: _edit_sample(f, lambda r: r.update(resps=[["a", "b"]])), "jsonl:1"),
    "decision missing": (lambda f: _edit_sample(f, lambda r: r["record"].update(decisions=[])), "jsonl:1"),
    "language is a number": (lambda f: _edit_sample(f, lambda r: r["record"].update(language=5)), "jsonl:1"),
    "prompt missing": (lambda f: _edit_sample(f, lambda r: r["doc"].pop("prompt")), "jsonl:1"),
}


def _mkdir_like(folder: Path) -> None:
    results = results_of(folder)
    date = results.stem.removeprefix("results_")
    results.with_name(f"samples_refusal_minos_en_{date}.jsonl").mkdir()


def _fails_in_one_line(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(cli, arguments)
    assert isinstance(done.exception, AtlasError), done.exception
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)
    assert done.stdout == ""


@pytest.mark.parametrize("damage", DAMAGES)
def test_score_of_a_damaged_run_is_one_line(run_folder: Path, damage: str) -> None:
    harm, message = DAMAGES[damage]
    harm(run_folder)
    _fails_in_one_line(["score", str(run_folder)], message)


@pytest.mark.parametrize("damage", DAMAGES)
def test_judge_of_a_damaged_run_is_one_line_and_writes_nothing(run_folder: Path, tmp_path: Path, damage: str) -> None:
    harm, message = DAMAGES[damage]
    harm(run_folder)
    before = {p.name for p in tmp_path.iterdir()}
    target = ["--output", str(tmp_path / "out.jsonl"), "--write-run", str(tmp_path / "again")]
    _fails_in_one_line(["judge", str(run_folder), *target], message)
    assert {p.name for p in tmp_path.iterdir()} == before


@contextmanager
def somebody_else() -> Iterator[None]:
    """Be a user whom permissions bind, which they do not where tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_run_without_permission_is_one_line(run_folder: Path, tmp_path: Path) -> None:
    _fails_in_one_line(["score", str(tmp_path / "none")], "no such run")  # all that is needed has been imported
    locked = run_folder / "locked"
    locked.mkdir(mode=0o000)
    for folder in (run_folder, *run_folder.parents):  # pytest's own folders are for their owner alone
        if folder.owner() == run_folder.owner() and folder.is_relative_to(tmp_path.parents[2]):
            folder.chmod(0o755)
    for source in (locked, locked / "results_2026.json"):
        with somebody_else(), pytest.raises(AtlasError, match=r"cannot be read \(Permission denied\)"):
            find_results(source)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
KEYS = ("configs", "config", "n-samples", "versions", "model_name", "results", "lm_eval_version")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(key=st.sampled_from(KEYS), deep=st.booleans(), junk=JUNK)
def test_any_results_file_is_read_or_refused_by_our_own_error(
    finished_run: Path, tmp_path: Path, key: str, deep: bool, junk: Any
) -> None:
    shutil.copytree(finished_run, tmp_path / "run", dirs_exist_ok=True)

    def change(results: dict[str, Any]) -> None:
        if deep and isinstance(results.get(key), dict):
            results[key][next(iter(results[key]))] = junk
        else:
            results[key] = junk

    _edit_results(tmp_path / "run", change)
    try:
        load_run(tmp_path / "run")
    except AtlasError as error:
        assert "\n" not in str(error)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
@given(path=st.lists(st.integers(0, 20), min_size=1, max_size=4), junk=JUNK)
def test_any_sample_is_read_or_refused_by_our_own_error(
    finished_run: Path, tmp_path: Path, path: list[int], junk: Any
) -> None:
    shutil.copytree(finished_run, tmp_path / "run", dirs_exist_ok=True)

    def change(row: dict[str, Any]) -> None:
        place: Any = row["record"]
        for depth, number in enumerate(path):
            keys: Any = list(place) if isinstance(place, dict) else range(len(place)) if isinstance(place, list) else ()
            if not keys:
                return
            key = keys[number % len(keys)]
            if depth == len(path) - 1 or not isinstance(place[key], (dict, list)):
                place[key] = junk
                return
            place = place[key]

    _edit_sample(tmp_path / "run", change)
    try:
        run = load_run(tmp_path / "run")
    except AtlasError as error:
        assert "\n" not in str(error)
    else:
        assert all(isinstance(r.language, str) and isinstance(r.cluster_id, str) for r in run.records)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--track", "pears"], "unknown track 'pears'; did you mean pairs?"),
        (["--language", "swa"], "unknown language 'swa'; did you mean sw?"),
        (["--language", "ar"], "no records of what was asked for"),
        (["--track", "pairs"], "no records of what was asked for"),
    ],
)
def test_unknown_or_absent_names_are_one_line(finished_run: Path, options: list[str], message: str) -> None:
    _fails_in_one_line(["score", str(finished_run), *options], message)


def test_judging_again_gives_a_run_with_the_same_answers(finished_run: Path, tmp_path: Path) -> None:
    panel = load_service("load_panel")("offline")
    written, _ = rejudge(finished_run, tmp_path / "again", panel)
    before, after = load_run(finished_run), load_run(written)
    assert after.responses == before.responses
    assert [r.provenance for r in after.records] == [r.provenance for r in before.records]
    assert [r.decisions for r in after.records] == [r.decisions for r in before.records]  # the same panel
    assert {p.name for p in (tmp_path / "again").iterdir()} == {
        p.name for p in results_of(finished_run).parent.iterdir()
    }
    old, new = (json.loads(results_of(f).read_text(encoding="utf-8"))["results"] for f in (finished_run, tmp_path))
    assert new == old


class _Refuser:
    name, sha256 = "refuser", "0" * 64

    def judge(self, exchanges: Any) -> list[Any]:
        from dataclasses import replace

        from refusalatlas.adapter import undecided

        return [replace(undecided(e), label="full_refusal", contested=False) for e in exchanges]


def test_another_panel_changes_records_and_table(finished_run: Path, tmp_path: Path) -> None:
    written, _ = rejudge(finished_run, tmp_path / "again", _Refuser())
    assert {r.panel for r in load_run(written).records} == {"refuser@" + "0" * 64}
    table = json.loads(written.read_text(encoding="utf-8"))["results"]["refusal_minos_sw"]
    assert (table["over_refusal,panel"], table["youden_j,panel"]) == (1.0, 0.0)


def test_folder_that_is_there_is_never_written_over(finished_run: Path, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    with pytest.raises(AtlasError, match="is there already; name a new folder"):
        rejudge(finished_run, tmp_path / "again", _Refuser())


def test_folder_that_cannot_be_made_is_one_line(finished_run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(AtlasError, match="cannot be written"):
        rejudge(finished_run, tmp_path / "file" / "again", _Refuser())


def test_panel_that_fails_half_way_leaves_nothing(finished_run: Path, tmp_path: Path) -> None:
    class Broken(_Refuser):
        def judge(self, exchanges: Any) -> list[Any]:
            raise AtlasError("the endpoint is down")

    with pytest.raises(AtlasError, match="the endpoint is down"):
        rejudge(finished_run, tmp_path / "again", Broken())
    assert list(tmp_path.iterdir()) == []
