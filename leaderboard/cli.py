"""Commands: `submit`, `verify`, `site`."""

from __future__ import annotations

import dataclasses
import datetime
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from refusalatlas.errors import AtlasError
from refusalatlas.wording import counted

_FORMAT = click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Submissions folder; default leaderboard/submissions.",
)
@click.option("--submitter", default="anonymous", show_default=True, help="Who answers for the run.")
@click.option("--model-name", help="ORG/MODEL, where the run does not say it well.")
@click.option("--notes", help="What readers should know about the run.")
@click.option("--reveal", metavar="SEED", help="For an audit: write the answers that SEED draws, to send in private.")
@_FORMAT
def submit(
    run: Path,
    output: Path | None,
    submitter: str,
    model_name: str | None,
    notes: str | None,
    reveal: str | None,
    format_: str,
) -> None:
    """Make a submission of RUN, an output folder of lm_eval: records and facts, without answers or secrets."""
    from . import default_submissions
    from .submission import submit_run

    root = output or default_submissions()
    if reveal is not None:
        _reveal(run, root, reveal, format_)
        return
    folder = submit_run(run, root, submitter=submitter, model_name=model_name, notes=notes)
    if format_ == "json":
        click.echo(json.dumps({"folder": str(folder)}, ensure_ascii=False))
    else:
        click.echo(f"{folder}\nCheck it with `refusalatlas verify {folder}`, then open a pull request with it.")


def _reveal(run: Path, root: Path, seed: str, format_: str) -> None:
    from .audit import reveal, submission_of

    submission = submission_of(run, root)
    file = Path(f"revealed-{submission.run.run_id}.json")
    count = reveal(run, submission, seed, file)
    if format_ == "json":
        click.echo(json.dumps({"file": str(file), "answers": count}, ensure_ascii=False))
    else:
        click.echo(f"{file}: {counted(count, 'answer')}. Send it to the maintainers in private; never publish it.")


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Give what writes a line over the one before it on stderr, and takes the last away; silent where it is piped."""
    seen = sys.stderr.isatty()

    def tell(line: str) -> None:
        if seen:
            width = shutil.get_terminal_size().columns - 1
            click.echo(f"\r\033[K{line[:width]}", err=True, nl=False)

    yield tell
    if seen:
        click.echo("\r\033[K", err=True, nl=False)


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--against", metavar="REV", help="Check only what was added since REV; nothing else may have changed.")
@click.option(
    "--audit",
    "revealed",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Revealed answers of the one run that PATHS names.",
)
@click.option("--seed", help="The seed that the audit was drawn by.")
@_FORMAT
@click.pass_context
def verify(
    context: click.Context,
    paths: tuple[Path, ...],
    against: str | None,
    revealed: Path | None,
    seed: str | None,
    format_: str,
) -> None:
    """Check submissions (PATHS: submissions, model or run folders); exit code 3 where there are findings."""
    from . import default_submissions
    from .verify import verify_added, verify_audit, verify_paths

    if revealed is not None:
        if seed is None or len(paths) != 1 or against is not None:
            raise click.UsageError("--audit takes one run folder and the --seed that was named, and no --against")
        with _progress() as tell:
            report = verify_audit(paths[0], revealed, seed, tell)
    elif against is not None:
        if len(paths) > 1:
            raise click.UsageError("--against takes one submissions folder")
        with _progress() as tell:
            report = verify_added(paths[0] if paths else default_submissions(), against, tell)
    else:
        with _progress() as tell:
            report = verify_paths(paths or (default_submissions(),), tell)
        if not report.runs and not report.findings:
            raise AtlasError(
                "no submission in it",
                where=", ".join(map(str, paths or (default_submissions(),))),
                mend="name a folder that `refusalatlas submit` made",
            )
    if format_ == "json":
        found = [finding.to_json() for finding in report.findings]
        facts = {"runs": report.runs, "records": report.records, "findings": found, "notes": list(report.notes)}
        click.echo(json.dumps(facts, ensure_ascii=False))
    else:
        for note in report.notes:
            click.echo(f"Note: {note}", err=True)
        for finding in report.findings:
            click.echo(str(finding))
        numbers = ((report.runs, "run"), (report.records, "record"), (len(report.findings), "finding"))
        click.echo(", ".join(counted(number, noun) for number, noun in numbers), err=True)
    context.exit(3 if report.findings else 0)


@click.command()
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder to write the site to.")
@click.option(
    "--submissions",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Submissions folder; default leaderboard/submissions.",
)
@click.option(
    "--snapshot",
    type=click.DateTime(["%Y-%m-%d"]),
    help="First keep the numbers under this date, beside the submissions: today, or a day after the newest.",
)
@click.option("--strict", is_flag=True, help="Build nothing where a submission is damaged, instead of leaving it out.")
@_FORMAT
def site(
    output: Path, submissions: Path | None, snapshot: datetime.datetime | None, strict: bool, format_: str
) -> None:
    """Build the static site from submissions; a damaged one is named, and left out."""
    from . import default_submissions
    from .site.build import build_site, take_snapshot

    source = submissions or default_submissions()
    if snapshot is not None:
        today = datetime.datetime.now(datetime.timezone.utc).astimezone().date()
        if snapshot.date() > today:
            raise click.BadParameter(f"{snapshot.date()} is to come; today is {today}", param_hint="--snapshot")
        take_snapshot(source, snapshot.date())
    built = build_site(source, output, strict=strict)
    for one in built.left_out:
        click.echo(f"Left out: {source / one.run}: {one.what}", err=True)
    if format_ == "json":
        left_out = [dataclasses.asdict(one) for one in built.left_out]
        facts = {"folder": str(output), "files": built.files, "left_out": left_out}
        click.echo(json.dumps(facts, ensure_ascii=False))
    else:
        click.echo(f"{output / 'index.html'} ({counted(built.files, 'file')})")
