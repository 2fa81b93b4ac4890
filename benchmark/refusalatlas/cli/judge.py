"""`refusalatlas judge`: decide what an assistant did, for runs and for anybody's prompts and responses."""

from __future__ import annotations

import functools
import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from ..errors import AtlasError
from ..records import Limits

if TYPE_CHECKING:
    from ..records import Decision, Exchange, Panel

BATCH = 1024


@click.command("judge")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="File for the decisions (default: standard output); a folder with --engine ray.",
)
@click.option(
    "--panel",
    "panel_name",
    default=None,
    help="A panel, or the YAML file of your own (default: offline, or REFUSALATLAS_PANEL).",
)
@click.option(
    "--write-run",
    type=click.Path(path_type=Path),
    help="Also write the run with its new records into this folder, to score or submit it.",
)
@click.option("--max-requests", type=click.IntRange(min=1), help="Requests that judges such as `llm` may send.")
@click.option("--max-cost", type=click.FloatRange(min=0, min_open=True), help="What they may spend (needs prices).")
@click.option(
    "--prices",
    type=(click.FloatRange(min=0), click.FloatRange(min=0)),
    metavar="INPUT OUTPUT",
    help="Prices of a million tokens sent and generated, for --max-cost.",
)
@click.option(
    "--engine",
    type=click.Choice(["process", "ray"]),
    default="process",
    show_default=True,
    help="Where judging happens: in this process, or on a Ray cluster, into a folder of Parquet files (docs/scale.md).",
)
@click.option("--workers", type=click.IntRange(min=1), help="Of --engine ray (default: one for each CPU).")
@click.option("--address", help="Of --engine ray: the cluster, or `auto` (default: RAY_ADDRESS, or one started here).")
@click.option("--part-lines", type=click.IntRange(min=1), help="Of --engine ray: lines that a worker takes at a time.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["json", "text"]),
    help="Of the decisions (default: json); with --engine ray they are printed only where it is given.",
)
def command(
    sources: tuple[str, ...],
    output: Path | None,
    panel_name: str | None,
    write_run: Path | None,
    max_requests: int | None,
    max_cost: float | None,
    prices: tuple[float, float] | None,
    engine: str,
    workers: int | None,
    address: str | None,
    part_lines: int | None,
    style: str | None,
) -> None:
    """Judge each SOURCE: an lm_eval output folder, a samples_*.jsonl, JSON lines, or - for standard input.

    JSON lines in: {id, prompt | messages, response, language?, finish_reason?}. One JSON line each out, in order.
    Where a limit is reached it stops; verdicts so far are kept, and a second start pays only for what is missing.
    """
    from ..adapter import DEFAULT_PANEL, NO_PANEL
    from ..plugins import load_service

    name = panel_name or os.environ.get("REFUSALATLAS_PANEL", DEFAULT_PANEL)
    if name == NO_PANEL:
        raise AtlasError("panel `none` judges nothing", mend="name one with --panel")
    load, limits = load_service("load_panel"), Limits(max_requests, max_cost, *(prices or (None, None)))
    options = {"--workers": workers, "--address": address, "--part-lines": part_lines}
    if write_run is not None and len(sources) > 1:
        raise click.UsageError("--write-run takes one run")
    if engine == "ray":
        _refuse({"--max-requests, --max-cost, --prices": None if limits == Limits() else limits}, "process")
        if output is None:
            raise click.UsageError("--engine ray writes a folder of Parquet files: name it with --output")
        _judge_on_ray(sources, output, name, load, options, write_run, style)
        return
    _refuse(options, "ray")
    if output is not None and output.is_dir():
        raise AtlasError("is a folder", where=output, mend="name a file for the decisions")
    if output is not None and any(source != "-" and _same_file(output, Path(source)) for source in sources):
        raise AtlasError("is the source too, and would be overwritten", where=output, mend="name another --output")
    panel = load(name)
    _limit(panel, limits)
    try:
        _judge(panel, sources, output, write_run, style or "json")
    finally:
        for line in getattr(panel, "spending", list)():
            click.echo(line, err=True)


