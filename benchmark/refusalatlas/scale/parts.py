"""What there is to judge, shared out: the files of all sources, and spans of their lines as parts of the work."""

from __future__ import annotations

import codecs
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import AtlasError, DataError
from ..exchanges import is_run
from ..files import Span, open_unpacked
from ..runs import SampleFile, find_results, read_results, sample_files

PART_LINES = 2048
"""Lines of a part: some minutes of judging, which is what a worker that dies can lose."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file with something to judge.

    Attributes:
        path: As its source names it.
        lines: How many lines it has that are not blank.
        sha256: Hash of its unpacked content, in hex.
    """

    path: str
    lines: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of work for one worker: a span of one file.

    Attributes:
        index: Its number among all parts, from 0; parts in this order are the input in its order.
        path: The file, absolute: the workers see it under the same name.
        source: The file as its source names it.
        span: The lines.
    """

    index: int
    path: str
    source: str
    span: Span


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is to be judged: files, and parts of them."""

    files: tuple[InputFile, ...]
    parts: tuple[Part, ...]


def make_plan(sources: Sequence[str], part_lines: int = PART_LINES) -> Plan:
    """Read all sources once, to hash them and to see where their lines begin; memory is bounded by a line.

    Args:
        sources: lm_eval output folders, ``results_*.json``, ``samples_*.jsonl`` or JSON lines, ``.gz`` too.
        part_lines: Lines of a part, 1 or more; the last part of a file may have fewer.

    Raises:
        AtlasError: where a source is not there, cannot be shared out, is cut off, or holds nothing.
    """
    files: list[InputFile] = []
    parts: list[Part] = []
    for source in sources:
        found = False
        for wanted in _files_of(source):
            file, spans = _survey(wanted.path, part_lines)
            if wanted.task:
                wanted.check(file.lines)
            files.append(file)
            path = str(wanted.path.resolve())
            parts += [Part(len(parts) + i, path, file.path, span) for i, span in enumerate(spans)]
            found = found or file.lines > 0
        if not found:
            raise AtlasError("holds nothing to judge", where=source)
    return Plan(tuple(files), tuple(parts))


def _files_of(source: str) -> list[SampleFile]:
    if source == "-":
        mend = "save it as a file, or leave --engine ray out"
        raise AtlasError("cannot be shared out among workers", where="standard input", mend=mend)
    path = Path(source)
    if not is_run(path):
        return [SampleFile("", path, None)]
    results_path = find_results(path)
    return sample_files(results_path, read_results(results_path))


def _survey(path: Path, part_lines: int) -> tuple[InputFile, list[Span]]:
    """Return a file's facts, and its lines in spans; a span without any text is left out."""
    digest = hashlib.sha256()
    spans: list[Span] = []
    lines = start = first = offset = number = texts = 0
    for number, line in enumerate(_raw_lines(path)):
        if number - first == part_lines:
            spans += [Span(start, first + 1, part_lines)] if texts else []
            start, first, texts = offset, number, 0
        digest.update(line)
        offset += len(line)
        blank = not line.removeprefix(codecs.BOM_UTF8 if number == 0 else b"").strip()
        texts += not blank
        lines += not blank
    spans += [Span(start, first + 1, number - first + 1)] if texts else []
    return InputFile(str(path), lines, digest.hexdigest()), spans


def _raw_lines(path: Path) -> Iterator[bytes]:
    try:
        with open_unpacked(path) as raw:
            yield from raw
    except FileNotFoundError:
        raise DataError("no such file", where=path) from None
    except (EOFError, zlib.error):
        raise DataError("cut off or damaged, cannot be unpacked", where=path, mend="copy or make it again") from None
    except OSError as error:
        raise DataError(error.strerror or str(error), where=path) from None
