"""`refusalatlas score`: rates with intervals."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..scoring import Cell


@click.command("score")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--track", help="Only this track.")
@click.option("--language", help="Only this language.")
@click.option("--categories", is_flag=True, help="Also a row for each category.")
@click.option("--format", "style", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True)
def command(run: Path, track: str | None, language: str | None, categories: bool, style: str) -> None:
    """Score RUN, a folder that was lm_eval's --output_path, with 95 % intervals.

    JSON lines and CSV have one cell a row, with numerator, denominator, what was left out, and the method.
    """
    from ..errors import AtlasError
    from ..files import dumps
    from ..languages import get_language
    from ..runs import load_run
    from ..scoring import score_records
    from ..tracks import get_track

    if track:
        get_track(track)
    if language:
        get_language(language)
    records = [
        record
        for record in load_run(run).records
        if (track is None or record.track == track) and (language is None or record.language == language)
    ]
    if not records:
        raise AtlasError("no records of that track and language", where=run, mend="see `refusalatlas tasks list`")
    cells = score_records(records, by_category=categories, pooled=language is None)
    if style == "json":
        for cell in cells:
            click.echo(dumps(cell.to_json()))
    elif style == "csv":
        click.echo(as_csv(cells), nl=False)
    else:
        print_table(cells)


def as_csv(cells: list[Cell]) -> str:
    """Return the cells as CSV with a header; `excluded` is written as ``condition=n`` pairs."""
    rows = []
    for cell in cells:
        row = cell.to_json()
        row["excluded"] = " ".join(f"{name}={n}" for name, n in row["excluded"].items())
        rows.append(row)
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


_SHOWN = ("over_refusal", "unsafe_compliance", "youden_j", "refusal_rate", "usable_rate", "contested_rate")


def print_table(cells: list[Cell]) -> None:
    """Print one line a slice with the main metrics and their intervals."""
    from rich.console import Console
    from rich.table import Table

    slices: dict[tuple[str, str, str], dict[str, Cell]] = {}
    for cell in cells:
        place = cell.locale or cell.language or "all"
        slices.setdefault((cell.track, place, cell.category or ""), {})[cell.metric] = cell
    table = Table(title="Rates with 95 % intervals (no interval: too few seeds or events)", title_justify="left")
    for heading in ("track", "language", *(["category"] if any(key[2] for key in slices) else []), "answers"):
        table.add_column(heading, no_wrap=True)
    for metric in _SHOWN:
        table.add_column(metric.replace("_", " "), justify="right", no_wrap=True)
    for (track, place, category), row in slices.items():
        front = [track, place] + ([category] if len(table.columns) > 9 else [])
        table.add_row(*front, str(row["youden_j"].n), *(shown(row[metric]) for metric in _SHOWN))
    width = None if sys.stdout.isatty() else 160
    Console(width=width).print(table)


def shown(cell: Cell) -> str:
    """Return ``value [low, high]`` with two decimals; an em dash where there is no value."""
    if cell.value is None:
        return "—"
    bounds = f" [{cell.low:.2f}, {cell.high:.2f}]" if cell.low is not None and cell.high is not None else ""
    return f"{cell.value:.2f}{bounds}"
