"""Answers that give a place: submitted, verified and shown, and a vote for help that an item cannot have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusalatlas.leaderboard.site.gather import Place, gather
from refusalatlas.leaderboard.site.metrics import FORMS, METRICS, shown_metrics
from refusalatlas.leaderboard.submission import submit_run
from refusalatlas.leaderboard.verify import verify_paths

from refusalatlas.records import FORM_JUDGE

TASKS = ["refusal_grounding_en", "refusal_grounding_en_point"]


def test_a_vote_of_the_form_stands_only_where_a_place_was_asked_for(
    submission: Path, change_records: Callable[..., Path]
) -> None:
    """Else anybody could turn a refusal to a harmless request into help."""

    def turn(rows: list[dict[str, Any]]) -> None:
        row = next(row for row in rows if row["decisions"][0]["label"] == "full_refusal")
        row["decisions"][0].update(label="compliant", reasons=[], features=[])
        row["decisions"][0]["votes"].append(
            {"judge": FORM_JUDGE, "version": "1", "label": "compliant", "confidence": 1.0}
        )
        row["openings"] = [None]

    change_records(turn)
    found = verify_paths([submission.parent.parent]).findings
    assert any(f"has a vote of {FORM_JUDGE}" in finding.what for finding in found)


@pytest.fixture(scope="module")
def grounded(evaluate: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Submissions with one run of the policy `ideal` on questions and points."""
    folder = tmp_path_factory.mktemp("grounded")
    evaluate("refusalatlas-reference", TASKS, folder / "run", model_args="policy=ideal")
    submit_run(folder / "run", folder / "submissions", submitter="Somebody", model_name="refusalatlas-reference/ideal")
    return folder / "submissions"


def test_a_submission_with_places_verifies(grounded: Path) -> None:
    assert [finding.what for finding in verify_paths([grounded]).findings] == []


def test_the_site_has_the_gap_beside_the_variant(grounded: Path) -> None:
    (entry,) = gather(grounded).entries
    point = entry.estimates[Place("grounding", "point", "en")]
    assert (point["grounding_gap"].value, point["grounding_gap"].n) == (0.0, 24)
    assert (point["grounding_accuracy"].value, point["grounding_accuracy"].n) == (1.0, 24)
    assert "grounding_gap" not in entry.estimates[Place("grounding", "base", "en")]
    assert {"grounding_gap", "grounding_accuracy"} <= set(shown_metrics([point]))
    assert all(metric in METRICS for metric in FORMS)
