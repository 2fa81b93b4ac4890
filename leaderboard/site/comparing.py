"""Pages that set two models against each other, on the requests that both answered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from refusalatlas.leaderboard.storage import read_submission

from refusalatlas.comparison import Comparison, compare_records
from refusalatlas.records import Record

from .gather import HEADLINE_TRACK, Atlas, Entry, newest
from .metrics import METRICS, Metric, written
from .tables import Column, Estimate, Row, Table, Text, Value
from .views import Speech, by_youden, unranked_because

MAX_COMPARED = 8
"""So many models are compared with each other; the number of pairs grows with the square."""

_DIFFERENCE = Metric("difference", "Difference", "First less second.", "neither", "index")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models and what their paired differences are."""

    first: Entry
    second: Entry
    found: tuple[Comparison, ...]

    @property
    def href(self) -> str:
        """Address of its page."""
        return f"compare/{self.first.slug}--{self.second.slug}.html"

    def overall(self) -> Comparison | None:
        """Return the comparison of Youden's J over all languages."""
        return next((c for c in self.found if c.metric == "youden_j" and c.place is None), None)


def compared(atlas: Atlas) -> list[Entry]:
    """Return the models that are compared: those that come first in the overview."""
    order = sorted(by_youden(atlas.models), key=lambda e: unranked_because(e) is not None)
    return [entry for entry in order if entry.answers.keys][:MAX_COMPARED]


def pairs(atlas: Atlas, submissions: Path) -> list[Pair]:
    """Return all pairs of the models that are compared."""
    chosen = compared(atlas)
    records = {entry.slug: _records(entry, submissions) for entry in chosen}
    found = []
    for index, first in enumerate(chosen):
        for second in chosen[index + 1 :]:
            here, there = records[first.slug], records[second.slug]
            if {r.id for r in here} & {r.id for r in there}:
                found.append(Pair(first, second, tuple(compare_records(here, there))))
    return found


def _records(entry: Entry, submissions: Path) -> list[Record]:
    read = [read_submission(submissions / entry.slug / run.run_id) for run in entry.runs]
    kept = [r for r in newest(read) if r.track == HEADLINE_TRACK and r.variant == "base"]
    return [replace(r, provenance=(), decisions=tuple(replace(d, votes=()) for d in r.decisions)) for r in kept]


def sentences(pair: Pair) -> list[str]:
    """Return what differs over all languages, in words."""
    names = (pair.first.name, pair.second.name)
    said = [c.in_words(*names) for c in pair.found if c.place is None]
    said = [re.sub(r"(?<= )-(?=\d)", "\N{MINUS SIGN}", text) for text in said]
    titles = {key: metric.title for key, metric in METRICS.items()}
    return [f"{titles.get(text.partition(' ')[0], '')} {text.partition(' ')[2]}" for text in said]


def pair_table(pair: Pair) -> Table:
    """Return all differences of a pair."""
    columns = (
        Column("place", "Language"),
        Column("metric", "Number"),
        Column("difference", "Difference", "stat", "First less second.", _DIFFERENCE),
        Column("p", "p (Holm)", "p", "Adjusted over the languages of one number."),
        Column("pairs", "Items or pairs", "count"),
        Column("detectable", "Could show", "number", "Smallest difference that so many seeds show with 80 % power."),
    )
    rows = []
    for found in sorted(pair.found, key=lambda c: (c.place is not None, c.place or "", c.metric)):
        title = METRICS[found.metric].title
        place = Text("All languages", ours=True) if found.place is None else Text(_place(found.place))
        value = found.difference
        cells: dict[str, Value] = {
            "place": place,
            "metric": Text(title, ours=True),
            "difference": Estimate(value.value, value.low, value.high, found.pairs, value.reason),
            "p": found.p_holm,
            "pairs": found.pairs,
            "detectable": found.detectable,
        }
        rows.append(Row(cells, {"metric": title}))
    return Table(pair.href.removesuffix(".html"), "Differences", columns, tuple(rows))


def _place(code: str) -> str:
    return Speech.of(code).english_name


@dataclass(frozen=True, slots=True)
class Against:
    """One cell of the matrix: a difference, how it is shaded, and where it leads."""

    href: str
    shown: str
    tone: str
    sure: bool


def matrix(chosen: Sequence[Entry], found: Sequence[Pair]) -> Iterator[dict[str, object]]:
    """Yield the rows of the matrix of differences of Youden's J; None stands for what was not compared."""
    by_slugs = {(p.first.slug, p.second.slug): p for p in found}
    for row in chosen:
        cells: list[Against | None] = []
        for column in chosen:
            pair = by_slugs.get((row.slug, column.slug)) or by_slugs.get((column.slug, row.slug))
            overall = pair.overall() if pair else None
            if pair is None or overall is None or overall.difference.value is None:
                cells.append(None)
                continue
            value = overall.difference.value * (1 if pair.first.slug == row.slug else -1)
            sure = overall.p_holm is not None and overall.p_holm < 0.05
            tone = "h2" if not sure else "h4" if value > 0 else "h0"
            shown = written(value, "index")
            shown = f"+{shown}" if value > 0 and shown != "0.00" else shown
            cells.append(Against(pair.href, shown, tone, sure))
        yield {"slug": row.slug, "name": row.name, "cells": cells}
