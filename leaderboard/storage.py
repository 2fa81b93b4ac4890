"""Reading submissions as the untrusted input that they are: bounded in every direction, nothing followed."""

from __future__ import annotations

import functools
import gzip
import io
import json
import stat
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from refusalatlas.errors import DataError
from refusalatlas.files import problems
from refusalatlas.records import RECORD_KEYS, Decision, DetectedLanguage, Finding, Label, Provenance, Record, Verdict

from .schema import DecisionLine, RecordLine, RunFile

RUN_FILE, RECORDS_FILE = "run.json", "records.jsonl.gz"
MAX_RUN = 16 * 2**20
MAX_PACKED = 128 * 2**20
MAX_UNPACKED = 2 * 2**30
MAX_LINE = 512 * 2**10
MAX_LINES = 1_000_000
_CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class Submission:
    """One run as it lies in ``leaderboard/submissions``."""

    folder: Path
    run: RunFile
    records: tuple[Record, ...]
    openings: tuple[tuple[str | None, ...], ...]

    @property
    def slug(self) -> str:
        """Slug of the model, which is the name of the folder above."""
        return self.folder.parent.name


def is_plain_file(path: Path) -> bool:
    """Whether a path is a regular file itself, not a link to one, a pipe or a device."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def is_plain_folder(path: Path) -> bool:
    """Whether a path is a folder itself, not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def read_bounded(path: Path, limit: int) -> bytes:
    """Return a regular file's bytes.

    Raises:
        DataError: where it is missing, not a regular file, or larger than `limit`.
    """
    if not is_plain_file(path):
        raise DataError("is missing or not a regular file", where=path, mend="make it anew with `refusalatlas submit`")
    try:
        with path.open("rb") as handle:
            data = handle.read(limit + 1)
    except OSError as error:
        raise DataError(error.strerror or str(error), where=path) from None
    if len(data) > limit:
        raise DataError(f"is larger than {limit:,} bytes", where=path, mend="submit fewer tasks in one run")
    return data


def read_run(path: Path) -> RunFile:
    """Return a ``run.json``.

    Raises:
        DataError: naming every field that is wrong.
    """
    data = read_bounded(path, MAX_RUN)
    try:
        return RunFile.model_validate_json(data, strict=True)
    except ValidationError as error:
        raise DataError("; ".join(problems(error)[:20]), where=path) from None


def doubled_key(data: bytes) -> str | None:
    """Return a name that an object in JSON text has twice, which readers take differently; None where none has.

    Args:
        data: Text that has been read before, so that nothing in it is deeper than it may be.
    """
    found: list[str] = []

    def look(pairs: list[tuple[str, object]]) -> None:
        names = {name for name, _ in pairs}
        if len(names) < len(pairs):
            found.append(next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1))

    json.loads(data, object_pairs_hook=look, parse_int=str)  # a number of endless digits would be refused
    return found[0] if found else None


def iter_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield `(number, line)` of a gzipped file, unpacking no more at a time than a line may be long.

    Raises:
        DataError: where the file is not gzip, is cut off, carries something behind its end, has a line longer than
            `MAX_LINE`, more than `MAX_LINES` lines, or unpacks to more than `MAX_UNPACKED` bytes.
    """
    packed = io.BytesIO(read_bounded(path, MAX_PACKED))
    rest, number = b"", 0
    for piece in _unpack(packed, path):
        *lines, rest = (rest + piece).split(b"\n")
        for line in (*lines, rest):
            if len(line) > MAX_LINE:
                raise DataError(f"a line is longer than {MAX_LINE:,} bytes", where=f"{path}:{number + 1}")
        for line in lines:
            number += 1
            if number > MAX_LINES:
                raise DataError(f"has more than {MAX_LINES:,} lines", where=path)
            yield number, line
    if rest:
        raise DataError("the last line does not end: cut off?", where=f"{path}:{number + 1}")


def _unpack(packed: io.BytesIO, path: Path) -> Iterator[bytes]:
    stream, total = zlib.decompressobj(16 + zlib.MAX_WBITS), 0
    try:
        while not stream.eof:
            chunk = stream.unconsumed_tail or packed.read(_CHUNK)
            if not chunk:
                raise DataError("cut off in the middle", where=path, mend="copy or make it again")
            piece = stream.decompress(chunk, MAX_LINE)
            total += len(piece)
            if total > MAX_UNPACKED:
                raise DataError(f"unpacks to more than {MAX_UNPACKED:,} bytes", where=path)
            yield piece
    except zlib.error as error:
        raise DataError(f"not gzip ({error})", where=path, mend="make it anew with `refusalatlas submit`") from None
    if stream.unused_data or packed.read(1):
        raise DataError("holds something behind the end of the gzip stream", where=path)


def parse_line(line: bytes, where: str) -> RecordLine:
    """Return a line of ``records.jsonl.gz``.

    Raises:
        DataError: naming every field that is wrong.
    """
    try:
        return RecordLine.model_validate_json(line, strict=True)
    except ValidationError as error:
        raise DataError("; ".join(problems(error)[:5]), where=where) from None


def record_of(line: RecordLine) -> Record:
    """Return the record of a line that has been checked; its salts stayed with the submitter."""
    return Record(
        **{key: getattr(line, key) for key in (*RECORD_KEYS, "panel")},
        decisions=tuple(_decision(entry) for entry in line.decisions),
        provenance=tuple(
            Provenance(p.response_sha256, p.length, p.finish_reason, p.served_model, p.provider)
            for p in line.provenance
        ),
    )


def _decision(entry: DecisionLine) -> Decision:
    said = entry.language
    return Decision(
        label=entry.label,
        condition=entry.condition,
        language=DetectedLanguage(said.expected, said.detected, said.confidence),
        agreement=entry.agreement,
        contested=entry.contested,
        votes=tuple(_verdict(v.judge, v.version, v.label, v.confidence) for v in entry.votes),
        reasons=tuple(Finding(f.reason, f.evidence) for f in entry.reasons),
        features=tuple(Finding(f.feature, f.evidence) for f in entry.features),
        escalated_by=entry.escalated_by,
        single_family=entry.single_family,
        outcome=entry.outcome,
    )


@functools.lru_cache(maxsize=4096)
def _verdict(judge: str, version: str, label: Label | None, confidence: float) -> Verdict:
    """Return a verdict; the same few come again in every record, and one object does for all of them."""
    return Verdict(judge, version, label, confidence)


def read_submission(folder: Path) -> Submission:
    """Return the submission in a folder.

    Raises:
        DataError: at the first thing that is wrong; `refusalatlas.leaderboard.verify` names them all.
    """
    run = read_run(folder / RUN_FILE)
    path = folder / RECORDS_FILE
    lines = [parse_line(line, f"{path}:{number}") for number, line in iter_lines(path)]
    return Submission(
        folder=folder,
        run=run,
        records=tuple(record_of(line) for line in lines),
        openings=tuple(line.openings for line in lines),
    )


def run_folders(root: Path) -> list[Path]:
    """Return the run folders below a submissions folder, sorted; files and links are left to `verify`."""
    if not is_plain_folder(root):
        return []
    models = [path for path in sorted(root.iterdir()) if is_plain_folder(path) and not path.name.startswith(".")]
    return [run for model in models for run in sorted(model.iterdir()) if is_plain_folder(run)]


def pack(lines: list[str]) -> bytes:
    """Return lines as gzip; the same lines give the same bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=9) as handle:
        for line in lines:
            handle.write(f"{line}\n".encode())
    return buffer.getvalue()
