"""`refusalatlas compare`: paired differences of runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--track", help="Only this track.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(runs: tuple[Path, ...], track: str | None, style: str) -> None:
    """Compare the first of RUNS with each of the others, paired by seed.

    Differences come first, with 95 % intervals; p-values are adjusted by Holm over the languages of each metric.
    """
    from ..comparison import compare_records
    from ..external.sets import is_external
    from ..files import dumps
    from ..runs import load_run, short_names
    from ..tracks import get_track

    if len(runs) < 2:
        raise click.UsageError("name at least two runs")
    if track and not is_external(track):
        get_track(track)
    loaded = [load_run(path) for path in runs]
    names = short_names(runs)
    kept = [[r for r in run.records if track is None or r.track == track] for run in loaded]
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
