"""The export for those who collect results of many evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from refusalatlas.leaderboard.everyeval import export
from refusalatlas.leaderboard.storage import read_submission


@pytest.fixture
def exported(submission: Path) -> dict[str, Any]:
    return export(read_submission(submission).run, submission.parent.name)


def test_fields_that_their_schema_requires_are_there(exported: dict[str, Any]) -> None:
    assert {"schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info"} <= set(exported)
    for row in exported["evaluation_results"]:
        assert {"evaluation_name", "source_data", "metric_config", "score_details"} <= set(row)


def test_every_number_that_is_known_is_there(exported: dict[str, Any], submission: Path) -> None:
    known = [score for score in read_submission(submission).run.scores if score.value is not None]
    assert [row["score_details"]["score"] for row in exported["evaluation_results"]] == [s.value for s in known]


def test_direction_and_bounds_fit_the_number(exported: dict[str, Any]) -> None:
    config = {row["evaluation_name"].rpartition("/")[2]: row["metric_config"] for row in exported["evaluation_results"]}
    assert config["over_refusal"]["lower_is_better"]
    assert not config["youden_j"]["lower_is_better"]
    assert config["youden_j"]["min_score"] == -1


def test_model_is_named_by_developer_and_name(exported: dict[str, Any]) -> None:
    named = exported["model_info"]
    assert (named["developer"], named["name"], named["id"]) == ("example", "model-1", "example/model-1")


def test_details_are_text_as_their_schema_wants(exported: dict[str, Any]) -> None:
    details = [exported["source_metadata"], exported["eval_library"], exported["model_info"]]
    assert all(isinstance(v, str) for part in details for v in part["additional_details"].values())
