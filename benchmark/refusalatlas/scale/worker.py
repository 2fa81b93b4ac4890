"""What a worker does: it loads the panel once, and judges parts until there are none left."""

from __future__ import annotations

import functools
import hashlib
import itertools
import logging
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

from ..adapter import panel_id
from ..errors import AtlasError
from ..exchanges import Located, read_file
from ..files import Span
from ..records import Exchange, Panel, well_formed
from .decisions import leftovers, part_path, row_of, rows_of_part, write_part
from .parts import Part

BATCH = 256
"""Answers that a worker hands to the panel at a time."""

MOST_DEATHS = 5
"""Workers that may die over a part before it is given up; Ray itself would try for ever."""

_COLUMNS = ("index", "path", "source", "start", "first", "count")
_LOGGER = "refusalatlas"
_MOST_WARNINGS = 20


@dataclass(frozen=True, slots=True)
class Job:
    """What all workers have to know.

    Attributes:
        folder: Where the parts go, absolute.
        digest: Of the work; see `Manifest.job`.
        panel: ``<name>@<sha256>`` of the panel that the one who started the work has.
        load: Loads the panel.
    """

    folder: str
    digest: str
    panel: str
    load: Callable[[], Panel]


def part_row(part: Part) -> dict[str, Any]:
    """Return a part as a row of a data set."""
    return {"index": part.index, "path": part.path, "source": part.source, **asdict(part.span)}


class Worker:
    """Judges parts; of a class and not a function, so that Ray keeps it, and the panel with it, from part to part."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Judge the parts of a batch of rows.

        Returns:
            Columns `index`, `rows` (how many were written), `error` (one line, or empty) and `warnings`, one entry a
            part. What users can mend comes back as a line, since an exception would reach them wrapped in Ray's own.
        """
        done: dict[str, list[Any]] = {"index": [], "rows": [], "error": [], "warnings": []}
        for index, path, source, *span in zip(*(batch[name].tolist() for name in _COLUMNS), strict=True):
            error, rows = "", 0
            with _warnings() as warnings:
                try:
                    rows = self._judge(Part(index, path, source, Span(*span)))
                except AtlasError as problem:
                    error = str(problem)
            for name, value in zip(done, (index, rows, error, "\n".join(warnings)), strict=True):
                done[name].append(value)
        return done

    def _judge(self, part: Part) -> int:
        path = part_path(Path(self._job.folder), part.index)
        rows = rows_of_part(path, self._job.digest, part.index)
        if rows is not None:  # a worker that died just after the renaming has left it for this one
            return rows
        if len(leftovers(path)) >= MOST_DEATHS:
            what = f"{MOST_DEATHS} workers died over these {part.span.count} lines"
            mend = "look for an answer that no judge survives, or give workers more memory; finished parts are kept"
            raise AtlasError(what, where=f"{part.source}:{part.span.first}", mend=mend)
        found = decide_once(self._panel, read_file(Path(part.path), part.span))
        located = ([_row(part.source, at, columns) for at, columns in batch] for batch in found)
        return write_part(path, located, self._job.digest, part.index)

    @functools.cached_property
    def _panel(self) -> Panel:
        panel = self._job.load()
        if panel_id(panel) != self._job.panel:
            mend = "install the same release, extras and plug-ins on every machine"
            what = f"has another panel ({panel.sha256[:12]}) than the machine that started the work"
            raise AtlasError(what, where=f"worker on {socket.gethostname()}", mend=mend)
        return panel


def _row(source: str, at: Located, columns: dict[str, Any]) -> dict[str, Any]:
    where = {"source": well_formed(source), "line": at.line, "answer": at.answer}
    return {**where, "id": well_formed(at.exchange.id), **columns}


def decide_once(panel: Panel, found: Iterable[Located]) -> Iterator[list[tuple[Located, dict[str, Any]]]]:
    """Yield exchanges, batch by batch and in order, each with the columns of its decision.

    What differs from an earlier one in nothing but its place is not judged again. Of texts that were judged, only
    hashes and decisions are kept.
    """
    known: dict[bytes, dict[str, Any]] = {}
    waiting = iter(found)
    while batch := list(itertools.islice(waiting, BATCH)):
        keys = [_key(at.exchange) for at in batch]
        new = {key: at.exchange for key, at in zip(keys, batch, strict=True) if key not in known}
        if new:
            known.update(zip(new, map(row_of, panel.judge(list(new.values()))), strict=True))
        yield [(at, known[key]) for at, key in zip(batch, keys, strict=True)]


def _key(exchange: Exchange) -> bytes:
    """Return a hash of all that a judge may look at; the id is not for judging."""
    content = repr(astuple(exchange)[1:])
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()


@contextmanager
def _warnings() -> Iterator[Sequence[str]]:
    """Collect what our own loggers warn of: a judge that fails and abstains must not go unnoticed."""
    lines: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            line = " ".join(record.getMessage().split())
            if line not in lines and len(lines) < _MOST_WARNINGS:
                lines.append(line)

    handler = Collect(logging.WARNING)
    logging.getLogger(_LOGGER).addHandler(handler)
    try:
        yield lines
    finally:
        logging.getLogger(_LOGGER).removeHandler(handler)
