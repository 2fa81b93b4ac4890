"""`refusalatlas score`: rates with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .selection import Selection, axis_option, language_option, pooled_words, track_option, variant_option
from .tables import print_rows, print_table, validation_note

if TYPE_CHECKING:
    from ..records import Record
    from ..stats.judge_error import JudgeCounts


@click.command("score")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@track_option
@variant_option
@language_option
@axis_option
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
@click.option(
    "--reasons", "content", is_flag=True, help="Instead: what refusals say (reasons, empathy, alternatives, referrals)."
)
@click.option("--access", is_flag=True, help="Instead: answers by provider, served model and finish reason.")
@click.option("--regress", "regression", is_flag=True, help="Instead: a logistic regression (needs the extra `stats`).")
@click.option("--format", "style", type=click.Choice(["text", "json", "csv"]), default="text", show_default=True)
def command(
    runs: tuple[Path, ...],
    track: str | None,
    variant: str | None,
    language: str | None,
    axis: str | None,
    equating: bool,
    categories: bool,
    expectations: bool,
    by_gap: bool,
    pivot: str,
    content: bool,
    access: bool,
    regression: bool,
    style: str,
) -> None:
    """Score RUNS, folders that were lm_eval's --output_path, with 95 % intervals.

    A submission, the folder of its run.json, is scored likewise, but for what only whole answers show (--reasons).
    JSON lines and CSV have one cell a row, with numerator, denominator, what was left out, and the method;
    docs/scores.md describes every column.
    """
    from ..scoring import score_records

    selection = Selection(track, variant, language, axis, equating)
    views: dict[str, tuple[bool, Callable[[Mapping[str, Sequence[Record]]], list[dict[str, Any]]]]] = {
        "--access": (access, _access),
        "--gaps": (by_gap, lambda runs: _gaps(runs, selection, pivot, style)),
        "--reasons": (content, lambda runs: _content(runs, language is None, style)),
        "--regress": (regression, _regression),
    }
    asked = [view for wanted, view in views.values() if wanted]
    if len(asked) > 1:
        raise click.UsageError(f"choose one of {', '.join(views)}")
    if content:
        _have_answers(runs)
    chosen = _chosen(runs, selection, _for_gaps(selection, pivot) if by_gap else () if asked else _for_rates(selection))
    if asked:
        print_rows(asked[0](chosen), style)
        pooled = _pooled(chosen) if regression and style == "text" else None
        if pooled:
            click.echo(pooled)
        return
    scored = {
        name: score_records(
            found,
            by_category=categories,
            by_expectation=expectations,
            pooled=language is None,
            judge_counts=_judge_counts(found),
        )
        for name, found in chosen.items()
    }
    cells = {name: [cell for cell in found if variant in (None, cell.variant)] for name, found in scored.items()}
    if style == "text":
        for name, found in cells.items():
            print_table(found, name if len(cells) > 1 else None)
        click.echo(validation_note([cell for found in cells.values() for cell in found]))
        return
    several = len(cells) > 1
    print_rows(
        [({"run": name} if several else {}) | c.to_json() for name, found in cells.items() for c in found], style
    )


def _have_answers(runs: tuple[Path, ...]) -> None:
    """Refuse submissions where reasons are asked for: they keep those that stand in a refusal's opening, no others.

    Raises:
        AtlasError: naming the first.
    """
    from ..errors import AtlasError
    from ..runs import is_submission

    for path in filter(is_submission, runs):
        raise AtlasError(
            "is a submission, and shows too little of refusals for --reasons",
            where=path,
            mend="give the run that was submitted",
        )


def _chosen(
    runs: tuple[Path, ...], selection: Selection, beside: Sequence[Selection] = ()
) -> dict[str, Sequence[Record]]:
    """Return the records that were asked for, by run, and those that they are set against."""
    from ..runs import load_records, short_names

    selection.check()
    chosen: dict[str, Sequence[Record]] = {}
    for name, path in zip(short_names(runs), runs, strict=True):
        records = list(load_records(path))
        against = [r for r in records if not selection.has(r) and any(other.has(r) for other in beside)]
        chosen[name] = [*selection.of(records, path), *against]
    return chosen


def _for_rates(selection: Selection) -> tuple[Selection, ...]:
    """Return what rates of a selection need besides: of a request for a place, the question that asks the same."""
    from ..grounding_gap import question_of

    question = question_of(selection.variant) if selection.variant else None
    return (replace(selection, variant=question),) if question else ()


def _for_gaps(selection: Selection, pivot: str) -> tuple[Selection, ...]:
    """Return what gaps of a selection need besides: the base format, the pivot language."""
    from ..gaps import BASE

    variants = {selection.variant, BASE} if selection.variant else {None}
    languages = {selection.language, pivot} if selection.language else {None}
    return tuple(replace(selection, variant=v, language=code) for v in variants for code in languages)


def _pooled(chosen: Mapping[str, Sequence[Record]]) -> str | None:
    """Say what a regression takes together; its terms compare the levels, and suppose that nothing else differs."""
    records = [record for found in chosen.values() for record in found]
    tracks, variants = (sorted({getattr(record, name) for record in records}) for name in ("track", "variant"))
    return pooled_words((("run", list(chosen)), ("track", tracks), ("format", variants)))


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


def _gaps(chosen: Mapping[str, Sequence[Record]], selection: Selection, pivot: str, style: str) -> list[dict[str, Any]]:
    from ..errors import AtlasError
    from ..gaps import gaps
    from ..languages import get_language

    get_language(pivot)
    asked = {
        (record.locale or record.language, record.variant)
        for records in chosen.values()
        for record in records
        if selection.has(record)
    }
    found = [
        (name, gap)
        for name, records in chosen.items()
        for gap in gaps(records, pivot=pivot)
        if (gap.place, gap.variant) in asked
    ]
    if not found:
        raise AtlasError(
            "nothing to set side by side",
            mend=f"it takes {pivot!r} and another language, a variant, or repeated answers",
        )
    rows = [({"run": name} if len(chosen) > 1 else {}) | gap.to_json() for name, gap in found]
    if style == "text":
        return [{k: v for k, v in row.items() if k not in ("method", "test")} for row in rows]
    return rows


def _content(chosen: Mapping[str, Sequence[Record]], pooled: bool, style: str) -> list[dict[str, Any]]:
    from ..content import content_rates
    from ..errors import AtlasError

    found = [(name, row) for name, records in chosen.items() for row in content_rates(records, pooled=pooled)]
    if not found:
        raise AtlasError("no refusal says anything", mend="--reasons describes decided refusals; there are none here")
    rows = [({"run": name} if len(chosen) > 1 else {}) | row.to_json() for name, row in found]
    if style == "text":
        return [{k: v for k, v in row.items() if k not in ("method", "n_eff")} for row in rows]
    return rows


def _regression(chosen: Mapping[str, Sequence[Record]]) -> list[dict[str, Any]]:
    from ..regression import regress

    return [term.to_json() for term in regress(chosen)]
