"""Dated snapshots of the overview, and what changed from one to the next."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.files import problems, write_atomic

from .gather import Atlas
from .metrics import METRICS, written

_FILE = re.compile(r"^\d{4}-\d{2}-\d{2}\.json$")
_SHOWN = ("youden_j", "over_refusal", "unsafe_compliance")


class ModelThen(BaseModel):
    """One model as it stood in a snapshot."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(max_length=200)]
    tier: str
    runs: tuple[str, ...]
    numbers: dict[str, float | None]


class SnapshotFile(BaseModel):
    """What ``leaderboard/snapshots/<date>.json`` holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    date: datetime.date
    models: dict[str, ModelThen]


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that changed: of which model, what, and from what to what."""

    name: str
    what: str
    was: str = ""
    now: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What changed up to a snapshot, or since the last one where it has no date."""

    date: str
    file: bool
    changes: tuple[Change, ...]


def snapshot(atlas: Atlas, date: datetime.date) -> SnapshotFile:
    """Return the numbers of today's overview under a date."""
    models = {}
    for entry in atlas.entries:
        numbers = {}
        for key in _SHOWN:
            estimate = entry.headline.get(key)
            numbers[key] = None if estimate is None or estimate.value is None else round(estimate.value, 6)
        runs = tuple(run.run_id for run in entry.runs)
        models[entry.slug] = ModelThen(name=entry.name, tier=entry.tier, runs=runs, numbers=numbers)
    return SnapshotFile(date=date, models=models)


def write_snapshot(atlas: Atlas, folder: Path, date: datetime.date) -> Path:
    """Write a snapshot and return its file.

    Raises:
        AtlasError: where there is one of that date already, since a snapshot is never changed.
    """
    path = folder / f"{date.isoformat()}.json"
    if path.exists():
        raise AtlasError("is there already, and a snapshot is never changed", where=path, mend="take another date")
    write_atomic(path, snapshot(atlas, date).model_dump_json(indent=1) + "\n")
    return path


def read_snapshots(folder: Path) -> list[SnapshotFile]:
    """Return the snapshots of a folder, oldest first.

    Raises:
        DataError: where one is broken or its name is not its date.
    """
    found = []
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        try:
            data = SnapshotFile.model_validate_json(path.read_bytes())
        except (ValidationError, json.JSONDecodeError) as error:
            what = "; ".join(problems(error)[:3]) if isinstance(error, ValidationError) else str(error)
            raise DataError(what, where=path) from None
        if not _FILE.match(path.name) or path.stem != data.date.isoformat():
            raise DataError(f"holds the snapshot of {data.date}", where=path, mend="name it by its date")
        found.append(data)
    return found


def steps(snapshots: Sequence[SnapshotFile], atlas: Atlas) -> list[Step]:
    """Return what changed, newest first: since the last snapshot, then from each to the one after it."""
    now = snapshot(atlas, datetime.date.max).models
    states: list[tuple[str, Mapping[str, ModelThen]]] = [("", now)]
    states += [(s.date.isoformat(), s.models) for s in reversed(snapshots)]
    befores = [models for _, models in states[1:]] + [{}]
    return [
        Step(date, bool(date), tuple(_changes(before, after)))
        for (date, after), before in zip(states, befores, strict=True)
    ]


def _changes(before: Mapping[str, ModelThen], after: Mapping[str, ModelThen]) -> Iterator[Change]:
    for slug in sorted(before.keys() | after.keys()):
        old, new = before.get(slug), after.get(slug)
        if new is None:
            yield Change(old.name if old else slug, "gone")
        elif old is None:
            yield Change(new.name, "new")
        else:
            yield from _of_model(old, new)


def _of_model(old: ModelThen, new: ModelThen) -> Iterator[Change]:
    if old.tier != new.tier:
        yield Change(new.name, "Trust", old.tier, new.tier)
    if old.runs != new.runs:
        yield Change(new.name, "Runs", str(len(old.runs)), str(len(new.runs)))
    for key in _SHOWN:
        was, now = old.numbers.get(key), new.numbers.get(key)
        scale = METRICS[key].scale
        if written(was, scale) != written(now, scale):
            yield Change(new.name, METRICS[key].title, written(was, scale), written(now, scale))
