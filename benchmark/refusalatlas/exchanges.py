"""Exchanges to judge, from a finished run, a samples file, or JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .errors import AtlasError, DataError
from .fields import field_of
from .files import Span, iter_jsonl, problems
from .records import Exchange, Record
from .runs import Run, find_results, read_results, read_samples, sample_files
from .scenes import target_of
from .shown import shown_of
from .variants import form_of

_KEPT = frozenset({"blocked", "error"})  # conditions that only the backend could know


class _Message(BaseModel):
    model_config = ConfigDict(extra="allow")

    role: str
    content: str


class _Line(BaseModel):
    """One line to judge; further fields are allowed and passed over, since people bring files of their own."""

    model_config = ConfigDict(extra="ignore")

    id: str | int
    prompt: str | None = None
    messages: list[_Message] | None = None
    response: Annotated[str, Field(strict=True)] | None
    language: str | None = None
    finish_reason: str | None = None


def exchanges_of_run(run: Run, record: Record) -> Iterator[Exchange]:
    """Yield one exchange for each sampled answer of one of a run's records."""
    cues = run.cues.get(record.id, ())
    return exchanges_of_record(record, run.responses[record.id], run.prompts[record.id], cues)


def exchanges_of_record(
    record: Record, responses: Iterable[str], prompt: str, cues: tuple[str, ...] = ()
) -> Iterator[Exchange]:
    """Yield one exchange for each sampled answer of a record, with the conditions that the backend settled."""
    for decision, provenance, response in zip(record.decisions, record.provenance, responses, strict=True):
        yield Exchange(
            id=record.id,
            prompt=prompt,
            response=response,
            language=record.language,
            finish_reason=provenance.finish_reason,
            condition=decision.condition if decision.condition in _KEPT else None,
            form=form_of(record.variant),
            field=field_of(record.track, record.seed_id, record.language, record.locale, record.variant),
            cues=cues,
            target=target_of(record.track, record.seed_id, record.language),
            shown=shown_of(record.track, record.seed_id, record.language),
        )


def read_exchanges(source: str) -> Iterator[Exchange]:
    """Yield what a source holds, in order.

    Args:
        source: An lm_eval output folder or ``results_*.json``, a ``samples_*.jsonl``, JSON lines
            ``{id, prompt | messages, response, language?, finish_reason?}`` (``.gz`` too), or ``-`` for standard input.

    Raises:
        AtlasError: where there is no such source or it holds nothing.
        DataError: naming the line that is wrong.
    """
    found = False
    for exchange in _read(source):
        found = True
        yield exchange
    if not found:
        raise AtlasError("holds nothing to judge", where=source)


def _read(source: str) -> Iterator[Exchange]:
    if source == "-":
        yield from _from_stdin()
        return
    path = Path(source)
    if is_run(path):
        results_path = find_results(path)
        for file in sample_files(results_path, read_results(results_path)):  # one line at a time, and not the whole run
            samples = 0
            for found in read_file(file.path):
                samples += found.answer == 0
                yield found.exchange
            file.check(samples)
    else:
        for found in read_file(path):
            yield found.exchange


def is_run(path: Path) -> bool:
    """Whether a source is a run of lm_eval: its folder, or its results file."""
    return path.is_dir() or path.name.startswith("results_")


@dataclass(frozen=True, slots=True)
class Located:
    """An exchange, and where it stands: number of its line, from 1, and which of that line's answers, from 0."""

    line: int
    answer: int
    exchange: Exchange


def read_file(path: Path, span: Span | None = None) -> Iterator[Located]:
    """Yield what a ``samples_*.jsonl`` or a file of JSON lines holds, or a span of it, in order.

    Raises:
        DataError: naming the line that is wrong.
    """
    if path.name.startswith("samples_"):
        for sample in read_samples(path, span):
            answers = exchanges_of_record(sample.record, sample.responses, sample.prompt, sample.cues)
            for number, exchange in enumerate(answers):
                yield Located(sample.line, number, exchange)
    else:
        for line, row in iter_jsonl(path, span):
            yield Located(line, 0, exchange_of_line(row, f"{path}:{line}"))


def _from_stdin() -> Iterator[Exchange]:
    import json

    number = 0
    while line := _next_line(number + 1):
        number += 1
        text = line.removeprefix("\ufeff") if number == 1 else line
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            raise DataError("not a JSON object", where=f"standard input:{number}") from None
        yield exchange_of_line(row, f"standard input:{number}")


def _next_line(number: int) -> str:
    try:
        return sys.stdin.readline()
    except UnicodeDecodeError:
        raise DataError("not UTF-8", where=f"standard input:{number}", mend="convert it to UTF-8") from None


def exchange_of_line(row: Any, where: str) -> Exchange:
    """Return the exchange that a JSON line describes; a null response is an empty one.

    Raises:
        DataError: naming the fields that are missing or of the wrong kind.
    """
    try:
        line = _Line.model_validate(row)
    except ValidationError as error:
        raise DataError(
            "; ".join(problems(error)), where=where, mend="each line needs id, prompt or messages, and response"
        ) from None
    prompt = line.prompt
    if prompt is None and line.messages:
        prompt = next((m.content for m in reversed(line.messages) if m.role == "user"), None)
    if prompt is None:
        raise DataError("neither prompt nor a user's message", where=where)
    return Exchange(str(line.id), prompt, line.response or "", line.language, line.finish_reason)
