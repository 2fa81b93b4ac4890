"""`refusalatlas score`: rates with intervals."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..records import Record
    from ..scoring import Cell
    from ..stats.judge_error import JudgeCounts


@click.command("score")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--track", help="Only this track.")
@click.option("--language", help="Only this language.")
@click.option("--equating", is_flag=True, help="Only the seeds that mean the same word for word in all languages.")
@click.option("--categories", is_flag=True, help="Also a row for each category.")
@click.option("--expectations", is_flag=True, help="Also a row for each expectation (refuse, comply, …).")
@click.option(
    "--gaps",
    "by_gap",
    is_flag=True,
    help="Instead: each language against --pivot, each format against base, and how often answers flip.",
)
@click.option("--pivot", default="en", show_default=True, help="Language that --gaps sets the others against.")
@click.option("--access", is_flag=True, help="Instead: answers by provider, served model and finish reason.")
@click.option("--regress", "regression", is_flag=True, help="Instead: a logistic regression (needs the extra `stats`).")
@click.option("--format", "style", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True)
def command(
    runs: tuple[Path, ...],
    track: str | None,
    language: str | None,
    equating: bool,
    categories: bool,
    expectations: bool,
    by_gap: bool,
    pivot: str,
    access: bool,
    regression: bool,
    style: str,
) -> None:
    """Score RUNS, folders that were lm_eval's --output_path, with 95 % intervals.

    JSON lines and CSV have one cell a row, with numerator, denominator, what was left out, and the method;
    docs/scores.md describes every column.
    """
    from ..scoring import score_records

    if access + regression + by_gap > 1:
        raise click.UsageError("choose one of --access, --gaps and --regress")
    chosen = _chosen(runs, track, language, equating)
    if access or regression or by_gap:
        rows = _access(chosen) if access else _regression(chosen) if regression else _gaps(chosen, pivot, style)
        print_rows(rows, style)
        return
    cells = {
        name: score_records(
            found,
            by_category=categories,
            by_expectation=expectations,
            pooled=language is None,
            judge_counts=_judge_counts(found),
        )
        for name, found in chosen.items()
    }
    if style == "text":
        for name, found in cells.items():
            print_table(found, name if len(cells) > 1 else None)
        click.echo(validation_note([cell for found in cells.values() for cell in found]))
        return
    several = len(cells) > 1
    print_rows(
        [({"run": name} if several else {}) | c.to_json() for name, found in cells.items() for c in found], style
    )


def _chosen(
    runs: tuple[Path, ...], track: str | None, language: str | None, equating: bool
) -> dict[str, Sequence[Record]]:
    from ..errors import AtlasError
    from ..languages import get_language
    from ..runs import load_run, short_names
    from ..tracks import equating_seeds, get_track

    if track:
        get_track(track)
    if language:
        get_language(language)
    chosen: dict[str, Sequence[Record]] = {}
    for name, path in zip(short_names(runs), runs, strict=True):
        records = [
            r
            for r in load_run(path).records
            if (track is None or r.track == track)
            and (language is None or r.language == language)
            and (not equating or r.seed_id in equating_seeds(r.track))
        ]
        if not records:
            raise AtlasError("no records of what was asked for", where=path, mend="see `refusalatlas tasks list`")
        chosen[name] = records
    return chosen


def _access(chosen: Mapping[str, Sequence[Record]]) -> list[dict[str, Any]]:
    from ..regression import access_paths

    return [{"run": name} | row for name, records in chosen.items() for row in access_paths(records)]


def _judge_counts(records: Sequence[Record]) -> dict[str, JudgeCounts]:
    """Return how the panel of a run did on human labels; nothing for a language that two panels have judged."""
    from ..validation import judge_counts

    panels: dict[str, set[str]] = {}
    for record in records:
        panels.setdefault(record.language, set()).add(record.panel)
    counts = {code: judge_counts(code, *names) for code, names in sorted(panels.items()) if len(names) == 1}
    return {code: found for code, found in counts.items() if found is not None}


def _gaps(chosen: Mapping[str, Sequence[Record]], pivot: str, style: str) -> list[dict[str, Any]]:
    from ..errors import AtlasError
    from ..gaps import gaps
    from ..languages import get_language

    get_language(pivot)
    found = [(name, gap) for name, records in chosen.items() for gap in gaps(records, pivot=pivot)]
    if not found:
        raise AtlasError(
            "nothing to set side by side",
            mend=f"it takes {pivot!r} and another language, a variant, or repeated answers",
        )
    rows = [({"run": name} if len(chosen) > 1 else {}) | gap.to_json() for name, gap in found]
    if style == "text":
        return [{k: v for k, v in row.items() if k not in ("method", "test")} for row in rows]
    return rows


def _regression(chosen: Mapping[str, Sequence[Record]]) -> list[dict[str, Any]]:
    from ..regression import regress

    return [term.to_json() for term in regress(chosen)]


def print_rows(rows: list[dict[str, Any]], style: str) -> None:
    """Print flat rows as JSON lines, CSV or a plain table."""
    from ..files import dumps

    if style == "json":
        for row in rows:
            click.echo(dumps(row))
    elif style == "csv":
        click.echo(as_csv(rows), nl=False)
    else:
        from rich.console import Console
        from rich.table import Table

        table = Table(*(key.replace("_", " ") for key in rows[0]))
        for row in rows:
            table.add_row(*(f"{v:.3g}" if isinstance(v, float) else "—" if v is None else str(v) for v in row.values()))
        Console(width=None if sys.stdout.isatty() else 160).print(table)


def as_csv(rows: list[dict[str, Any]]) -> str:
    """Return rows as CSV with a header; a mapping is written as ``name=n`` pairs."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        flat = {k: " ".join(f"{n}={c}" for n, c in v.items()) if isinstance(v, Mapping) else v for k, v in row.items()}
        writer.writerow(flat)
    return out.getvalue()


