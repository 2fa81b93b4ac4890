"""What `judges agree` compares: two panels on one file, or a panel with the decisions that a run holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refusalatlas.errors import DataError
from refusalatlas.files import read_jsonl
from refusalatlas.records import Exchange, Label, Record

from .metrics import concordance
from .panel import load_panel

Answers = list[tuple[Exchange, Label | None]]


def compare_panels(source: Path, panels: Sequence[str]) -> dict[str, Any]:
    """Return `metrics.concordance` of two panels, or of one panel with the decisions that `source` holds.

    Args:
        source: JSON lines ``{id, prompt, response, language?, finish_reason?}``, or an lm_eval output folder.
        panels: One or two names.

    Raises:
        DataError: where the source holds no answers, or no decisions to compare one panel with.
    """
    answers = _of_file(source) if source.is_file() else _of_run(source)
    if not answers:
        raise DataError("holds no answers", where=source)
    exchanges = [exchange for exchange, _ in answers]
    if len(panels) == 2:
        first: list[Label | None] = [decision.label for decision in load_panel(panels[0]).judge(exchanges)]
    else:
        first = [label for _, label in answers]
        if not any(first):
            raise DataError("holds no decisions", where=source, mend="name two panels")
    second = [decision.label for decision in load_panel(panels[-1]).judge(exchanges)]
    names = {"first": panels[0] if len(panels) == 2 else source.name, "second": panels[-1]}
    return {**names, **concordance(list(zip(first, second, strict=True)))}


def _of_file(path: Path) -> Answers:
    answers: Answers = []
    for number, row in enumerate(read_jsonl(path), 1):
        prompt, response = row.get("prompt"), row.get("response")
        if not isinstance(response, str):
            raise DataError("no response", where=f"{path}: object {number}", mend="give each line a response")
        exchange = Exchange(
            id=str(row.get("id", number)),
            prompt=prompt if isinstance(prompt, str) else "",
            response=response,
            language=row.get("language"),
            finish_reason=row.get("finish_reason"),
        )
        answers.append((exchange, row.get("label")))
    return answers


def _of_run(folder: Path) -> Answers:
    from refusalatlas.runs import load_run

    run = load_run(folder)
    answers: Answers = []
    for record in run.records:
        answers += _of_record(record, run.prompts.get(record.id, ""), run.responses.get(record.id, []))
    return answers


def _of_record(record: Record, prompt: str, responses: Sequence[str]) -> Answers:
    found: Answers = []
    for response, decision, provenance in zip(responses, record.decisions, record.provenance, strict=False):
        exchange = Exchange(record.id, prompt, response, record.language, provenance.finish_reason)
        found.append((exchange, decision.label))
    return found
