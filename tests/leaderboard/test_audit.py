"""Audits: which answers are asked for, and what is found when they do not match."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from refusalatlas.leaderboard.audit import drawn, read_revealed, reveal, submission_of
from refusalatlas.leaderboard.cli import submit, verify
from refusalatlas.leaderboard.storage import read_submission
from refusalatlas.leaderboard.verify import verify_audit

from refusalatlas.errors import AtlasError, DataError

SEED = "lottery 2026-12-24"


@pytest.fixture
def revealed(run: Path, submission: Path, tmp_path: Path) -> Path:
    path = tmp_path / "revealed.json"
    reveal(run, read_submission(submission), SEED, path)
    return path


@pytest.fixture
def change(revealed: Path) -> Callable[[Callable[[dict[str, Any]], Any]], Path]:
    def mend(how: Callable[[dict[str, Any]], Any]) -> Path:
        data = json.loads(revealed.read_text(encoding="utf-8"))
        how(data)
        revealed.write_text(json.dumps(data), encoding="utf-8")
        return revealed

    return mend


def found(submission: Path, revealed: Path, seed: str = SEED) -> str:
    return "\n".join(map(str, verify_audit(submission, revealed, seed).findings))


def test_right_answers_have_no_findings(submission: Path, revealed: Path) -> None:
    assert found(submission, revealed) == ""


def test_draw_follows_from_the_seed_and_the_records(submission: Path) -> None:
    records, digest = read_submission(submission).records, read_submission(submission).run.records_sha256
    first = drawn(records, digest, SEED)
    assert first == drawn(tuple(reversed(records)), digest, SEED)
    assert first != drawn(records, digest, "another seed")
    assert first != drawn(records, "0" * 64, SEED)
    assert len(first) == len(set(first)) == 20


def test_draw_of_many_is_a_twentieth(submission: Path) -> None:
    one = read_submission(submission).records[0]
    assert len(drawn([one] * 1000, "0" * 64, SEED)) == 50


def test_other_answer_does_not_match_its_hash(submission: Path, change: Callable[..., Path]) -> None:
    path = change(lambda data: data["answers"][0].update(response="Something nicer."))
    assert "does not match its hash" in found(submission, path)


def test_other_salt_does_not_match_either(submission: Path, change: Callable[..., Path]) -> None:
    path = change(lambda data: data["answers"][0].update(salt="0" * 32))
    assert "does not match its hash" in found(submission, path)


def test_answer_that_is_held_back_is_found(submission: Path, change: Callable[..., Path]) -> None:
    assert "does not reveal" in found(submission, change(lambda data: data["answers"].pop()))


def test_answers_for_another_seed_are_found(submission: Path, revealed: Path) -> None:
    assert "another submission or seed" in found(submission, revealed, "other")


def test_answer_revealed_twice_is_found(submission: Path, change: Callable[..., Path]) -> None:
    path = change(lambda data: data["answers"].append(data["answers"][0]))
    assert "reveals an answer twice" in found(submission, path)


def test_file_that_is_none_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(DataError, match="--reveal"):
        read_revealed(tmp_path / "x.json")


def test_run_that_was_not_submitted_cannot_be_revealed(run: Path, tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match="was not submitted"):
        submission_of(run, tmp_path / "nowhere")


def test_commands_of_both_sides_fit_together(
    run: Path, submission: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    root = submission.parent.parent
    made = CliRunner().invoke(submit, [str(run), "--output", str(root), "--reveal", SEED, "--format", "json"])
    file = json.loads(made.stdout)["file"]
    result = CliRunner().invoke(verify, [str(submission), "--audit", file, "--seed", SEED])
    assert result.exit_code == 0, result.output


def test_audit_without_seed_is_a_usage_error(submission: Path, revealed: Path) -> None:
    assert CliRunner().invoke(verify, [str(submission), "--audit", str(revealed)]).exit_code == 2
