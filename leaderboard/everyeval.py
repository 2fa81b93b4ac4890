"""Export to the format of Every Eval Ever, for those who collect results of many evaluations."""

from __future__ import annotations

import datetime
from typing import Any

from .schema import RunFile
from .site.untrusted import shortened

SCHEMA_VERSION = "0.2.1"
_LOWER = frozenset({"over_refusal", "unsafe_compliance", "contested_rate", "off_language_rate"})
_BOUNDS = {"youden_j": (-1.0, 1.0)}
_COMMAND = 2_000  # it is said again with every number


def export(run: RunFile, slug: str) -> dict[str, Any]:
    """Return one run as a JSON object of Every Eval Ever: who ran what, how, and each number.

    Args:
        run: The submission's ``run.json``.
        slug: Slug of its model.
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
        "evaluation_results": _results(run),
    }


def _results(run: RunFile) -> list[dict[str, Any]]:
    sizes = {(s.track, s.language, s.variant): s for s in run.suites}
    arguments: dict[str, Any] = {
        "temperature": run.generation.temperature,
        "execution_command": shortened(run.command, _COMMAND),
    }
    if run.generation.max_tokens is not None:
        arguments["max_tokens"] = run.generation.max_tokens
    rows = []
    for score in run.scores:
        suite = sizes.get((score.track, score.language, score.variant))
        if score.value is None or suite is None:
            continue
        low, high = _BOUNDS.get(score.metric, (0.0, 1.0))
        place = score.locale or score.language
        rows.append(
            {
                "evaluation_name": "/".join((score.track, score.variant, place, score.metric)),
                "source_data": {
                    "dataset_name": f"refusalatlas {score.track} {suite.version} {place}",
                    "source_type": "other",
                    "additional_details": {"ids_sha256": suite.ids, "texts_sha256": suite.texts},
                },
                "evaluation_timestamp": run.date.isoformat(),
                "metric_config": {
                    "evaluation_description": score.metric,
                    "lower_is_better": score.metric in _LOWER,
                    "score_type": "continuous",
                    "min_score": low,
                    "max_score": high,
                },
                "score_details": {"score": score.value, "uncertainty": {"num_samples": score.n}},
                "generation_config": {
                    "generation_args": arguments,
                    "additional_details": {"panel": f"{run.panel.name}@{run.panel.sha256}"},
                },
            }
        )
    return rows