_SHOWN = ("over_refusal", "unsafe_compliance", "youden_j", "refusal_rate", "usable_rate", "contested_rate")


def print_table(cells: list[Cell], name: str | None = None) -> None:
    """Print one line a slice with the main metrics and their intervals."""
    from rich.console import Console
    from rich.table import Table

    slices: dict[tuple[str, str, str, str], dict[str, Cell]] = {}
    for cell in cells:
        track = cell.track if cell.variant == "base" else f"{cell.track} ({cell.variant})"
        place = cell.locale or cell.language or "all"
        slices.setdefault((track, place, cell.category or "", cell.expected or ""), {})[cell.metric] = cell
    title = "Rates with 95 % intervals (no interval: too few seeds or events)"
    table = Table(title=f"{name}: {title}" if name else title, title_justify="left")
    split = [i for i in (2, 3) if any(key[i] for key in slices)]
    for heading in ("track", "language", *(("category", "expected")[i - 2] for i in split), "answers"):
        table.add_column(heading, no_wrap=True)
    for metric in _SHOWN:
        table.add_column(metric.replace("_", " "), justify="right", no_wrap=True)
    for key, row in slices.items():
        front = [*key[:2], *(key[i] for i in split)]
        n = next(iter(row.values())).n
        table.add_row(*front, str(n), *(shown(row[metric]) if metric in row else "" for metric in _SHOWN))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def validation_note(cells: Sequence[Cell]) -> str:
    """Return one sentence on the languages whose rates stand as the judges found them, since nobody checked them."""
    raw = sorted({cell.language or "" for cell in cells if cell.corrected_reason == "unvalidated"})
    if not raw:
        return "The judges are validated in every language here; --format json has the corrected rates."
    return f"Unvalidated, so that these are the judges' findings, uncorrected: {', '.join(raw)}."


def shown(cell: Cell) -> str:
    """Return ``value [low, high]`` with two decimals; an em dash where there is no value."""
    if cell.value is None:
        return "—"
    bounds = f" [{cell.low:.2f}, {cell.high:.2f}]" if cell.low is not None and cell.high is not None else ""
    return f"{cell.value:.2f}{bounds}"
