"""Rows and cells on a terminal: nothing is wider than it, and nothing is cut off without a sign."""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from ..guards.scoring import GuardCell
    from ..scoring import Cell

NOTHING = "—"
_PIPED = 10_000  # columns where there is no terminal and COLUMNS does not say: a row is then one line, to be searched
_BETWEEN = 3  # what a column needs besides its text
_BOUND = re.compile(r"at (?:most|least) \d\.\d+")
_P_VALUES = ("p", "p_holm")


def shown(cell: Cell | GuardCell) -> str:
    """Return ``value [low, high]``, or the value with why it has no interval; a dash without value.

    Where all answers are alike that is the bound that their number leaves: a bare 0 or 1 would look exact. There are
    two decimals, and more only where two would leave nothing of the interval.
    """
    if cell.value is None:
        return NOTHING
    if cell.low is not None and cell.high is not None:
        low, high = cell.low, cell.high
        digits = next((n for n in range(2, 9) if f"{low:.{n}f}" != f"{high:.{n}f}"), 9)
        return f"{cell.value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
    reason = cell.reason or "no interval"
    bound = _BOUND.search(reason)
    return f"{cell.value:.2f} ({bound[0] if bound else reason.partition(' (')[0]})"


def print_rows(rows: Sequence[Mapping[str, Any]], style: str) -> None:
    """Print flat rows as JSON lines, CSV or a table.

    Where a table is too narrow for all columns, what is the same in every row is said once above it, and numbers that
    do not fit beside the others stand in another block below.
    """
    from ..files import dumps

    if style == "json":
        for row in rows:
            click.echo(dumps(row))
    elif style == "csv":
        click.echo(as_csv(rows), nl=False)
    elif rows:
        _print_rows(rows)


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV with a header; a mapping is written as ``name=n`` pairs."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        flat = {k: " ".join(f"{n}={c}" for n, c in v.items()) if isinstance(v, Mapping) else v for k, v in row.items()}
        writer.writerow(flat)
    return out.getvalue()


def _text(key: str, value: Any) -> str:
    from ..wording import p_number

    if value is None:
        return NOTHING
    if isinstance(value, float):
        return p_number(value) if key in _P_VALUES else f"{value:.3g}"
    return str(value)


def _print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    texts = [{key: _text(key, value) for key, value in row.items()} for row in rows]
    keys = list(rows[0])
    widths = {key: max(len(key), *(len(row[key]) for row in texts)) for key in keys}
    if sum(widths.values()) + _BETWEEN * len(keys) + 1 > _width() and len(rows) > 1:
        changing = [key for key in keys if len({row[key] for row in texts}) > 1] or keys
        for key in keys if changing != keys else ():
            if key not in changing:
                click.echo(f"{key.replace('_', ' ')}: {texts[0][key]}")
        keys = changing
    # What a row is about are the names that stand before its first number.
    numbers = [i for i, key in enumerate(keys) if any(isinstance(row[key], int | float) for row in rows)]
    first = numbers[0] if numbers else len(keys)
    headings = [key.replace("_", " ") for key in keys]
    print_blocks(None, headings[:first], headings[first:], [[row[key] for key in keys] for row in texts])


_SHOWN = ("over_refusal", "unsafe_compliance", "youden_j", "refusal_rate", "usable_rate", "contested_rate")
_OF_NORMS = ("awareness_rate", "unaware_compliance")


def print_table(cells: Sequence[Cell], name: str | None = None) -> None:
    """Print one line a slice with the main metrics and their intervals, and another table of forms where there are."""
    from ..grounding_gap import GROUNDING_GAP
    from ..outcomes import OUTCOME_METRICS

    title = f"Rates with 95 % intervals, or why there is none ({NOTHING}: nothing to count)"
    norms = tuple(metric for metric in _OF_NORMS if any(cell.metric == metric for cell in cells))
    _print_slices(cells, (*norms, *_SHOWN), f"{name}: {title}" if name else title)
    filled = [cell for cell in cells if cell.metric in OUTCOME_METRICS or cell.metric == GROUNDING_GAP]
    if filled:
        there = {cell.metric for cell in filled}
        metrics = [metric for metric in (*OUTCOME_METRICS, GROUNDING_GAP) if metric in there]
        _print_slices(filled, metrics, "Forms filled in, places given, things named and objects, by their own judge")


def _print_slices(cells: Sequence[Cell], metrics: Sequence[str], title: str) -> None:
    """Print one line a slice; a column says the axis where there are two."""
    slices: dict[tuple[str, str, str, str, str], dict[str, Cell]] = {}
    several = len({cell.axis for cell in cells}) > 1
    for cell in cells:
        track = cell.track if cell.variant == "base" else f"{cell.track} ({cell.variant})"
        place = cell.locale or cell.language or "all"
        axis = cell.axis if several else ""
        slices.setdefault((track, place, axis, cell.category or "", cell.expected or ""), {})[cell.metric] = cell
    split = [i for i in (2, 3, 4) if any(key[i] for key in slices)]
    front = ["track", "language", *(("axis", "category", "expected")[i - 2] for i in split), "answers"]
    rows = []
    for key, row in slices.items():
        said = [shown(row[metric]) if metric in row else "" for metric in metrics]
        rows.append([*key[:2], *(key[i] for i in split), str(next(iter(row.values())).n), *said])
    print_blocks(title, front, [metric.replace("_", " ") for metric in metrics], rows)


def print_blocks(title: str | None, front: Sequence[str], rest: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table in as many blocks, one below another, as the width asks for; each begins with the front columns.

    Args:
        title: What stands above the first block, if anything.
        front: Headings of the columns that say what a row is about.
        rest: Headings of the others; as many go side by side as fit whole.
        rows: One text for each column, front and rest.
    """
    from rich.table import Table

    headings = [*front, *rest]
    widths = [_BETWEEN + max([len(head), *(len(row[i]) for row in rows)]) for i, head in enumerate(headings)]
    lead = list(range(len(front)))
    room = _width() - 1 - sum(widths[i] for i in lead)
    console = _console()
    for number, block in enumerate(_blocks(range(len(front), len(headings)), widths, room)):
        table = Table(title=None if number else title, title_justify="left", title_style="")
        for i in (*lead, *block):
            table.add_column(headings[i], justify="left" if i in lead else "right", overflow="fold")
        for row in rows:
            table.add_row(*(row[i] for i in (*lead, *block)))
        console.print(table)


def _blocks(columns: Iterable[int], widths: Sequence[int], room: int) -> list[list[int]]:
    """Return columns side by side as long as they fit; one that is too wide even alone is wrapped by itself."""
    blocks: list[list[int]] = [[]]
    for column in columns:
        if blocks[-1] and sum(widths[i] for i in (*blocks[-1], column)) > room:
            blocks.append([])
        blocks[-1].append(column)
    return blocks


def _width() -> int:
    """Return the terminal's width; COLUMNS comes first, and a pipe has no end."""
    return shutil.get_terminal_size((_PIPED, 24)).columns


def _console() -> Console:
    """Return a console that takes names for what they are, markup of its own included."""
    from rich.console import Console

    return Console(width=_width(), markup=False, emoji=False, highlight=False)


def validation_note(cells: Sequence[Cell]) -> str:
    """Return one sentence on the languages whose rates stand as the judges found them, since nobody checked them."""
    raw = sorted({cell.language or "" for cell in cells if cell.corrected_reason == "unvalidated"})
    if not raw:
        return "The judges are validated in every language here; --format json has the corrected rates."
    return f"Unvalidated, so that these are the judges' findings, uncorrected: {', '.join(raw)}."
