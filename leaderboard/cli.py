"""Commands: `submit`, `verify`, `site`."""

from __future__ import annotations

import json
from pathlib import Path

import click

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
@_FORMAT
def submit(
    run: Path, output: Path | None, submitter: str, model_name: str | None, notes: str | None, format_: str
) -> None:
    """Make a submission of RUN, an output folder of lm_eval: records and facts, without answers or secrets."""
    from . import default_submissions
    from .submission import submit_run

    root = output or default_submissions()
    folder = submit_run(run, root, submitter=submitter, model_name=model_name, notes=notes)
    if format_ == "json":
        click.echo(json.dumps({"folder": str(folder)}, ensure_ascii=False))
    else:
        click.echo(f"{folder}\nCheck it with `refusalatlas verify {folder}`, then open a pull request with it.")


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True))
@_FORMAT
@click.pass_context
def verify(context: click.Context, paths: tuple[Path, ...], format_: str) -> None:
    """Check submissions (PATHS: submissions, model or run folders); exit code 3 where there are findings."""
    from . import default_submissions
    from .verify import verify_paths

    report = verify_paths(paths or (default_submissions(),))
    if format_ == "json":
        found = [finding.to_json() for finding in report.findings]
        click.echo(json.dumps({"runs": report.runs, "records": report.records, "findings": found}, ensure_ascii=False))
    else:
        for finding in report.findings:
            click.echo(str(finding))
        click.echo(f"{report.runs} runs, {report.records} records, {len(report.findings)} findings", err=True)
    context.exit(3 if report.findings else 0)


@click.command()
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder to write the site to.")
@click.option(
    "--submissions",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Submissions folder; default leaderboard/submissions.",
)
@_FORMAT
def site(output: Path, submissions: Path | None, format_: str) -> None:
    """Build the static site from submissions."""
    from . import default_submissions
    from .site.build import build_site

    built = build_site(submissions or default_submissions(), output)
    if format_ == "json":
        click.echo(json.dumps({"folder": str(output), "files": built}, ensure_ascii=False))
    else:
        click.echo(f"{output / 'index.html'} ({built} files)")
