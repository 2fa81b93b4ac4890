"""Export to the format of Every Eval Ever, for those who collect results of many evaluations.

The format demands a direction of every result. Shares of which neither more nor less is better, such as the refusal
rate, are therefore no results of their own there: they are details of the share of usable answers of the same items.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from refusalatlas.awareness import on_several_axes
from refusalatlas.records import Record
from refusalatlas.scoring import DIRECTION, denominators

from .schema import RunFile, Score
from .site.untrusted import shortened

SCHEMA_VERSION = "0.2.1"
_BOUNDS = {"youden_j": (-1.0, 1.0), "grounding_gap": (-1.0, 1.0)}
_COMMAND = 2_000  # it is said again with every number
_OF_ALL = "usable_rate"  # the one result that every set of items has


def export(run: RunFile, slug: str, records: Sequence[Record]) -> dict[str, Any]:
    """Return one run as a JSON object of Every Eval Ever: who ran what, how, and each number.

    Args:
        run: The submission's ``run.json``.
        slug: Slug of its model.
        records: Its records, which the number of answers behind each result is counted from.
    """
    day = datetime.datetime.combine(run.date, datetime.time(), datetime.timezone.utc)
    developer, _, name = run.model.name.rpartition("/")
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"refusal-atlas/{slug}/{run.run_id}",
        "evaluation_timestamp": run.date.isoformat(),
        "retrieved_timestamp": str(int(day.timestamp())),
        "dedupe_identity": {"content_hash": run.records_sha256, "hash_algorithm": "sha256"},
        "source_metadata": {
            "source_name": "Refusal Atlas",
            "source_type": "evaluation_run",
            "source_organization_name": "Refusal Atlas",
            "evaluator_relationship": "third_party" if run.trust.tier == "reproduced" else "other",
            "additional_details": {"submitter": run.submitter, "trust": run.trust.tier},
        },
        "eval_library": {
            "name": "refusalatlas",
            "version": run.engines.get("refusalatlas", "unknown"),
            "additional_details": dict(run.engines),
        },
        "model_info": {
            "name": name,
            "id": run.model.name,
            "developer": developer or "unknown",
            "inference_platform": run.backend,
            "additional_details": {"revision": run.model.revision or "unknown"},
        },
        "evaluation_results": _results(run, records),
    }


_Place = tuple[str, str, str, str | None, str | None]


def _place(score: Score) -> _Place:
    return score.track, score.variant, score.language, score.locale, score.axis


def _results(run: RunFile, records: Sequence[Record]) -> list[dict[str, Any]]:
    sizes = {(s.track, s.language, s.locale, s.variant): s for s in run.suites}
    counts = _counts(records)
    undirected: dict[_Place, dict[str, str]] = defaultdict(dict)
    for score in run.scores:
        if score.value is not None and DIRECTION.get(score.metric) == "neither":
            undirected[_place(score)][score.metric] = str(score.value)
    rows = []
    for score in run.scores:
        places = (score.locale, None)  # earlier submissions do not say which locale a suite is of
        found = (sizes.get((score.track, score.language, place, score.variant)) for place in places)
        suite = next((one for one in found if one is not None), None)
        direction = DIRECTION.get(score.metric, "neither")
        if score.value is None or suite is None or direction == "neither":
            continue
        low, high = _BOUNDS.get(score.metric, (0.0, 1.0))
        name = score.locale or score.language
        metric = f"{score.axis}/{score.metric}" if score.axis else score.metric
        details: dict[str, Any] = {"score": score.value}
        count = counts.get((*_place(score), score.metric))
        if count is not None:
            details["uncertainty"] = {"num_samples": count}
        if score.metric == _OF_ALL and undirected[_place(score)]:
            details["details"] = undirected[_place(score)]
        rows.append(
            {
                "evaluation_name": "/".join((score.track, score.variant, name, metric)),
                "source_data": {
                    "dataset_name": f"refusalatlas {score.track} {suite.version} {name}",
                    "source_type": "other",
                    "additional_details": {"ids_sha256": suite.ids, "texts_sha256": suite.texts},
                },
                "evaluation_timestamp": run.date.isoformat(),
                "metric_config": {
                    "evaluation_description": score.metric,
                    "lower_is_better": direction == "lower is better",
                    "score_type": "continuous",
                    "min_score": low,
                    "max_score": high,
                },
                "score_details": details,
                "generation_config": {
                    "generation_args": _arguments(run),
                    "additional_details": {"panel": f"{run.panel.name}@{run.panel.sha256}"},
                },
            }
        )
    return rows


def _counts(records: Sequence[Record]) -> Mapping[tuple[str, str, str, str | None, str | None, str], int]:
    """Return how many answers each number is of, by place and metric as `Score` has them."""
    several = on_several_axes(records)
    return {
        (track, variant, language, locale, axis if track in several else None, metric): count
        for (track, variant, language, locale, axis, metric), count in denominators(records).items()
    }


def _arguments(run: RunFile) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "temperature": run.generation.temperature,
        "execution_command": shortened(run.command, _COMMAND),
    }
    if run.generation.max_tokens is not None:
        arguments["max_tokens"] = run.generation.max_tokens
    return arguments
