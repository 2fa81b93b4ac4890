"""Exchanges to judge, from a finished run, a samples file, or JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .errors import AtlasError, DataError
from .files import iter_jsonl, problems
from .records import Exchange, Record
from .runs import find_results, load_run, read_samples
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


def exchanges_of_record(record: Record, responses: Iterable[str], prompt: str) -> Iterator[Exchange]:
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
    if path.is_dir() or path.name.startswith("results_"):
        run = load_run(find_results(path))
        for record in run.records:
            yield from exchanges_of_record(record, run.responses[record.id], run.prompts[record.id])
    elif path.name.startswith("samples_"):
        for record, responses, prompt in read_samples(path):
            yield from exchanges_of_record(record, responses, prompt)
    else:
        for number, row in iter_jsonl(path):
            yield exchange_of_line(row, f"{path}:{number}")


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
