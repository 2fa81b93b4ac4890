"""Submissions as `score` and `compare` read them: the numbers of the run, without its answers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from refusalatlas.cli import cli
from refusalatlas.errors import AtlasError


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.mark.parametrize("options", [(), ("--categories",), ("--gaps",), ("--access",), ("--language", "en")])
def test_a_submission_has_the_numbers_of_its_run(run: Path, submission: Path, options: tuple[str, ...]) -> None:
    of_run, of_submission = (invoke("score", path, *options, "--format", "json") for path in (run, submission))
    rows = [[json.loads(line) for line in done.output.splitlines()] for done in (of_run, of_submission)]
    assert of_run.exit_code == of_submission.exit_code
    assert of_run.exit_code == 0 or (options == ("--gaps",) and isinstance(of_submission.exception, AtlasError))
    names = ({k: v for k, v in row.items() if k != "run"} for row in rows[0])
    assert list(names) == [{k: v for k, v in row.items() if k != "run"} for row in rows[1]]


def test_a_run_differs_in_nothing_from_its_submission(run: Path, submission: Path) -> None:
    done = invoke("compare", run, submission, "--format", "json")
    assert done.exit_code == 0, done.output
    values = [json.loads(line)["difference"] for line in done.output.splitlines()]
    assert values
    assert not any(values)


def test_a_submission_is_called_by_its_model(run: Path, submission: Path) -> None:
    done = invoke("compare", submission, run)
    name = f"{submission.parent.name}/{submission.name}"
    assert done.output.startswith(f"{name} against "), done.output


def test_reasons_need_whole_answers(submission: Path) -> None:
    done = invoke("score", submission, "--reasons")
    assert isinstance(done.exception, AtlasError)
    assert "give the run that was submitted" in str(done.exception)


def test_folder_above_submissions_is_none(submission: Path) -> None:
    done = invoke("score", submission.parent)
    assert isinstance(done.exception, AtlasError)
    assert "the folder of its run.json" in str(done.exception)


def test_what_needs_answers_says_so(submission: Path) -> None:
    done = invoke("predict", submission)
    assert isinstance(done.exception, AtlasError)
    assert "have no answers" in str(done.exception)


def test_damaged_submission_is_named(submission: Path) -> None:
    with gzip.open(submission / "records.jsonl.gz", "wb") as handle:
        handle.write(b'{"id": 3}\n')
    done = invoke("score", submission)
    assert isinstance(done.exception, AtlasError)
    assert "records.jsonl.gz:1" in str(done.exception)
