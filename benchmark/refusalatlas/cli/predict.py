"""`refusalatlas predict`: what in the prompts goes with refusal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..wording import p_words

if TYPE_CHECKING:
    from ..prediction import Prediction
    from ..records import Record


@click.command("predict")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--language", help="Only this language.")
@click.option(
    "--top", type=click.IntRange(1, 100), default=8, show_default=True, help="N-grams to name on either side."
)
@click.option("--permutations", type=click.IntRange(20, 10_000), default=200, show_default=True)
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(runs: tuple[Path, ...], language: str | None, top: int, permutations: int, style: str) -> None:
    """Say which words and categories of the prompts go with refusal, by language, over one run or several.

    A linear model of n-grams, cross-validated with the two of a pair in one fold; its AUC stands beside what the same
    procedure finds in shuffled answers.
    """
    from ..errors import AtlasError
    from ..files import dumps
    from ..languages import get_language
    from ..prediction import predict_refusals
    from ..runs import load_run

    if language:
        get_language(language)
    records: list[Record] = []
    prompts: dict[str, str] = {}
    for path in runs:
        run = load_run(path)
        records += [r for r in run.records if language is None or r.language == language]
        prompts.update(run.prompts)
    if not records:
        raise AtlasError(f"no records in {language}", where=runs[0])
    for found in predict_refusals(records, prompts, top=top, permutations=permutations):
        click.echo(dumps(found.to_json()) if style == "json" else _in_words(found))


def _in_words(found: Prediction) -> str:
    lines = [f"{found.language}: {found.refused} of {found.n} decided answers are refusals"]
    if found.auc is None or found.p is None:
        lines.append(f"  no model: {found.reason}")
    else:
        lines.append(
            f"  AUC {found.auc:.2f} out of fold (shuffled: 95 % below {found.baseline:.2f}; {p_words(found.p)})"
        )
        lines += [f"  {f.weight:+.2f}  {f.text}  ({f.prompts} prompts)" for f in found.features]
    shown = ", ".join(f"{name} {refused}/{n}" for name, refused, n in found.categories)
    return "\n".join([*lines, f"  by category: {shown}"])
