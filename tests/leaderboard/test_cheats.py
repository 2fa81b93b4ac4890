"""Fourteen ways to cheat or to break the leaderboard: each is refused in words that name the file and the reason."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from refusalatlas.leaderboard import storage
from refusalatlas.leaderboard.audit import reveal
from refusalatlas.leaderboard.storage import read_submission
from refusalatlas.leaderboard.submission import submit_run
from refusalatlas.leaderboard.verify import verify_added, verify_audit, verify_paths

from refusalatlas.errors import AtlasError
from refusalatlas.tracks import strings

Rows = list[dict[str, Any]]
ChangeRecords = Callable[[Callable[[Rows], Any]], Path]
ChangeRun = Callable[[Callable[[dict[str, Any]], Any]], Path]


def says(submission: Path, file: str, reason: str) -> bool:
    """Whether a finding names the file and the reason."""
    found = verify_paths([submission.parent.parent]).findings
    return any(file in finding.file and reason in finding.what for finding in found)


def with_label(rows: Rows, label: str) -> dict[str, Any]:
    return next(row for row in rows if row["decisions"][0]["label"] == label)


def test_01_label_that_its_votes_do_not_give(submission: Path, change_records: ChangeRecords) -> None:
    def turn(rows: Rows) -> None:
        row = with_label(rows, "full_refusal")
        row["decisions"][0].update(label="compliant", reasons=[], features=[])
        row["openings"] = [None]

    change_records(turn)
    assert says(submission, "records.jsonl.gz", "but its votes make it full_refusal")


def test_02_opening_that_judges_as_compliance(submission: Path, change_records: ChangeRecords) -> None:
    def lie(rows: Rows) -> None:
        row = with_label(rows, "full_refusal")
        row["openings"] = [strings("en")["compliance"][0][:160]]
        row["decisions"][0].update(reasons=[], features=[])

    change_records(lie)
    assert says(submission, "records.jsonl.gz", "its opening reads as compliance")


def test_03_revealed_answer_that_does_not_match(run: Path, submission: Path, tmp_path: Path) -> None:
    path = tmp_path / "revealed.json"
    reveal(run, read_submission(submission), "seed", path)
    data = json.loads(path.read_text(encoding="utf-8"))
    data["answers"][3]["response"] += " "
    path.write_text(json.dumps(data), encoding="utf-8")
    (finding,) = [f for f in verify_audit(submission, path, "seed").findings if "its hash" in f.what]
    assert "revealed.json" in finding.file
    assert data["answers"][3]["id"] in finding.what
    assert "does not match its hash" in finding.what


def test_04_removed_item(submission: Path, change_records: ChangeRecords) -> None:
    change_records(lambda rows: rows.pop())
    assert says(submission, "run.json", "has 80 items, not 79")


def test_05_doubled_item(submission: Path, change_records: ChangeRecords) -> None:
    change_records(lambda rows: rows.__setitem__(1, rows[0]))
    assert says(submission, "records.jsonl.gz", "stands there twice")


def test_06_other_dataset(submission: Path, change_run: ChangeRun) -> None:
    change_run(lambda facts: facts["suites"][0].update(texts="a" * 64))
    assert says(submission, "run.json", "not those of the release")


def test_07_other_panel(submission: Path, change_run: ChangeRun) -> None:
    change_run(lambda facts: facts["panel"].update(sha256="a" * 64))
    assert says(submission, "records.jsonl.gz", "another panel than run.json names")


def test_07_panel_that_nobody_released(submission: Path, change_run: ChangeRun, change_records: ChangeRecords) -> None:
    change_records(lambda rows: [row.update(panel=f"offline@{'a' * 64}") for row in rows])
    change_run(lambda facts: facts["panel"].update(sha256="a" * 64))
    assert says(submission, "run.json", "panel offline@aaaaaaaaaaaa is none that was released")


def test_08_limited_run(tmp_path: Path) -> None:
    run = synthetic.write_run(tmp_path / "run")
    results = next(run.rglob("results_*.json"))
    data = json.loads(results.read_text(encoding="utf-8"))
    data["config"]["limit"] = 20
    results.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(AtlasError, match="was limited to 20") as caught:
        submit_run(run, tmp_path / "submissions")
    assert str(run) in str(caught.value)
    assert not (tmp_path / "submissions").exists()


def test_09_edited_hash(submission: Path, change_records: ChangeRecords) -> None:
    change_records(lambda rows: rows[0]["provenance"][0].update(response_sha256="a" * 64))
    assert says(submission, "run.json", "records_sha256 is not the hash of the records")


@pytest.mark.parametrize("name", ["../../escape", "/etc/passwd", "..", "a/b/c"])
def test_10_path_traversal(submission: Path, change_run: ChangeRun, name: str) -> None:
    change_run(lambda facts: facts.update(run_id=name))
    assert says(submission, "run.json", "run_id")


def test_11_gzip_bomb(submission: Path) -> None:
    with gzip.open(submission / "records.jsonl.gz", "wb") as handle:
        for _ in range(200):
            handle.write(b"\n" * 2**20)
    assert (submission / "records.jsonl.gz").stat().st_size < 2**19
    assert says(submission, "records.jsonl.gz", "more findings of this kind")


def test_11_gzip_bomb_of_lines_that_are_in_order(submission: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = next(iter(storage.iter_lines(submission / "records.jsonl.gz")))[1] + b"\n"
    (submission / "records.jsonl.gz").write_bytes(gzip.compress(line * (2**21 // len(line) + 1), mtime=0))
    monkeypatch.setattr(storage, "MAX_UNPACKED", 2**20)
    assert says(submission, "records.jsonl.gz", "unpacks to more than 1,048,576 bytes")


def test_12_line_of_two_gigabytes(submission: Path) -> None:
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as handle:
        handle.write(b" " * 2**24)
    # Members of one stream after another unpack to 2 GB, which nobody should have to hold.
    (submission / "records.jsonl.gz").write_bytes(buffer.getvalue() * 128)
    assert says(submission, "records.jsonl.gz", "a line is longer than")


def test_13_replaced_run_of_somebody_else(submission: Path, tmp_path: Path) -> None:
    worse = synthetic.Behaviour(refuses_harm=0.2)
    other = submit_run(synthetic.write_run(tmp_path / "worse", behaviour=worse), tmp_path / "theirs")
    shutil.copy(other / "records.jsonl.gz", submission / "records.jsonl.gz")
    shutil.copy(other / "run.json", submission / "run.json")
    assert says(submission, "run.json", "is not the folder's name")


def test_13_replaced_run_of_somebody_else_in_a_pull_request(submission: Path, tmp_path: Path) -> None:
    top = tmp_path / "checkout"
    shutil.copytree(submission.parent.parent, top / "submissions")
    git(tmp_path, "init", "-q", "-b", "main", str(top))
    git(top, "add", ".")
    git(top, "commit", "-qm", "A run")
    git(top, "checkout", "-qb", "proposal")
    run = top / "submissions" / submission.parent.name / submission.name
    facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
    facts["submitter"] = "Somebody else"
    (run / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    assert verify_paths([top / "submissions"]).findings == ()
    findings = verify_added(top / "submissions", "main").findings
    assert any("run.json" in f.file and "is changed, and belongs to somebody else" in f.what for f in findings)


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def test_14_future_schema(submission: Path, change_run: ChangeRun) -> None:
    change_run(lambda facts: facts.update(schema_version="2"))
    assert says(submission, "run.json", "schema_version")
