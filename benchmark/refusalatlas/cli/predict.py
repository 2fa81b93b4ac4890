"""`refusalatlas predict`: what in the prompts goes with refusal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..wording import p_words
from .selection import Selection, language_option, pooled_words, track_option, variant_option

if TYPE_CHECKING:
    from ..prediction import Prediction
    from ..records import Record


@click.command("predict")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@track_option
@variant_option
@language_option
@click.option(
    "--top", type=click.IntRange(1, 100), default=8, show_default=True, help="N-grams to name on either side."
)
@click.option("--permutations", type=click.IntRange(20, 10_000), default=200, show_default=True)
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    runs: tuple[Path, ...],
    track: str | None,
    variant: str | None,
    language: str | None,
    top: int,
    permutations: int,
    style: str,
) -> None:
    """Say which words and categories of the prompts go with refusal, by language, over one run or several.

    A linear model of n-grams, cross-validated with the two of a pair in one fold; its AUC stands beside what the same
    procedure finds in shuffled answers. Tracks, formats and runs are taken together where none is chosen, and the
    output says so.
    """
    from ..files import dumps
    from ..prediction import predict_refusals
    from ..runs import load_run, short_names

    selection = Selection(track, variant, language)
    selection.check()
    records: list[Record] = []
    prompts: dict[str, str] = {}
    for path in runs:
        run = load_run(path)
        records += selection.of(run.records, path)
        prompts.update(run.prompts)
    names = short_names(runs)
    for found in predict_refusals(records, prompts, top=top, permutations=permutations):
        click.echo(dumps({"runs": names} | found.to_json()) if style == "json" else _in_words(found, names))


def _in_words(found: Prediction, runs: Sequence[str]) -> str:
    place = found.language if found.axis == "safety" else f"{found.language}, {found.axis}"
    lines = [f"{place}: {found.refused} of {found.n} decided answers are refusals"]
    pooled = pooled_words((("run", runs), ("track", found.tracks), ("format", found.variants)))
    lines += [f"  {pooled}"] if pooled else []
    if found.auc is None or found.p is None:
        lines.append(f"  no model: {found.reason}")
    else:
        lines.append(
            f"  AUC {found.auc:.2f} out of fold (shuffled: 95 % below {found.baseline:.2f}; {p_words(found.p)})"
        )
        lines += [f"  {f.weight:+.2f}  {f.text}  ({f.prompts} prompts)" for f in found.features]
    shown = ", ".join(f"{name} {refused}/{n}" for name, refused, n in found.categories)
    return "\n".join([*lines, f"  by category: {shown}"])
