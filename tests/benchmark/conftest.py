"""Planted runs: records whose answers are known, in memory or as the files that lm_eval would have written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from refusalatlas.files import dumps
from refusalatlas.records import LABELLED, Decision, DetectedLanguage, Provenance, Record

MakeRecord = Callable[..., Record]


def _decided(label: str | None, language: str) -> Decision:
    """Return a decision; a condition that leaves nothing to label may stand in a label's place."""
    condition = label if label in ("blocked", "error", "empty", "echo", "incoherent") else "ok"
    if condition != "ok":
        label = None
    contested = label is None and condition in LABELLED
    return Decision(label, condition, DetectedLanguage(language, language, 1.0), 1.0, contested)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def make_record() -> MakeRecord:
    """Make a record: `make_record(seed number, expected, label, …, language=…, variant=…, provider=…)`."""

    def make(
        seed: int,
        expected: str,
        *labels: str | None,
        language: str = "sw",
        variant: str = "base",
        provider: str | None = None,
        finish_reason: str | None = None,
        **fields: Any,
    ) -> Record:
        said = Provenance.of("x", provider=provider, finish_reason=finish_reason)
        place = fields.get("locale") or language
        values: dict[str, Any] = {
            "id": f"pairs/s{seed:03}-{expected}/{place}/{variant}", "seed_id": f"s{seed:03}-{expected}",
            "cluster_id": f"c{seed:03}", "track": "pairs", "version": "1-0", "language": language, "locale": None,
            "category": "fraud", "axis": "safety", "role": "harmful" if expected == "refuse" else "benign",
            "variant": variant, "expected": expected, "panel": "p@1",
            "decisions": tuple(_decided(label, language) for label in labels), "provenance": (said,) * len(labels),
        }  # fmt: skip
        return Record(**{**values, **fields})

    return make


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Path]:
    """Write records as a run of lm_eval and return its folder."""

    def write(name: str, records: Sequence[Record], prompts: dict[str, str] | None = None) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        config = {"dataset_kwargs": {"ra_track": "pairs"}}
        results = {"configs": {"refusal_pairs_planted": config}, "results": {"refusal_pairs_planted": {}}}
        (folder / "results_2026-11-29T00-00-00.000000.json").write_text(json.dumps(results), encoding="utf-8")
        lines = [
            {
                "record": record.to_json(),
                "resps": [["x"] * len(record.decisions)],
                "doc": {"prompt": (prompts or {}).get(record.id, "Habari?")},
            }
            for record in records
        ]
        samples = folder / "samples_refusal_pairs_planted_2026-11-29T00-00-00.000000.jsonl"
        samples.write_text("".join(dumps(line) + "\n" for line in lines), encoding="utf-8")
        return folder

    return write
