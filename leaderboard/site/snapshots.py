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
from .metrics import DASH, HEADLINE, METRICS, written
from .tables import Estimate
from .views import tie_groups, unranked_because

_FILE = re.compile(r"^\d{4}-\d{2}-\d{2}\.json$")
_COMPARED = ("youden_j", "over_refusal", "unsafe_compliance")


class NumberThen(BaseModel):
    """A number as it stood; fields as of `tables.Estimate`."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None


class ModelThen(BaseModel):
    """One model as it stood in a snapshot.

    Attributes:
        name: What it is called.
        reference: Whether it is a reference policy.
        tier: How far its runs were trusted.
        group: Its tie group, or None where it had none.
        unranked: Why it had none, in a word or two.
        languages: In how many languages it had been asked.
        runs: What its numbers rested on, newest first.
        numbers: On the headline track, over all its languages; by metric.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(max_length=200)]
    reference: bool
    tier: str
    group: int | None
    unranked: str | None
    languages: int
    runs: tuple[str, ...]
    numbers: dict[str, NumberThen | None]


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


def snapshot(atlas: Atlas, tied: Mapping[str, int], date: datetime.date) -> SnapshotFile:
    """Return the numbers and tie groups of today's overview under a date."""
    models = {
        entry.slug: ModelThen(
            name=entry.name,
            reference=entry.reference,
            tier=entry.tier,
            group=tied.get(entry.slug),
            unranked=None if entry.reference else unranked_because(entry),
            languages=len(entry.languages),
            runs=tuple(run.run_id for run in entry.runs),
            numbers={key: _then(entry.headline.get(key)) for key in HEADLINE},
        )
        for entry in atlas.entries
    }
    return SnapshotFile(date=date, models=models)


def _then(estimate: Estimate | None) -> NumberThen | None:
    if estimate is None:
        return None
    value, low, high = (None if x is None else round(x, 6) for x in (estimate.value, estimate.low, estimate.high))
    return NumberThen(value=value, low=low, high=high, n=estimate.n, reason=estimate.reason)


def write_snapshot(atlas: Atlas, folder: Path, date: datetime.date) -> Path:
    """Write a snapshot and return its file.

    Raises:
        AtlasError: where there is one of that date already, since a snapshot is never changed, or one that is newer,
            since today's numbers are not those of a day before it.
    """
    path = folder / f"{date.isoformat()}.json"
    if path.exists():
        raise AtlasError("is there already, and a snapshot is never changed", where=path, mend="take another date")
    newest = max((taken.date for taken in read_snapshots(folder)), default=date)
    if date < newest:
        what = f"would be older than the snapshot of {newest}, with the numbers of today"
        raise AtlasError(what, where=path, mend="take a later date")
    write_atomic(path, snapshot(atlas, tie_groups(atlas), date).model_dump_json(indent=1) + "\n")
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


def steps(snapshots: Sequence[SnapshotFile], atlas: Atlas, tied: Mapping[str, int]) -> list[Step]:
    """Return what changed, newest first: since the last snapshot, then from each to the one after it."""
    now = snapshot(atlas, tied, datetime.date.max).models
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
    if old.group != new.group:
        yield Change(new.name, "Group", *(DASH if group is None else str(group) for group in (old.group, new.group)))
    for key in _COMPARED:
        was, now = (written(None if n is None else n.value, METRICS[key].scale) for n in _numbers(key, old, new))
        if was != now:
            yield Change(new.name, METRICS[key].title, was, now)


def _numbers(key: str, *models: ModelThen) -> list[NumberThen | None]:
    return [model.numbers.get(key) for model in models]
