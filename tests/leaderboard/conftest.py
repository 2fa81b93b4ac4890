"""Fixtures: small runs, and submissions made of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import synthetic
from refusalatlas.leaderboard.storage import RECORDS_FILE, RUN_FILE, iter_lines, pack
from refusalatlas.leaderboard.submission import submit_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A whole run of one model on the contrast pairs in English."""
    return synthetic.write_run(tmp_path / "run")


@pytest.fixture
def submission(run: Path, tmp_path: Path) -> Path:
    """Its submission, in tmp_path / "submissions"."""
    return submit_run(run, tmp_path / "submissions", submitter="Somebody")


Change = Callable[[dict[str, Any]], Any]


@pytest.fixture
def change_run(submission: Path) -> Callable[[Change], Path]:
    """Changes run.json of the submission."""

    def change(mend: Change) -> Path:
        facts = json.loads((submission / RUN_FILE).read_text(encoding="utf-8"))
        mend(facts)
        (submission / RUN_FILE).write_text(json.dumps(facts), encoding="utf-8")
        return submission

    return change


@pytest.fixture
def change_records(submission: Path) -> Callable[[Callable[[list[dict[str, Any]]], Any]], Path]:
    """Changes the records of the submission."""

    def change(mend: Callable[[list[dict[str, Any]]], Any]) -> Path:
        rows = [json.loads(line) for _, line in iter_lines(submission / RECORDS_FILE)]
        mend(rows)
        (submission / RECORDS_FILE).write_bytes(pack([json.dumps(row) for row in rows]))
        return submission

    return change


@pytest.fixture(scope="session")
def two_languages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A submissions folder with models of all tiers and the policies, in English and Arabic."""
    work = tmp_path_factory.mktemp("work")
    return synthetic.write_submissions(work / "submissions", work / "runs", ("en", "ar"))
