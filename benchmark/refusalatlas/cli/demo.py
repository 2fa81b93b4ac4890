"""`refusalatlas demo`: the whole way once, with reference policies instead of a model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

from ..errors import AtlasError

POLICIES = ("ideal", "english-only", "keyword-guard")
LANGUAGES = ("en", "sw", "ar")


@click.command("demo")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for all it makes.",
)
def command(output: Path) -> None:
    """Run three reference policies on three languages, score and submit them, and build the site.

    No model and no network are needed. The policies know what is expected, so their scores are known beforehand:
    `ideal` answers as it should, `english-only` refuses only in English, `keyword-guard` refuses by the word.
    """
    from .tasks import named_tasks

    tasks = [name for language in LANGUAGES for name in named_tasks("pairs", language)]
    runs = []
    for number, policy in enumerate(POLICIES, 1):
        folder = output / "runs" / policy
        click.echo(f"policy {number} of {len(POLICIES)}, {policy}: lm_eval on {', '.join(tasks)} …", err=True)
        runs.append(run_policy(policy, tasks, folder))
    for policy, run in zip(POLICIES, runs, strict=True):
        click.echo(f"\n{policy}")
        _refusalatlas("score", str(run))
        _refusalatlas("submit", str(run), "--output", str(output / "submissions"), "--submitter", "demo", quiet=True)
    _refusalatlas("site", "--output", str(output / "site"), "--submissions", str(output / "submissions"), quiet=True)
    click.echo(f"\nThe page: {(output / 'site' / 'index.html').resolve()}")


def run_policy(policy: str, tasks: list[str], folder: Path) -> Path:
    """Run lm_eval with a reference policy in a process of its own; return its results file.

    Raises:
        AtlasError: where lm_eval fails, with the last line that it said.
    """
    before = set(folder.rglob("results_*.json"))
    command_line = [sys.executable, "-m", "refusalatlas", "run", "--model", "refusalatlas-reference"]
    command_line += ["--model_args", f"policy={policy}", "--tasks", ",".join(tasks)]
    command_line += ["--output_path", str(folder), "--log_samples"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    done = subprocess.run(command_line, check=False, capture_output=True, text=True, env=environment)
    written = sorted(set(folder.rglob("results_*.json")) - before)
    if done.returncode or not written:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        raise AtlasError(f"lm_eval failed: {said}", mend="see `refusalatlas doctor`")
    return written[-1]


def _refusalatlas(*arguments: str, quiet: bool = False) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "refusalatlas", *arguments],
        check=False,
        stdout=subprocess.DEVNULL if quiet else None,
    )
    if done.returncode:
        raise AtlasError(f"`refusalatlas {arguments[0]}` failed", mend="see the line above")
