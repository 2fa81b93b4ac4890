"""Pages that set two models against each other, on the requests that both answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup, escape
from refusalatlas.leaderboard.storage import read_submission

from refusalatlas.comparison import OF_PAIRS as COMPARED
from refusalatlas.comparison import Comparison, compare_records
from refusalatlas.records import Record
from refusalatlas.wording import p_words

from .gather import HEADLINE_TRACK, Atlas, Entry, newest
from .metrics import METRICS, Metric, in_points, signed_points, written
from .tables import Column, Estimate, Row, Table, Text, Value
from .untrusted import visible
from .views import by_youden, language_name, unranked_because
from .wording import mark

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


def choices(atlas: Atlas) -> list[tuple[str, list[Entry]]]:
    """Return what the browser can compare, models and then reference policies, under the headings of its menus."""
    groups = (("Models", by_youden(atlas.models)), ("Reference policies", by_youden(atlas.references)))
    return [(head, [entry for entry in entries if entry.answered]) for head, entries in groups]


def pairs(atlas: Atlas, submissions: Path) -> list[Pair]:
    """Return all pairs of the models that are compared; those that share no request are left out."""
    chosen = compared(atlas)
    records = {entry.slug: _records(entry, submissions) for entry in chosen}
    found = []
    for index, first in enumerate(chosen):
        for second in chosen[index + 1 :]:
            here, there = records[first.slug], records[second.slug]
            if _comparable(here, there):
                found.append(Pair(first, second, tuple(compare_records(here, there))))
    return found


def _comparable(first: Sequence[Record], second: Sequence[Record]) -> bool:
    """Versions ``N-X`` with another N have other items under the same names."""
    versions = {record.version.split("-")[0] for record in (*first, *second)}
    return len(versions) == 1 and bool({r.id for r in first} & {r.id for r in second})


def _records(entry: Entry, submissions: Path) -> list[Record]:
    read = [read_submission(submissions / entry.slug / run.run_id) for run in entry.runs]
    kept = [r for r in newest(read) if r.track == HEADLINE_TRACK and r.variant == "base"]
    return [replace(r, provenance=(), decisions=tuple(replace(d, votes=()) for d in r.decisions)) for r in kept]


SAID = {
    "higher": "{number}: {first} is higher than {second} by {points} points.",
    "lower": "{number}: {first} is lower than {second} by {points} points.",
    "same": "{number}: no difference shown. {count} comparisons on {seeds} seeds could show one of {points} points.",
    "few": "{number}: no difference shown. {count} comparisons on {seeds} seeds are too few to show one.",
    "nothing": "{number}: nothing to compare.",
}
"""What is said of a difference over all languages; ``static/compare.js`` says the same."""


def sentences(pair: Pair) -> list[Markup]:
    """Return what differs over all languages, in words of the interface."""
    return [_sentence(pair, found) for found in pair.found if found.place is None]


def _sentence(pair: Pair, found: Comparison) -> Markup:
    number, value = mark(METRICS[found.metric].title), found.difference.value
    if value is None:
        return mark(SAID["nothing"], number=number)
    if found.p_holm is not None and found.p_holm < 0.05:
        first, second = (
            Markup("<bdi>") + escape(visible(e.name)) + Markup("</bdi>") for e in (pair.first, pair.second)
        )
        said = SAID["higher" if value > 0 else "lower"]
        return mark(said, number=number, first=first, second=second, points=in_points(abs(value))) + _evidence(found)
    counts = {"count": f"{found.pairs:,}", "seeds": found.seeds}
    if found.detectable is None:
        return mark(SAID["few"], number=number, **counts)
    return mark(SAID["same"], number=number, **counts, points=in_points(found.detectable))


def _evidence(found: Comparison) -> Markup:
    """Return interval and p-value, which read alike in all languages; in points, like the sentence before them."""
    low, high = found.difference.low, found.difference.high
    said = [] if low is None or high is None else [f"95 %: [{signed_points(low)}, {signed_points(high)}]"]
    said.append(p_words(found.p_holm or 0.0))
    return Markup(' <span class="evidence" dir="ltr">(') + "; ".join(said) + Markup(")</span>")


_COLUMNS = (
    Column("place", "Language"),
    Column("metric", "Number"),
    Column("difference", "Difference", "stat", "First less second.", _DIFFERENCE),
    Column("p", "p (Holm)", "p", "Adjusted over the languages of one number."),
    Column("pairs", "Items or pairs", "count"),
    Column("detectable", "Could show", "number", "Smallest difference that so many seeds show with 80 % power."),
)


def pair_table(pair: Pair) -> Table:
    """Return all differences of a pair."""
    rows = []
    for found in sorted(pair.found, key=lambda c: (c.place is not None, c.place or "", c.metric)):
        title = METRICS[found.metric].title
        place = Text("All languages", ours=True) if found.place is None else language_name(found.place)
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
    return Table(pair.href.removesuffix(".html"), "Differences", _COLUMNS, tuple(rows))


def blank_table() -> Table:
    """Return the table that the browser fills in for a pair that has no page: one row a metric, without numbers."""
    titles = [METRICS[metric].title for metric in COMPARED]
    rows = (Row({"metric": Text(title, ours=True)}, {"metric": title}) for title in titles)
    return Table("compare", "Differences", _COLUMNS, tuple(rows))


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
