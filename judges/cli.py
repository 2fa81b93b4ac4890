"""The commands `refusalatlas judges …`."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from refusalatlas.records import Decision

    from .examples import Example

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_FORMAT = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)


@click.group()
def judges() -> None:
    """The judges: which there are, how well they judge, and how they are trained."""


def _say(message: str) -> None:
    if sys.stderr.isatty():
        click.echo(message, err=True)


@judges.command("list")
@_FORMAT
def list_(form: str) -> None:
    """Name the judges that are installed, our own and those of plug-ins."""
    from refusalatlas.files import dumps

    from .panel import judge_classes

    rows = [_describe(name, make) for name, make in sorted(judge_classes().items())]
    if form == "json":
        click.echo(dumps(rows))
        return
    for row in rows:
        click.echo(f"{row['name']:12} {row['family']:12} {row['version']:14} {row['languages_text']}")


def _describe(name: str, make: Any) -> dict[str, Any]:
    try:
        judge = make()
    except Exception as error:  # a plug-in's judge may need parameters, or be broken; the list names it all the same
        return {
            "name": name,
            "family": "?",
            "version": "?",
            "languages": None,
            "languages_text": _needs_settings(make, error) or f"not loaded: {error}",
        }
    codes = sorted(judge.languages) if judge.languages is not None else None
    text = "all languages" if codes is None else f"{len(codes)} language{'s' * (len(codes) != 1)}: {' '.join(codes)}"
    return {
        "name": name,
        "family": judge.family,
        "version": judge.version,
        "languages": codes,
        "languages_text": text,
    }


def _needs_settings(make: Any, error: Exception) -> str | None:
    """Return that a judge is of a kind that a panel has to say more about, where that is why it was not made."""
    import inspect

    from refusalatlas.errors import AtlasError

    try:
        parameters = list(inspect.signature(make).parameters.values())
    except (TypeError, ValueError):
        return None
    some = any(each.kind == each.VAR_KEYWORD for each in parameters) and isinstance(error, AtlasError)
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = any(each.default is each.empty and each.kind not in variable for each in parameters)
    return "needs settings (see judges/README.md)" if some or named else None


@judges.command()
@click.option("--output", type=_FOLDER, help="Folder for the weights. [default: the installed ones]")
@click.option("--extra", type=_FILE, multiple=True, help="Labelled JSON lines: prompt, response, label, language.")
@click.option("--examples", type=_FOLDER, help="Folder of examples. [default: judges/examples]")
@click.option("--embedding", is_flag=True, help="Tune the embedding judge instead; takes about an hour and torch.")
@click.option("--go-on", is_flag=True, help="Tune the embedding judge that is there further, on all open answers.")
def train(output: Path | None, extra: tuple[Path, ...], examples: Path | None, embedding: bool, go_on: bool) -> None:
    """Fit the n-gram judge and calibrate the rules; the sealed third of the examples is left alone."""
    from .examples import EXAMPLES
    from .tables import WEIGHTS
    from .training import train as run

    folder = output or WEIGHTS
    if go_on:
        from .embedding_training import go_on as further

        card = further(folder, extra=extra, examples=examples or EXAMPLES, report=_say)
        click.echo(f"wrote embedding.npz and .json to {folder} ({len(card.languages)} languages)")
        return
    if embedding:
        from .embedding_training import train_head

        tuned = train_head(folder, extra=extra, examples=examples or EXAMPLES, report=_say)
        click.echo(f"wrote embedding.npz, .json and _heldout.npz to {folder} ({len(tuned.held_out.keys)} answers)")
        return
    fitted = run(folder, extra=extra, examples=examples or EXAMPLES, report=_say)
    click.echo(f"wrote rules.json, ngram.npz and ngram.json to {folder} ({len(fitted.corpus.rows)} answers)")


@judges.command()
@click.argument("files", type=_FILE, nargs=-1)
@click.option("--panel", default="offline", show_default=True)
@click.option("--all", "everything", is_flag=True, help="All examples, those that were trained on too.")
@click.option("--out-of-fold", is_flag=True, help="Fit anew, by prompt, and judge what was held out; FILES join in.")
@click.option("--new-languages", is_flag=True, help="Judge open examples by fits that saw none in their language.")
@click.option("--output", type=_FOLDER, help="Folder for evaluation.json and evaluation.md.")
@_FORMAT
def evaluate(
    files: tuple[Path, ...],
    panel: str,
    everything: bool,
    out_of_fold: bool,
    new_languages: bool,
    output: Path | None,
    form: str,
) -> None:
    """Measure a panel on the sealed examples, or on labelled JSON lines.

    Beside that it judges the ten answers of the track minos in the languages of FILES, or in all of them. For
    --out-of-fold and --new-languages FILES are those that the judges were trained on with --extra.
    """
    from refusalatlas.files import dumps, write_atomic

    from .evaluation import markdown

    if out_of_fold and new_languages:
        raise click.UsageError("--out-of-fold and --new-languages are two measurements; ask for one")
    held_out = "prompt" if out_of_fold else "language" if new_languages else None
    report = _report(files, panel, everything, held_out)
    text = markdown(report)
    if output is not None:
        write_atomic(output / "evaluation.json", dumps(report) + "\n")
        write_atomic(output / "evaluation.md", text)
    click.echo(dumps(report) if form == "json" else text)


def _report(files: tuple[Path, ...], name: str, everything: bool, held_out: str | None) -> dict[str, Any]:
    from refusalatlas.errors import DataError
    from refusalatlas.packs import builtin_root
    from refusalatlas.records import LABELS

    from .evaluation import conditions_found, decisions_on, judged_examples, minos_table, report_on
    from .examples import load_examples, read_labelled, said_of
    from .panel import load_panel

    panel = load_panel(name)
    examples: list[Example] = []
    decisions: list[Decision] = []
    codes: set[str] | None = None  # minos in every language, unless only a file was asked about
    if held_out == "prompt":
        from .held_out import by_prompt

        judged = by_prompt(files, _say, panel.file)
        what = "Out of fold: each answer judged by fits that saw no answer to its prompt."
    elif held_out == "language":
        from .held_out import by_language

        judged = by_language(_say, panel.file, files)
        what = "New languages: each open example judged by fits that saw no answer in its language."
    else:
        left_out: Counter[str | None] = Counter()
        examples = list(read_labelled(files, left_out)) if files else load_examples(sealed=None if everything else True)
        if left_out:
            click.echo(said_of(left_out, len(examples)), err=True)
        if not examples:
            where = ", ".join(map(str, files)) or "judges/examples"
            raise DataError("no row has a label to measure by", where=where, mend=f"take of {', '.join(LABELS)}")
        codes = {example.language for example in examples} if files else None
        decisions = decisions_on(panel, examples, _say)
        judged = judged_examples(examples, decisions)
        sealed = "all examples, trained on or not" if everything else "the sealed third of the examples"
        what = f"On {', '.join(path.name for path in files) or sealed}."
    return {
        "panel": {"name": panel.name, "sha256": panel.sha256, "judges": [judge.name for judge in panel.judges]},
        "what": what,
        "quality": report_on(judged),
        "conditions": conditions_found(examples, decisions),
        "minos": minos_table(panel, builtin_root() / "tasks" / "minos" / "seeds.jsonl", codes),
    }


@judges.command()
@click.argument("name", metavar="SET")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="File of JSON lines.")
def fetch(name: str, output: Path) -> None:
    """Fetch the labelled responses of a published SET from the hub, for `judges evaluate`."""
    from refusalatlas.external.sets import get_set
    from refusalatlas.files import dumps, write_atomic

    from .published import labelled_lines

    lines = [dumps(line) + "\n" for line in labelled_lines(get_set(name))]
    write_atomic(output, "".join(lines))
    click.echo(f"{output}: {len(lines):,} labelled responses. Measure with `refusalatlas judges evaluate {output}`")


@judges.command()
@click.argument("source", type=click.Path(exists=True, path_type=Path))
@click.option("--panel", "panels", multiple=True, help="Name two, or one against the decisions in SOURCE.")
@_FORMAT
def agree(source: Path, panels: tuple[str, ...], form: str) -> None:
    """Compare two panels' decisions on the same run or file of exchanges."""
    from refusalatlas.files import dumps

    from .comparison import compare_panels

    if not 1 <= len(panels) <= 2:
        raise click.UsageError("name one or two panels with --panel")
    result = compare_panels(source, panels)
    if form == "json":
        click.echo(dumps(result))
        return
    click.echo(
        f"{result['first']} and {result['second']}: {result['n']} answers, {result['both_decided']} decided by both"
    )
    for key in ("same_label", "same_side", "kappa_labels", "kappa_sides"):
        click.echo(f"{key:14} {'' if result[key] is None else format(result[key], '.3f')}")
    for first, row in result["table"].items():
        click.echo(f"{first:22} " + ", ".join(f"{second} {count}" for second, count in row.items()))
