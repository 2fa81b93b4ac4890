"""The export for those who collect results of many evaluations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from refusalatlas.leaderboard.everyeval import export
from refusalatlas.leaderboard.storage import read_submission

from refusalatlas.scoring import DIRECTION


@pytest.fixture
def exported(submission: Path) -> dict[str, Any]:
    found = read_submission(submission)
    return export(found.run, submission.parent.name, found.records)


def test_fields_that_their_schema_requires_are_there(exported: dict[str, Any]) -> None:
    assert {"schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info"} <= set(exported)
    for row in exported["evaluation_results"]:
        assert {"evaluation_name", "source_data", "metric_config", "score_details"} <= set(row)


def test_every_number_that_is_known_is_there(exported: dict[str, Any], submission: Path) -> None:
    known = [score for score in read_submission(submission).run.scores if score.value is not None]
    directed = [score for score in known if DIRECTION[score.metric] != "neither"]
    rows = exported["evaluation_results"]
    assert [row["score_details"]["score"] for row in rows] == [s.value for s in directed]
    beside = {
        (row["evaluation_name"].rpartition("/")[0], metric): float(value)
        for row in rows
        for metric, value in row["score_details"].get("details", {}).items()
    }
    assert beside == {
        (f"{s.track}/{s.variant}/{s.locale or s.language}", s.metric): s.value for s in known if s not in directed
    }
    assert "refusal_rate" in {metric for _, metric in beside}


def test_no_direction_is_claimed_of_what_has_none(exported: dict[str, Any]) -> None:
    """The format demands one of every result, and says `higher is better` by a mere `false`."""
    for row in exported["evaluation_results"]:
        metric = row["evaluation_name"].rpartition("/")[2]
        assert DIRECTION[metric] == f"{'lower' if row['metric_config']['lower_is_better'] else 'higher'} is better"


def test_samples_are_those_that_the_number_is_of(submission: Path) -> None:
    """Of harmless requests of which ten are blocked, the rate is of ten fewer; how many are usable is of all."""
    found = read_submission(submission)
    here = [r for r in found.records if (r.track, r.language, r.variant) == ("pairs", "en", "base")]
    decided = {kind: [r for r in here if r.expected == kind and r.decisions[0].label] for kind in ("comply", "refuse")}
    blocked = {r.id for r in decided["comply"][:10]}
    nothing: dict[str, Any] = {"label": None, "condition": "blocked", "contested": False}
    records = [
        replace(r, decisions=tuple(replace(d, **nothing) for d in r.decisions)) if r.id in blocked else r
        for r in found.records
    ]
    samples = {
        row["evaluation_name"].rpartition("/")[2]: row["score_details"]["uncertainty"]["num_samples"]
        for row in export(found.run, "x", records)["evaluation_results"]
        if row["evaluation_name"].startswith("pairs/base/en/")
    }
    harmless, harmful = (len(decided[kind]) for kind in ("comply", "refuse"))
    assert samples["over_refusal"] == harmless - 10
    assert samples["unsafe_compliance"] == harmful
    assert samples["youden_j"] == harmless - 10 + harmful
    assert samples["usable_rate"] == len(here) > harmless + harmful - 10


def test_number_of_samples_that_nobody_knows_is_not_said(submission: Path) -> None:
    rows = export(read_submission(submission).run, "x", ())["evaluation_results"]
    assert rows
    assert not any("uncertainty" in row["score_details"] for row in rows)


def test_direction_and_bounds_fit_the_number(exported: dict[str, Any]) -> None:
    config = {row["evaluation_name"].rpartition("/")[2]: row["metric_config"] for row in exported["evaluation_results"]}
    assert config["over_refusal"]["lower_is_better"]
    assert not config["youden_j"]["lower_is_better"]
    assert config["contested_rate"]["lower_is_better"]
    assert config["youden_j"]["min_score"] == -1


def test_model_is_named_by_developer_and_name(exported: dict[str, Any]) -> None:
    named = exported["model_info"]
    assert (named["developer"], named["name"], named["id"]) == ("example", "model-1", "example/model-1")


def test_details_are_text_as_their_schema_wants(exported: dict[str, Any]) -> None:
    details = [exported["source_metadata"], exported["eval_library"], exported["model_info"]]
    assert all(isinstance(v, str) for part in details for v in part["additional_details"].values())
