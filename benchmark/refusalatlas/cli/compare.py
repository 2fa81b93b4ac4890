"""`refusalatlas compare`: paired differences of runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from .selection import Selection, axis_option, language_option, track_option, variant_option


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@track_option
@variant_option
@language_option
@axis_option
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    runs: tuple[Path, ...],
    track: str | None,
    variant: str | None,
    language: str | None,
    axis: str | None,
    style: str,
) -> None:
    """Compare the first of RUNS with each of the others, paired by seed; a run or a submission each.

    Differences come first, with 95 % intervals; p-values are adjusted by Holm over the languages of each metric.
    """
    from ..comparison import compare_records
    from ..files import dumps
    from ..runs import load_records, short_names

    if len(runs) < 2:
        raise click.UsageError("name at least two runs")
    selection = Selection(track, variant, language, axis)
    selection.check()
    names = short_names(runs)
    kept = [selection.of(load_records(path), path) for path in runs]
    for other in range(1, len(runs)):
        rows = compare_records(kept[0], kept[other])
        if style == "json":
            for row in rows:
                click.echo(dumps({"first": names[0], "second": names[other], **row.to_json()}))
            continue
        click.echo(f"{names[0]} against {names[other]}")
        places = Counter((row.track, row.variant, row.axis, row.metric) for row in rows if row.place)
        for row in rows:
            if row.place or places[row.track, row.variant, row.axis, row.metric] != 1:  # one language is all of them
                click.echo(f"  {row.track}: {row.in_words(names[0], names[other])}")
