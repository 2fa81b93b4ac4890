"""`refusalatlas judge`: decide what an assistant did, for runs and for anybody's prompts and responses."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from ..errors import AtlasError

if TYPE_CHECKING:
    from ..records import Decision, Exchange, Panel

BATCH = 1024


@click.command("judge")
@click.argument("source")
@click.option("--output", type=click.Path(path_type=Path), help="File for the decisions (default: standard output).")
@click.option("--panel", "panel_name", default=None, help="Name of a panel (default: offline, or REFUSALATLAS_PANEL).")
@click.option(
    "--write-run",
    type=click.Path(path_type=Path),
    help="Also write the run with its new records into this folder, to score or submit it.",
)
@click.option("--format", "style", type=click.Choice(["json", "text"]), default="json", show_default=True)
def command(source: str, output: Path | None, panel_name: str | None, write_run: Path | None, style: str) -> None:
    """Judge SOURCE: an lm_eval output folder, a samples_*.jsonl, JSON lines, or - for standard input.

    JSON lines in: {id, prompt | messages, response, language?, finish_reason?}. One JSON line each out, in order.
    """
    from ..adapter import DEFAULT_PANEL, NO_PANEL
    from ..exchanges import read_exchanges
    from ..plugins import load_service

    name = panel_name or os.environ.get("REFUSALATLAS_PANEL", DEFAULT_PANEL)
    if name == NO_PANEL:
        raise AtlasError("panel `none` judges nothing", mend="name one with --panel")
    panel = load_service("load_panel")(name)
    decided: Iterable[tuple[str, Decision]]
    if write_run is not None:
        from ..rejudge import rejudge

        _, records = rejudge(Path(source), write_run, panel)
        decided = [(record.id, d) for record in records for d in record.decisions]
    else:
        decided = ((exchange.id, d) for exchange, d in decide(panel, _progress(read_exchanges(source))))
    with _sink(output) as sink:
        for item, decision in decided:
            sink.write(_line(item, decision, style) + "\n")


def decide(panel: Panel, exchanges: Iterable[Exchange]) -> Iterator[tuple[Exchange, Decision]]:
    """Yield each exchange with its decision; memory is bounded by the batch."""
    waiting = iter(exchanges)
    while batch := list(itertools.islice(waiting, BATCH)):
        yield from zip(batch, panel.judge(batch), strict=True)


def _line(item: str, decision: Decision, style: str) -> str:
    from ..files import dumps

    if style == "json":
        return dumps({"id": item, **decision.to_json()})
    label = decision.label or ("contested" if decision.contested else "—")
    votes = ", ".join(f"{v.judge}={v.label or 'abstains'} {v.confidence:.2f}" for v in decision.votes)
    return f"{item}\t{label}\t{decision.condition}\t{decision.language.detected or '?'}\t{votes}"


@contextmanager
def _sink(output: Path | None) -> Iterator[IO[str]]:
    """Give standard output, or a temporary file that takes its name only when all went well."""
    if output is None:
        yield sys.stdout
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}.")
    except OSError as error:
        raise AtlasError(f"cannot be written ({error.strerror})", where=output) from None
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            yield handle
        temporary.chmod(0o644)
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)


def _progress(items: Iterable[Any]) -> Iterator[Any]:
    """Count on stderr what goes by; nothing is shown when stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed} judged"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("judging", total=None)
        for item in items:
            yield item
            progress.advance(task)