def _same_file(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def _refuse(options: Mapping[str, Any], engine: str) -> None:
    """Refuse options that only the other engine knows."""
    for name, value in options.items():
        if value is not None:
            raise click.UsageError(f"{name} works with --engine {engine} only")


def _judge_on_ray(
    sources: Sequence[str],
    folder: Path,
    name: str,
    load: Callable[[str], Panel],
    options: Mapping[str, Any],
    write_run: Path | None,
    style: str | None,
) -> None:
    from ..rejudge import rejudge
    from ..scale.decided import DecidedPanel
    from ..scale.engine import Cluster, Watcher, judge_files
    from ..scale.manifest import read_decisions

    if write_run is not None and write_run.exists():  # better known before hours of judging
        raise AtlasError("is there already", where=write_run, mend="name a new folder")
    if name.endswith((".yaml", ".yml")):
        name = str(Path(name).expanduser().resolve())  # workers may stand in another folder
    cluster, part_lines = Cluster(options["--address"], options["--workers"]), options["--part-lines"]
    with _parts_bar() as bar:
        watcher = Watcher(bar, functools.partial(click.echo, err=True))
        done = judge_files(sources, folder, name, load, cluster=cluster, part_lines=part_lines, watcher=watcher)
    click.echo(f"{done.rows} answers in {done.parts} parts: {folder}", err=True)
    if write_run is not None:
        rejudge(Path(sources[0]), write_run, DecidedPanel(folder, done))
    if style is not None:
        for item, decision in read_decisions(folder):
            click.echo(_line(item, decision, style))


@contextmanager
def _parts_bar() -> Iterator[Callable[[int, int, int], None]]:
    """Give what shows on stderr how many parts are finished; nothing is shown when stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda parts, of, answers: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    text = TextColumn("{task.completed}/{task.total} parts, {task.fields[answers]} answers")
    columns = (BarColumn(), text, TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("judging", total=None, answers=0)
        yield lambda parts, of, answers: progress.update(task, completed=parts, total=of, answers=answers)


def _limit(panel: Any, limits: Limits) -> None:
    if limits == Limits():
        return
    if not hasattr(panel, "limit"):
        raise AtlasError("knows no limits", where=f"panel {panel.name}", mend="leave --max-requests and --max-cost out")
    panel.limit(limits)


def _judge(panel: Panel, sources: Sequence[str], output: Path | None, write_run: Path | None, style: str) -> None:
    decided: Iterable[tuple[str, Decision]]
    if write_run is not None:
        from ..rejudge import rejudge

        _, records = rejudge(Path(sources[0]), write_run, panel)
        decided = [(record.id, d) for record in records for d in record.decisions]
    else:
        strange: set[str] = set()
        twice = _Twice()
        exchanges = _noting(itertools.chain.from_iterable(map(twice.watch, sources)), strange)
        decided = ((exchange.id, d) for exchange, d in decide(panel, _progress(exchanges)))
    with _sink(output) as sink:
        for item, decision in decided:
            sink.write(_line(item, decision, style) + "\n")
    if write_run is None:
        if twice.count:
            click.echo(twice.said(), err=True)
        for code in sorted(strange):
            click.echo(_stranger(code), err=True)


class _Twice:
    """Counts the lines whose id an earlier one has: decisions are told apart by their ids alone.

    Runs are left alone; their items have an answer for each repeat. Of each id eight bytes are kept and not the text.
    """

    def __init__(self) -> None:
        self.count = 0
        self._first = ""
        self._seen: set[int] = set()

    def watch(self, source: str) -> Iterator[Exchange]:
        """Yield the exchanges of a source."""
        from ..exchanges import is_run, read_exchanges

        of_a_run = source != "-" and (is_run(Path(source)) or Path(source).name.startswith("samples_"))
        for exchange in read_exchanges(source):
            if not of_a_run:
                self._note(exchange.id)
            yield exchange

    def _note(self, name: str) -> None:
        key = hash(name)
        if key in self._seen:
            self.count += 1
            self._first = self._first or name
        self._seen.add(key)

    def said(self) -> str:
        """Return a line about them."""
        lines = "1 line has" if self.count == 1 else f"{self.count:,} lines have"
        return f"{lines} an id that an earlier one has, the first of them {self._first[:80]!r}; all were judged"


def _noting(exchanges: Iterable[Exchange], strange: set[str]) -> Iterator[Exchange]:
    """Yield exchanges, and note the languages among them that are not registered."""
    from ..languages import load_languages

    known = load_languages()
    for exchange in exchanges:
        if exchange.language is not None and exchange.language not in known:
            strange.add(exchange.language)
        yield exchange


def _stranger(code: str) -> str:
    """Return what judging in a language that is not registered means, and the code to write where there is one."""
    import difflib

    from ..languages import load_languages
    from ..scaffolding.facts import is_registered

    known = load_languages()
    said = code.casefold()
    stem = said.replace("_", "-").split("-")[0]
    near = _of_place(code, known) or sorted(one for one in known if one.lower().split("-")[0] == stem)
    near = near or [one.code for one in known.values() if said in (one.name.casefold(), one.english_name.casefold())]
    what = f"language {code!r} is not registered: no phrases of its own, and no answer counts as off language"
    if near:
        return f"{what}; write {' or '.join(near)}"
    names = {name.casefold(): one.code for one in known.values() for name in (one.name, one.english_name)}
    guessed = [] if is_registered(code) else difflib.get_close_matches(said, names, n=2, cutoff=0.75)
    meant = dict.fromkeys(names[name] for name in guessed)
    return f"{what}; did you mean {' or '.join(meant)}?" if meant else what


def _of_place(code: str, known: Mapping[str, object]) -> list[str]:
    """Return the registered language that is written in a place: zh-Hans of zh-CN, pt of pt_BR."""
    from langcodes import Language

    if not any(mark in code for mark in "-_"):
        return []
    try:
        tag = Language.get(code.replace("_", "-"))
        full = tag.maximize() if tag.is_valid() else None
    except (LookupError, ValueError):
        full = None
    if full is None:
        return []
    return [one for one in (f"{full.language}-{full.script}", str(full.language)) if one in known][:1]


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
