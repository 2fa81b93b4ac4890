"""`refusalatlas guards`: how well a guard tells harmful prompts from benign ones, by language."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..guards.scoring import GuardCell


@click.command("guards")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--categories", is_flag=True, help="By category too.")
@click.option("--format", "style", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True)
def command(run: Path, categories: bool, style: str) -> None:
    """Score a RUN of guards: recall, false positives, F1 and kinds of harm, with 95 % intervals."""
    from ..guards.runs import load_guard_records
    from ..guards.scoring import score_guard
    from .tables import print_rows

    records = load_guard_records(run)
    sides = {record.flagged for record in records} - {None}
    if len(sides) == 1 and len({record.role for record in records}) > 1:
        verdict = "harmful" if sides == {True} else "benign"
        note = f"note: it called every prompt that it decided {verdict}; see whether its preset reads its words rightly"
        click.echo(f"{note} (REFUSALATLAS_GUARD)", err=True)
    cells = score_guard(records, by_category=categories)
    if style != "text":
        print_rows([cell.to_json() for cell in cells], style)
        return
    _print_table(cells, ", ".join(sorted({record.preset.partition("@")[0] for record in records})))


def _print_table(cells: list[GuardCell], presets: str) -> None:
    from ..guards.scoring import DIRECTION
    from .tables import print_blocks, shown

    slices: dict[tuple[str, str, str], dict[str, GuardCell]] = {}
    for cell in cells:
        place = (cell.track, cell.locale or cell.language or "all", cell.category or "")
        slices.setdefault(place, {})[cell.metric] = cell
    split = any(category for *_, category in slices)
    rows = [
        [*(place if split else place[:2]), str(row["undecided_rate"].n), *(shown(row[metric]) for metric in DIRECTION)]
        for place, row in slices.items()
    ]
    front = ["track", "language", *(["category"] if split else []), "prompts"]
    title = f"Guards with 95 % intervals, or why there is none; words read by {presets}"
    print_blocks(title, front, [metric.replace("_", " ") for metric in DIRECTION], rows)
