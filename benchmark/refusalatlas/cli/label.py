"""`refusalatlas label`: let two speakers say what a run's answers are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..runs import Run
    from ..validation import LabelFile, LabelSet


@click.command("label")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("sheets", nargs=-1, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Folder for the sheets.")
@click.option("--language", "codes", multiple=True, help="Only this language. [default: all of the run]")
@click.option("--n", "number", type=click.IntRange(2, 5000), default=100, show_default=True, help="Answers a language.")
@click.option("--take-back", is_flag=True, help="Take the labels of SHEETS back, those of the two speakers.")
@click.option(
    "--labels",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the labels that are kept. [default: judges/labels]",
)
def command(
    run: Path,
    sheets: tuple[Path, ...],
    output: Path | None,
    codes: tuple[str, ...],
    number: int,
    take_back: bool,
    labels: Path | None,
) -> None:
    """Draw answers of RUN for two speakers to label, or (--take-back A.csv B.csv) take their labels back.

    Half of the answers at most are contested ones, the others a random sample; the sheets show nothing that the judges
    said. Taken back, the labels say how far the speakers agree and how often the panel is right; from 50 refused and
    50 complied answers on, and where the speakers agree well enough, the language is validated. Labels are kept with
    ids and hashes, never with an answer.
    """
    from ..runs import load_run

    if take_back:
        if len(sheets) != 2 or output or codes:
            raise click.UsageError("--take-back needs two sheets and none of --output, --language")
        _take_back(load_run(run), sheets[0], sheets[1], labels)
    else:
        if sheets or labels:
            raise click.UsageError("sheets and --labels belong to --take-back")
        _draw(load_run(run), output or Path("labels"), codes, number)


def _draw(run: Run, folder: Path, codes: tuple[str, ...], number: int) -> None:
    from ..errors import AtlasError, UnknownNameError
    from ..files import write_atomic
    from ..labelling import GUIDE, answers_of, draw, sheet

    known = sorted({record.language for record in run.records})
    for code in codes:
        if code not in known:
            raise UnknownNameError("language of this run", code, known)
    files = {}
    for code in codes or known:
        drawn = draw(answers_of(run, code), number)
        if not drawn:
            click.echo(f"{code}: no answers to label", err=True)
            continue
        for seed, name in enumerate("AB", 1):
            files[folder / f"{code}-{name}.csv"] = sheet(drawn, seed)
        contested = sum(answer.decision.contested for answer in drawn)
        click.echo(f"{code}: {len(drawn)} answers, {contested} of them contested", err=True)
    for path in files:
        if path.exists():
            raise AtlasError("is there already", where=path, mend="give another folder with --output")
    for path, text in {folder / "README.md": GUIDE, **files}.items():
        write_atomic(path, text)
        click.echo(str(path))


def _take_back(run: Run, first: Path, second: Path, folder: Path | None) -> None:
    from ..errors import AtlasError
    from ..labelling import add_labels, check_sheets, read_sheet, take_back
    from ..validation import labels_folder

    if first.resolve() == second.resolve():
        mend = "two speakers each fill in a sheet of their own; name both"
        raise AtlasError("is named twice, and agrees with itself", where=first, mend=mend)
    one, other = read_sheet(first), read_sheet(second)
    check_sheets(run, one, other)
    language, labelled = take_back(run, one.labels, other.labels)
    path, file = add_labels(folder or labels_folder(), language, labelled)
    _report(language, labelled, file)
    click.echo(f"{path}: written", err=True)


def _report(language: str, labelled: LabelSet, file: LabelFile) -> None:
    from ..validation import NOT_REAL

    click.echo(f"{language}: {labelled.rated} answers labelled by both, {labelled.disagreed} of them differently")
    for name, found in labelled.agreement.items():
        value = "—" if found.value is None else f"{found.value:.2f}"
        interval = f" [{found.low:.2f}, {found.high:.2f}]" if found.low is not None and found.high is not None else ""
        click.echo(f"  {name.replace('_', ' ')}: {value}{interval}{f' ({found.reason})' if found.reason else ''}")
    counts = file.counts(labelled.panel)
    caught = _share(counts.true_positives, counts.positives, "refusals", "found")
    spared = _share(counts.true_negatives, counts.negatives, "others", "left alone")
    click.echo(f"panel: {caught}; {spared}")
    if labelled.backend in NOT_REAL:
        click.echo(f"{labelled.backend} is no real model: these labels validate nothing")
    state = "validated" if file.validated else f"unvalidated: {'; '.join(file.lacking)}"
    click.echo(f"{language}: {file.refused} refused, {file.complied} complied: {state}")


def _share(right: int, of: int, what: str, done: str) -> str:
    """Return how many of some answers the panel was right about; that it decided none is no share of none."""
    return (
        f"{right} of {of} {what} {done}"
        if of
        else f"no {what} of a real model that both speakers agree on and it decided"
    )
