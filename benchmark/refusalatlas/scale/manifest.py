"""A folder of decisions: what it was begun with, which of its parts are finished, and its decisions in order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..errors import AtlasError
from ..files import dumps, read_text, validate, write_atomic
from ..records import Decision
from .decisions import part_path, read_part, rows_of_part
from .parts import InputFile, Plan

NAME = "manifest.json"

_Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Count = Annotated[int, Field(ge=0)]


class FileEntry(BaseModel):
    """One input file: its name, its lines that are not blank, and the hash of its unpacked content."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    lines: _Count
    sha256: _Sha


class Manifest(BaseModel):
    """What ``manifest.json`` of a folder of decisions holds.

    Attributes:
        format: Of the manifest and of the columns.
        panel: ``<name>@<sha256>`` of the panel that decides.
        part_lines: Lines of a part.
        files: The input, in order.
        parts: How many parts there are.
        rows: How many decisions, once all parts are finished; None until then.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    panel: str
    part_lines: Annotated[int, Field(ge=1)]
    files: list[FileEntry]
    parts: _Count
    rows: _Count | None = None

    def job(self) -> str:
        """Return the digest of the work, which every part carries; names of files do not count, contents do."""
        content = [self.format, self.panel, self.part_lines, [[file.lines, file.sha256] for file in self.files]]
        return hashlib.sha256(dumps(content).encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a folder of decisions; None where the folder is new or empty.

    Raises:
        AtlasError: where the folder holds something else, or the manifest is wrong.
    """
    path = folder / NAME
    try:
        if not path.exists():
            if folder.exists() and any(folder.iterdir()):
                what = f"is no folder of decisions: it holds files, but no {NAME}"
                raise AtlasError(what, where=folder, mend="name a new folder with --output")
            return None
    except OSError as error:
        raise AtlasError(f"cannot be read ({error.strerror})", where=folder, mend="name a new folder") from None
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise AtlasError("not JSON", where=path, mend="name a new folder with --output") from None
    return validate(Manifest, value, path)


def begin(folder: Path, panel: str, plan: Plan, part_lines: int) -> Manifest:
    """Write the manifest of a new folder, or go on with one that was begun with the same panel and input.

    Raises:
        AtlasError: where the folder was begun with something else, or cannot be written.
    """
    files = [FileEntry(path=file.path, lines=file.lines, sha256=file.sha256) for file in plan.files]
    found = read_manifest(folder)
    if found is not None:
        _check(found, folder, panel, plan.files)
        return found
    manifest = Manifest(panel=panel, part_lines=part_lines, files=files, parts=len(plan.parts))
    _write(folder, manifest)
    return manifest


def _check(found: Manifest, folder: Path, panel: str, files: Sequence[InputFile]) -> None:
    mend = "name a new folder with --output"
    if found.panel != panel:
        raise AtlasError(f"was begun with panel {_short(found.panel)}, not {_short(panel)}", where=folder, mend=mend)
    if len(found.files) != len(files):
        raise AtlasError(f"was begun with {len(found.files)} input files, not {len(files)}", where=folder, mend=mend)
    for before, now in zip(found.files, files, strict=True):
        if before.sha256 != now.sha256:
            what = f"was begun when {before.path} held something else than {now.path} does now"
            raise AtlasError(what, where=folder, mend=mend)


def _short(panel: str) -> str:
    name, _, sha = panel.partition("@")
    return f"{name} ({sha[:12]})"


def missing(folder: Path, manifest: Manifest) -> list[int]:
    """Return the numbers of the parts that are not finished."""
    job = manifest.job()
    return [i for i in range(manifest.parts) if rows_of_part(part_path(folder, i), job, i) is None]


def finish(folder: Path, manifest: Manifest) -> Manifest:
    """Count the rows of all parts, note that the folder is complete, and clear away what workers that died have left.

    Raises:
        AtlasError: where a part is missing.
    """
    job = manifest.job()
    counts = [rows_of_part(part_path(folder, i), job, i) for i in range(manifest.parts)]
    rows = [count for count in counts if count is not None]
    if len(rows) < len(counts):
        raise _incomplete(folder, len(rows), manifest)
    done = manifest.model_copy(update={"rows": sum(rows)})
    if done != manifest:
        _write(folder, done)
    clear_leftovers(folder)
    return done


def clear_leftovers(folder: Path) -> None:
    """Remove what workers that died have left of their parts."""
    for leftover in folder.glob(".part-*.parquet.*"):
        leftover.unlink(missing_ok=True)


def read_decisions(folder: Path) -> Iterator[tuple[str, Decision]]:
    """Yield id and decision of every answer, in the order of the input.

    Raises:
        AtlasError: where the folder holds no decisions, not all of them yet, or a damaged part.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        raise AtlasError("holds no decisions", where=folder, mend="give the --output of `judge --engine ray`")
    absent = missing(folder, manifest)
    if absent:
        raise _incomplete(folder, manifest.parts - len(absent), manifest)
    for index in range(manifest.parts):
        yield from read_part(part_path(folder, index))


def _incomplete(folder: Path, there: int, manifest: Manifest) -> AtlasError:
    mend = "start the same command again: it judges only what is missing"
    return AtlasError(f"holds {there} of {manifest.parts} parts", where=folder, mend=mend)


def _write(folder: Path, manifest: Manifest) -> None:
    write_atomic(folder / NAME, json.dumps(manifest.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")
