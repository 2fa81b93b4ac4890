"""What `submit` writes, and what it refuses."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import synthetic
from refusalatlas.leaderboard.schema import RecordLine, RunFile
from refusalatlas.leaderboard.storage import read_submission
from refusalatlas.leaderboard.submission import submit_run

from refusalatlas.errors import AtlasError
from refusalatlas.tracks import load_items


def refused(run: Path, tmp_path: Path, **options: Any) -> str:
    """Submit, expect one line of refusal, and see that nothing was left behind."""
    output = tmp_path / "submissions"
    with pytest.raises(AtlasError) as caught:
        submit_run(run, output, **options)
    assert not output.exists() or not list(output.iterdir())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_folder_is_named_after_model_and_content(submission: Path) -> None:
    assert submission.parent.name == "example__model-1"
    assert submission.name.startswith("2026-11-20-")
    assert sorted(path.name for path in submission.iterdir()) == ["records.jsonl.gz", "run.json"]


def test_same_run_gives_the_same_bytes(run: Path, submission: Path, tmp_path: Path) -> None:
    again = submit_run(run, tmp_path / "again", submitter="Somebody")
    assert again.name == submission.name
    for path in submission.iterdir():
        assert (again / path.name).read_bytes() == path.read_bytes()


def test_files_match_their_schema(submission: Path) -> None:
    RunFile.model_validate_json((submission / "run.json").read_bytes())
    for line in gzip.decompress((submission / "records.jsonl.gz").read_bytes()).splitlines():
        RecordLine.model_validate_json(line)


def test_every_item_is_there_once(submission: Path) -> None:
    held = sorted(record.id for record in read_submission(submission).records)
    assert held == sorted(item.id for item in load_items("pairs", "en"))


def test_no_salt_and_no_answer_that_complies_leaves_the_run(submission: Path) -> None:
    text = gzip.decompress((submission / "records.jsonl.gz").read_bytes()).decode()
    assert '"salt"' not in text
    from refusalatlas.tracks import strings

    sentences = strings("en")
    assert not any(
        sentence[:60] in text for group in ("compliance", "partial_refusal") for sentence in sentences[group]
    )
    assert any(sentence in text for sentence in sentences["refusal"])


def test_facts_of_the_run_are_stated(submission: Path) -> None:
    run = read_submission(submission).run
    assert (run.model.name, run.backend, run.submitter) == ("example/model-1", "refusalatlas-chat", "Somebody")
    assert (run.generation.temperature, run.generation.max_tokens, run.generation.samples) == (0.0, 512, 1)
    assert [(s.track, s.language, s.n) for s in run.suites] == [("pairs", "en", len(load_items("pairs", "en")))]
    assert run.ranking.ranked
    assert run.trust.tier == "self-reported"
    assert {"lm_eval", "refusalatlas", "python"} <= run.engines.keys()


def test_limited_run_is_refused(tmp_path: Path) -> None:
    config = {"model": "hf", "model_args": {"model": "a/b"}, "limit": 5.0}
    run = synthetic.write_run(tmp_path / "run", config=config)
    assert "limited to 5" in refused(run, tmp_path)


def test_run_with_fewer_items_than_the_release_is_refused(run: Path, tmp_path: Path) -> None:
    synthetic.rewrite(run, lambda row: None if "/fraud-parcel-harmful/" in row["record"]["id"] else row)
    results = next(run.rglob("results_*.json"))
    facts = json.loads(results.read_text())
    facts["n-samples"] = {}
    results.write_text(json.dumps(facts))
    assert "items, not" in refused(run, tmp_path)


def test_doubled_item_is_refused(run: Path, tmp_path: Path) -> None:
    def double(row: dict[str, Any]) -> dict[str, Any]:
        row["record"]["id"] = "pairs/fraud-parcel-harmful/en/base"
        return row

    synthetic.rewrite(run, double)
    assert "twice" in refused(run, tmp_path)


def test_renamed_item_is_refused(run: Path, tmp_path: Path) -> None:
    def rename(row: dict[str, Any]) -> dict[str, Any]:
        row["record"]["id"] = row["record"]["id"].replace("fraud-parcel", "fraud-packet")
        return row

    synthetic.rewrite(run, rename)
    assert "not those of the release" in refused(run, tmp_path)


def test_mixed_panels_are_refused(run: Path, tmp_path: Path) -> None:
    def other(row: dict[str, Any]) -> dict[str, Any]:
        if "fraud" in row["record"]["id"]:
            row["record"]["panel"] = f"offline@{'6' * 64}"
        return row

    synthetic.rewrite(run, other)
    assert "2 panels" in refused(run, tmp_path)


def test_mixed_versions_are_refused(run: Path, tmp_path: Path) -> None:
    def other(row: dict[str, Any]) -> dict[str, Any]:
        if "fraud" in row["record"]["id"]:
            row["record"]["version"] = "9-9"
        return row

    synthetic.rewrite(run, other)
    assert "mixes versions" in refused(run, tmp_path)


def test_run_without_a_panel_is_refused(run: Path, tmp_path: Path) -> None:
    synthetic.rewrite(run, lambda row: {**row, "record": {**row["record"], "panel": "none@"}})
    assert "not judged" in refused(run, tmp_path)


def test_empty_run_is_refused(run: Path, tmp_path: Path) -> None:
    synthetic.rewrite(run, lambda row: None)
    results = next(run.rglob("results_*.json"))
    facts = json.loads(results.read_text())
    facts["n-samples"] = {}
    results.write_text(json.dumps(facts))
    assert "no answers" in refused(run, tmp_path)


def _with_condition(row: dict[str, Any], condition: str) -> dict[str, Any]:
    nothing = {"label": None, "condition": condition, "contested": False, "votes": [], "reasons": [], "agreement": 0.0}
    return {**row, "record": {**row["record"], "decisions": [{**row["record"]["decisions"][0], **nothing}]}}


def test_run_in_which_all_requests_failed_is_refused(run: Path, tmp_path: Path) -> None:
    synthetic.rewrite(run, lambda row: _with_condition(row, "empty" if "fraud" in row["record"]["id"] else "error"))
    said = refused(run, tmp_path)
    assert "all requests failed" in said
    assert "error" in said
    assert "empty" in said


def test_run_with_one_answer_among_failures_is_not(run: Path, tmp_path: Path) -> None:
    first = next(iter(load_items("pairs", "en"))).id
    synthetic.rewrite(run, lambda row: row if row["record"]["id"] == first else _with_condition(row, "error"))
    submit_run(run, tmp_path / "submissions")


def test_run_that_the_provider_blocked_throughout_is_a_result(run: Path, tmp_path: Path) -> None:
    synthetic.rewrite(run, lambda row: _with_condition(row, "blocked"))
    submit_run(run, tmp_path / "submissions")


def test_answer_changed_after_judging_is_refused(run: Path, tmp_path: Path) -> None:
    synthetic.rewrite(run, lambda row: {**row, "resps": [["Something else."]]})
    assert "not the one that was judged" in refused(run, tmp_path)


def test_run_without_a_model_name_asks_for_one(tmp_path: Path) -> None:
    run = synthetic.write_run(tmp_path / "run", model="")
    assert "--model-name" in refused(run, tmp_path)


def test_second_submission_of_a_run_is_refused(run: Path, submission: Path, tmp_path: Path) -> None:
    before = (submission / "run.json").read_bytes()
    with pytest.raises(AtlasError, match="submitted already"):
        submit_run(run, tmp_path / "submissions")
    assert (submission / "run.json").read_bytes() == before
    assert [path.name for path in (tmp_path / "submissions").iterdir()] == ["example__model-1"]


def test_output_that_is_a_file_is_one_line(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AtlasError, match="cannot be written"):
        submit_run(run, tmp_path / "file")


def test_secrets_in_the_arguments_do_not_leave_the_run(tmp_path: Path) -> None:
    arguments = {
        "base_url": "https://me:hunter2@host.example/v1?api_key=abc123",
        "api_key": "plain-secret",
        "header": {"Authorization": "Bearer abcdefghijkl"},
        "tokenizer": "/home/alice/models/x",
    }
    run = synthetic.write_run(tmp_path / "run", model_args=arguments)
    text = (submit_run(run, tmp_path / "submissions") / "run.json").read_text()
    for secret in ("hunter2", "abc123", "plain-secret", "abcdefghijkl", "alice"):
        assert secret not in text


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"temperature": 0.7, "do_sample": True}, "temperature"),
        ({"temperature": 1.0, "do_sample": False}, "temperature"),
        ({"max_gen_toks": 80}, "512"),
    ],
)
def test_other_settings_are_kept_but_not_ranked(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    config = {"model": "refusalatlas-chat", "model_args": {"model": "a/b"}, "limit": None, "gen_kwargs": changes}
    run = synthetic.write_run(tmp_path / "run", config=config)
    ranking = read_submission(submit_run(run, tmp_path / "submissions")).run.ranking
    assert not ranking.ranked
    assert reason in str(ranking.reason)


def test_a_command_is_shown_without_secrets_and_not_ranked_as_it_decides_on_temperature(tmp_path: Path) -> None:
    arguments = {"command": ["/home/alice/bin/tool", "--api-key", "s3cr3t", "{prompt}"]}
    run = synthetic.write_run(tmp_path / "run", backend="refusalatlas-command", model_args=arguments)
    folder = submit_run(run, tmp_path / "submissions")
    written = (folder / "run.json").read_text()
    assert "s3cr3t" not in written
    assert "alice" not in written
    made = read_submission(folder).run
    assert "bin/tool" in str(made.model_args["command"])
    assert (made.generation.temperature, made.generation.do_sample, made.generation.max_tokens) == (None, None, None)
    assert (made.prompting.system_prompt, made.prompting.chat_template) == ("You are a helpful assistant.", True)
    assert made.ranking.reason == "the temperature is not known"


def test_a_local_path_names_the_model_by_its_last_part(tmp_path: Path) -> None:
    run = synthetic.write_run(tmp_path / "run", model="/home/alice/models/My-Model")
    assert submit_run(run, tmp_path / "submissions").parent.name == "my-model"
