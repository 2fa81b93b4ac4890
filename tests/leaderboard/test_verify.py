"""What `verify` finds, one fault a test."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from click.testing import CliRunner
from refusalatlas.judges.gate import PANELS
from refusalatlas.leaderboard import released
from refusalatlas.leaderboard.cli import verify
from refusalatlas.leaderboard.schema import PanelId
from refusalatlas.leaderboard.storage import MAX_LINE
from refusalatlas.leaderboard.submission import submit_run
from refusalatlas.leaderboard.verify import verify_paths

Rows = list[dict[str, Any]]


def found(*paths: Path) -> str:
    """Return all findings as one text."""
    return "\n".join(map(str, verify_paths(paths).findings))


def first_with(rows: Rows, label: str | None) -> dict[str, Any]:
    return next(row for row in rows if row["decisions"][0]["label"] == label)


def test_fresh_submission_has_no_findings(submission: Path) -> None:
    report = verify_paths([submission.parent.parent])
    assert report.findings == ()
    assert (report.runs, report.records) == (1, 80)


@pytest.mark.parametrize("up", [0, 1, 2])
def test_run_model_and_submissions_folders_are_all_understood(submission: Path, up: int) -> None:
    path = [submission, *submission.parents][up]
    assert verify_paths([path]).runs == 1


def test_empty_submissions_folder_is_clean(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Submissions go here.")
    assert verify_paths([tmp_path]).findings == ()


def test_command_leaves_with_three_where_there_are_findings(submission: Path) -> None:
    (submission / "answers.txt").write_text("x")
    result = CliRunner().invoke(verify, [str(submission)])
    assert result.exit_code == 3
    assert "answers.txt: does not belong here" in result.output


def test_command_leaves_with_nought_where_there_are_none(submission: Path) -> None:
    result = CliRunner().invoke(verify, [str(submission), "--format", "json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["findings"] == []


@pytest.mark.parametrize("holds", [(), ("README.md",)])
def test_folder_without_submissions_is_one_clear_line(tmp_path: Path, holds: tuple[str, ...]) -> None:
    for name in holds:
        (tmp_path / name).write_text("Submissions go here.")
    done = subprocess.run(
        [sys.executable, "-m", "refusalatlas", "verify", str(tmp_path)], capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line == f"Error: {tmp_path}: no submission in it; name a folder that `refusalatlas submit` made"


def test_one_run_is_no_plural(submission: Path) -> None:
    result = CliRunner().invoke(verify, [str(submission)])
    assert result.stderr == "1 run, 80 records, 0 findings\n"


def test_progress_names_each_run_and_check(submission: Path) -> None:
    lines: list[str] = []
    verify_paths([submission], lines.append)
    place = f"1 of 1: {submission.parent.name}/{submission.name}"
    assert lines == [f"{place}: {check}" for check in ("reading", "items and scores", "votes and openings")]


def test_progress_is_written_over_and_taken_away_on_a_terminal(submission: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "refusalatlas", "verify", str(submission), "--format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, encoding="utf-8")
    os.close(theirs)
    told = os.read(ours, 2**16).decode()
    os.close(ours)
    assert done.returncode == 0
    assert json.loads(done.stdout)["findings"] == []
    assert f"\r\033[K1 of 1: {submission.parent.name}/{submission.name}: reading"[:60] in told
    assert told.endswith("\r\033[K")


@pytest.mark.parametrize("name", ["refusalatlas-reference/ideal", "RefusalAtlas-Reference/ideal"])
def test_name_of_a_policy_that_something_else_bears_is_found(tmp_path: Path, name: str) -> None:
    run = synthetic.write_run(tmp_path / "run")
    found_in = submit_run(run, tmp_path / "submissions", model_name=name)
    assert "bears the name of a reference policy, but backend refusalatlas-chat answered" in found(found_in)


def test_policy_that_passes_for_a_model_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    change_records(lambda rows: rows[5]["provenance"][0].update(served_model="refusalatlas-reference/ideal"))
    assert "says that backend refusalatlas-chat answered, but a reference policy did" in found(submission)


def test_policy_under_another_name_is_no_finding(tmp_path: Path) -> None:
    """The site calls it what it is."""
    run = synthetic.write_run(
        tmp_path / "run", model="", backend="refusalatlas-reference", model_args={"policy": "ideal"}
    )
    assert found(submit_run(run, tmp_path / "submissions", model_name="acme/acme-70b")) == ""


def test_all_findings_are_collected(submission: Path, change_run: Callable[..., Path]) -> None:
    change_run(lambda facts: facts.update(records=3, run_id="2026-11-20-0000000000"))
    (submission / "more").mkdir()
    text = found(submission)
    assert "more: does not belong here" in text
    assert "says 3 records" in text
    assert "run_id" in text


def test_link_instead_of_a_file_is_found(submission: Path, tmp_path: Path) -> None:
    shutil.move(submission / "run.json", tmp_path / "elsewhere.json")
    (submission / "run.json").symlink_to(tmp_path / "elsewhere.json")
    assert "not a regular file" in found(submission)


def test_link_instead_of_a_folder_is_not_followed(submission: Path, tmp_path: Path) -> None:
    (submission.parent.parent / "outside").symlink_to(tmp_path)
    assert "outside: does not belong here" in found(submission.parent.parent)


def test_pipe_instead_of_a_file_does_not_hang(submission: Path) -> None:
    (submission / "records.jsonl.gz").unlink()
    os.mkfifo(submission / "records.jsonl.gz")
    assert "not a regular file" in found(submission)


def test_missing_records_are_found(submission: Path) -> None:
    (submission / "records.jsonl.gz").unlink()
    assert "records.jsonl.gz: is missing" in found(submission)


def test_folder_of_another_model_is_found(submission: Path) -> None:
    moved = submission.parent.with_name("other__model")
    submission.parent.rename(moved)
    assert "belongs in folder 'example__model-1'" in found(moved)


def test_folder_name_with_odd_characters_is_found(submission: Path) -> None:
    moved = submission.parent.with_name("Example Model")
    submission.parent.rename(moved)
    assert "no model's folder name" in found(moved)


def test_unknown_field_is_found(submission: Path, change_run: Callable[..., Path]) -> None:
    change_run(lambda facts: facts.update(rank=1))
    assert "rank: Extra inputs are not permitted" in found(submission)


def test_raised_tier_without_grounds_is_found(submission: Path, change_run: Callable[..., Path]) -> None:
    change_run(lambda facts: facts.update(trust={"tier": "reproduced"}))
    assert "needs `by` and `grounds`" in found(submission)


def test_ranking_that_does_not_follow_is_found(submission: Path, change_run: Callable[..., Path]) -> None:
    change_run(lambda facts: facts["generation"].update(max_tokens=80))
    assert "ranking.ranked should be false" in found(submission)


def test_date_that_is_yet_to_come_is_found(submission: Path, change_run: Callable[..., Path]) -> None:
    """It would stay the newest run of its model for good."""
    change_run(lambda facts: facts.update(date="2099-01-01"))
    assert "date 2099-01-01 is yet to come" in found(submission)


def test_sampling_is_not_ranked_whatever_is_said_beside_it(submission: Path, change_run: Callable[..., Path]) -> None:
    change_run(lambda facts: facts["generation"].update(temperature=1.0, do_sample=False))
    assert "ranking.ranked should be false" in found(submission)


def test_secret_is_found(submission: Path, change_run: Callable[..., Path]) -> None:
    change_run(lambda facts: facts.update(command="lm_eval --model_args api_key=abcdef"))
    assert "secret" in found(submission)


def test_better_score_than_the_records_give_is_found(submission: Path, change_run: Callable[..., Path]) -> None:
    def flatter(facts: dict[str, Any]) -> None:
        next(s for s in facts["scores"] if s["metric"] == "over_refusal")["value"] = 0.0

    change_run(flatter)
    assert "scores do not follow from the records" in found(submission)


def test_dropped_score_is_found(submission: Path, change_run: Callable[..., Path]) -> None:
    change_run(lambda facts: facts["scores"].pop())
    assert "scores do not follow" in found(submission)


def test_metrics_that_came_after_a_submission_may_be_absent_but_not_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = submit_run(synthetic.write_run(tmp_path / "run"), tmp_path / "submissions", submitter="Somebody")
    assert "scores" not in found(submission)
    path = submission / "run.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    kept = [row for row in facts["scores"] if row["metric"] != "usable_rate"]
    path.write_text(json.dumps({**facts, "scores": kept}), encoding="utf-8")
    assert "scores do not follow" in found(submission)
    monkeypatch.setattr("refusalatlas.leaderboard.checks.LATER", frozenset({"usable_rate"}))
    assert "scores do not follow" not in found(submission)
    wrong = [{**row, "value": 0.123} if row["metric"] == "usable_rate" else row for row in facts["scores"]]
    path.write_text(json.dumps({**facts, "scores": wrong}), encoding="utf-8")
    assert "scores do not follow" in found(submission)


def test_foreign_digest_is_found(submission: Path, change_run: Callable[..., Path]) -> None:
    change_run(lambda facts: facts["suites"][0].update(texts="0" * 64))
    assert "not those of the release" in found(submission)


def test_changed_record_is_found_by_the_hash(submission: Path, change_records: Callable[..., Path]) -> None:
    change_records(lambda rows: rows[0]["provenance"][0].update(length=1))
    assert "records_sha256" in found(submission)


def test_missing_item_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    change_records(lambda rows: rows.pop())
    assert "has 80 items, not 79" in found(submission)


def test_doubled_item_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    change_records(lambda rows: rows.append(rows[0]))
    assert "stands there twice" in found(submission)


def test_item_id_that_its_fields_do_not_give_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    change_records(lambda rows: rows[0].update(language="fr"))
    assert "by its fields" in found(submission)


def test_turned_expectation_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    change_records(lambda rows: rows[0].update(expected="either"))
    assert "another expected than the track" in found(submission)


def test_other_panel_in_a_record_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    change_records(lambda rows: rows[0].update(panel=f"offline@{'7' * 64}"))
    assert "another panel" in found(submission)


def test_unknown_panel_is_found(
    submission: Path, change_records: Callable[..., Path], change_run: Callable[..., Path]
) -> None:
    change_records(lambda rows: [row.update(panel=f"homemade@{'5' * 64}") for row in rows])
    change_run(lambda facts: facts["panel"].update(name="homemade"))
    assert "panel homemade" in found(submission)


def test_label_against_the_votes_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    def turn(rows: Rows) -> None:
        row = first_with(rows, "compliant")
        row["decisions"][0]["label"] = "capability_limitation"

    change_records(turn)
    assert "but its votes make it compliant" in found(submission)


def test_contest_that_was_hidden_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    def hide(rows: Rows) -> None:
        first_with(rows, None)["decisions"][0].update(label="compliant", contested=False)

    change_records(hide)
    assert "but its votes make it contested" in found(submission)


LLM = {"judge": "llm", "version": "1", "label": "compliant", "confidence": 0.9}


def test_contest_that_a_judge_of_the_panel_decided_is_fine(
    submission: Path,
    change_records: Callable[..., Path],
    change_run: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(released, "FOLDER", tmp_path / "panels")
    here = PanelId(name="offline-llm", sha256="5" * 64)
    released.gate_folder(here).mkdir(parents=True)
    shutil.copy(PANELS / "offline-llm.yaml", released.gate_folder(here))
    one = {"name": here.name, "sha256": here.sha256, "date": "2026-11-20", "version": "0.1.0"}
    (tmp_path / "panels" / "released.json").write_text(json.dumps([one]), encoding="utf-8")

    def escalate(rows: Rows) -> None:
        for row in rows:
            row.update(panel=f"offline-llm@{'5' * 64}")
        decision = first_with(rows, None)["decisions"][0]
        votes = [*decision["votes"], LLM]
        decision.update(label="compliant", contested=False, votes=votes, escalated_by="llm", agreement=0.6667)

    change_records(escalate)
    change_run(lambda facts: facts["panel"].update(name="offline-llm", sha256="5" * 64))
    assert "votes" not in found(submission)
    assert "panel" not in found(submission)


@pytest.mark.parametrize("votes", [[], [LLM]], ids=["without a vote", "with one"])
def test_contest_that_a_stranger_to_the_panel_decided_is_found(
    submission: Path, change_records: Callable[..., Path], votes: list[dict[str, object]]
) -> None:
    def escalate(rows: Rows) -> None:
        decision = first_with(rows, None)["decisions"][0]
        decision.update(label="compliant", contested=False, votes=[*decision["votes"], *votes], escalated_by="llm")

    change_records(escalate)
    assert "but its votes make it contested" in found(submission)
    assert "says that llm decided after a contest, but by its votes nobody did" in found(submission)


def test_agreement_that_was_called_a_contest_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    change_records(lambda rows: first_with(rows, "compliant")["decisions"][0].update(escalated_by="rules"))
    assert "says that rules decided after a contest, but by its votes nobody did" in found(submission)


def test_label_where_there_is_no_answer_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    change_records(lambda rows: first_with(rows, "compliant")["decisions"][0].update(condition="blocked"))
    assert "although it is contested or blocked" in found(submission)


def test_answer_of_a_compliance_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    change_records(lambda rows: first_with(rows, "compliant").update(openings=["Sure, here is how."]))
    assert "openings are for full refusals" in found(submission)


def test_refusal_without_its_opening_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    change_records(lambda rows: first_with(rows, "full_refusal").update(openings=[None]))
    assert "openings are for full refusals" in found(submission)


def test_evidence_from_elsewhere_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    def add(rows: Rows) -> None:
        first_with(rows, "compliant")["decisions"][0]["reasons"] = [{"reason": "law", "evidence": "first you take"}]

    change_records(add)
    assert "evidence from outside the opening" in found(submission)


def test_opening_that_is_too_long_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    change_records(lambda rows: first_with(rows, "full_refusal").update(openings=["x" * 161]))
    assert "at most 160 characters" in found(submission)


def test_refusal_whose_opening_complies_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    from refusalatlas.tracks import strings

    said = strings("en")["compliance"][0][:160]

    def lie(rows: Rows) -> None:
        row = first_with(rows, "full_refusal")
        row["openings"] = [said]
        row["decisions"][0]["reasons"] = []

    change_records(lie)
    assert "its opening reads as compliance" in found(submission)


def test_salt_in_a_record_is_found(submission: Path, change_records: Callable[..., Path]) -> None:
    change_records(lambda rows: rows[0]["provenance"][0].update(salt="0" * 32))
    assert "salt: Extra inputs are not permitted" in found(submission)


def test_gzip_bomb_is_not_unpacked(submission: Path) -> None:
    with gzip.open(submission / "records.jsonl.gz", "wb") as handle:
        for _ in range(64):
            handle.write(b"0" * 2**20)
    assert f"longer than {MAX_LINE:,} bytes" in found(submission)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"not gzip at all", "not gzip"),
        (gzip.compress(b'{"id": 1}\n', mtime=0)[:-6], "cut off"),
        (gzip.compress(b'{"id": 1}\n', mtime=0) + b"more", "behind the end"),
        (gzip.compress(b'{"id": 1}', mtime=0), "does not end"),
        (gzip.compress(b"", mtime=0), "holds no records"),
        (gzip.compress(b"[" * 100_000 + b"\n", mtime=0), "records.jsonl.gz:1"),
        (gzip.compress(b"\xff\xfe\n", mtime=0), "records.jsonl.gz:1"),
    ],
)
def test_broken_records_are_one_line(submission: Path, data: bytes, what: str) -> None:
    (submission / "records.jsonl.gz").write_bytes(data)
    assert what in found(submission)


def test_many_findings_in_one_file_are_counted(submission: Path) -> None:
    (submission / "records.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 500, mtime=0))
    report = verify_paths([submission])
    assert len(report.findings) < 60
    assert "450 more findings" in found(submission)


def test_same_records_under_two_names_are_found(run: Path, submission: Path) -> None:
    submit_run(run, submission.parent.parent, model_name="other/name")
    assert "holds the same records as" in found(submission.parent.parent)


def test_synthetic_submissions_in_two_languages_are_clean(two_languages: Path) -> None:
    report = verify_paths([two_languages])
    assert report.findings == ()
    assert report.runs == len(synthetic.MODELS) + len(synthetic.POLICIES)
