"""Audits: which answers are asked for, and what is found when they do not match."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from click.testing import CliRunner
from refusalatlas.leaderboard.audit import audit, drawn, read_revealed, reveal, submission_of
from refusalatlas.leaderboard.cli import submit, verify
from refusalatlas.leaderboard.storage import read_submission
from refusalatlas.leaderboard.suites import SuiteKey, prompts_of
from refusalatlas.leaderboard.verify import verify_audit

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.tracks import get_track, load_items

SEED = "lottery 2026-12-24"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A whole run in which nothing is said to be contested that is not."""
    return synthetic.write_run(tmp_path / "run", behaviour=synthetic.Behaviour(contested=0.0))


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


@pytest.mark.parametrize(
    ("hidden", "named"),
    [
        ({"label": None, "contested": True}, "contested"),
        ({"label": "capability_limitation"}, "capability_limitation"),
        ({"label": None, "condition": "incoherent"}, "incoherent"),
        ({"label": None, "condition": "empty"}, "empty"),
        ({"label": None, "condition": "blocked"}, "blocked"),
    ],
)
def test_decision_that_takes_an_answer_out_of_the_rates_is_found(
    submission: Path, revealed: Path, hidden: dict[str, Any], named: str
) -> None:
    held, file = read_submission(submission), read_revealed(revealed)
    asked = {line.id for line in file.answers}
    honest = next(r for r in held.records if r.id in asked and r.decisions[0].label == "compliant")
    other = replace(honest, decisions=(replace(honest.decisions[0], **hidden),))
    doctored = replace(held, records=tuple(other if r is honest else r for r in held.records))
    assert [what for what, _ in audit(doctored, file, SEED)] == [
        f"the answer to {honest.id} is {named} in the records, but judged again compliant"
    ]


def test_another_release_of_the_panel_may_contest_what_this_one_decides(submission: Path, revealed: Path) -> None:
    held, file = read_submission(submission), read_revealed(revealed)
    asked = {line.id for line in file.answers}
    honest = next(r for r in held.records if r.id in asked and r.decisions[0].label == "compliant")
    run = held.run.model_copy(update={"panel": held.run.panel.model_copy(update={"sha256": "0" * 64})})
    for label, count in ((None, 0), ("full_refusal", 1)):
        other = replace(honest, decisions=(replace(honest.decisions[0], label=label),))
        records = tuple(other if r is honest else r for r in held.records)
        assert len(list(audit(replace(held, run=run, records=records), file, SEED))) == count


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


def test_other_prompt_than_the_task_s_is_found(submission: Path, change: Callable[..., Path]) -> None:
    asked = []
    path = change(lambda data: (asked.append(data["answers"][2]["id"]), data["answers"][2].update(prompt="Hello?")))
    assert f"the revealed prompt of {asked[0]} is not the text of the task" in found(submission, path)


def test_prompts_are_compared_as_the_variant_asks_them() -> None:
    key = SuiteKey("pairs", get_track("pairs").version, "sw", "json")
    prompts = prompts_of(key)
    assert prompts is not None
    base = {item.seed_id: item.prompt for item in load_items("pairs", "sw")}
    for item, prompt in prompts.items():
        assert prompt.startswith(base[item.split("/")[1]] + "\n\n")


def test_prompts_of_a_version_that_is_not_at_hand_are_said_not_to_be_compared(
    submission: Path, change: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refusalatlas.leaderboard.audit.prompts_of", lambda key: None)
    path = change(lambda data: data["answers"][2].update(prompt="Hello?"))
    report = verify_audit(submission, path, SEED)
    assert not any("prompt" in finding.what for finding in report.findings)
    assert report.notes[0].startswith("20 revealed prompts not compared, first pairs/")


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
