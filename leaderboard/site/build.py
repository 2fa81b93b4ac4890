"""Building the site: all of it into a folder beside, then in one step into its place."""

from __future__ import annotations

import datetime
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from refusalatlas.leaderboard.everyeval import export
from refusalatlas.leaderboard.storage import Submission

from refusalatlas.errors import AtlasError
from refusalatlas.files import dumps
from refusalatlas.languages import load_languages
from refusalatlas.stats.intervals import MIN_CLUSTERS
from refusalatlas.stats.judge_error import MIN_LABELS
from refusalatlas.validation import LEAST_KAPPA, LEAST_POSITIVE

from . import answered, comparing, facets, heat, places, runs, views
from .dated import dated_pages
from .gather import Atlas, Entry, LeftOut, gather
from .judging import cards_folder, deciding, read_cards, released_rules, share_of_one
from .render import STATIC, File, everywhere
from .snapshots import read_snapshots, steps, write_snapshot
from .tables import Table, to_csv, to_json
from .validity import validity
from .wording import interfaces, words_file

MARK = ".refusalatlas-site"
"""A file that says that a folder is a site of ours and may be replaced."""


@dataclass(frozen=True, slots=True)
class Built:
    """A site that was built: how many files it has, and which runs it does without."""

    files: int
    left_out: tuple[LeftOut, ...]


def build_site(submissions: Path, output: Path, *, workers: int | None = None, strict: bool = False) -> Built:
    """Build the site; a submission that is damaged is left out of it, and named on the page of changes.

    Args:
        submissions: Folder of submissions; one that is empty or missing gives a site that says so. Snapshots lie
            beside it, in ``snapshots``.
        output: Folder to write; an older site in it is replaced whole, anything else is left alone.
        workers: How many processes read submissions; by default as many as there are cores, at most four.
        strict: Build nothing where a submission is damaged.

    Raises:
        AtlasError: where `output` is not a site, or it cannot be written; with `strict` where a submission is damaged.
    """
    _may_replace(output)
    count = min(4, os.cpu_count() or 1) if workers is None else workers
    with _into(output) as folder:
        atlas = gather(submissions, visit=functools.partial(_write_run, folder), workers=count, strict=strict)
        for name, data in pages(atlas, submissions):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        (folder / MARK).write_text("Made by `refusalatlas site`, which may replace this folder.\n", encoding="utf-8")
        return Built(sum(path.is_file() for path in folder.rglob("*")), atlas.left_out)


def _write_run(root: Path, submission: Submission) -> None:
    """Write all that is about one run below the folder of the site, while its records are at hand."""
    runs.write_pages(root, submission)
    path = root / "data" / "every_eval_ever" / submission.slug / f"{submission.run.run_id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    exported = export(submission.run, submission.slug, submission.records)
    path.write_text(dumps(exported) + "\n", encoding="utf-8")


def take_snapshot(submissions: Path, date: datetime.date) -> Path:
    """Keep the numbers of today's overview under a date, beside the submissions, and return the file.

    Raises:
        AtlasError: where there is a snapshot of that date or a later one already, or a submission is damaged: a
            snapshot is never changed, so that nothing may be missing from it.
    """
    return write_snapshot(gather(submissions, strict=True), submissions.parent / "snapshots", date)


def pages(atlas: Atlas, submissions: Path) -> Iterator[File]:
    """Yield `(path, bytes)` of every file but those of runs; the same submissions give the same bytes."""
    for path in sorted(STATIC.iterdir()):
        yield f"static/{path.name}", path.read_bytes()
    for interface in interfaces():
        yield f"words/{interface.code}.json", words_file(interface).encode()
    pairs = comparing.pairs(atlas, submissions)
    tied = views.tie_groups(atlas)
    yield from _main_pages(atlas, tied)
    yield from _judges_and_changes(atlas, tied, submissions)
    yield from _comparisons(atlas, pairs)
    for code in _codes(atlas):
        yield from _language_page(atlas, code)
    for locale in places.locales(atlas):
        table = places.locale_table(atlas, locale.code)
        context = {"place": locale.code, "region": locale.region, "speech": locale.speech, "table": table}
        context["validity"] = validity([locale.speech.code])
        yield from everywhere(f"locales/{locale.code}.html", "locale.html.j2", **context)
        if table.rows:
            yield from _downloads(table)
    for entry in atlas.entries:
        yield from _model_page(entry, pairs)


def _codes(atlas: Atlas) -> list[str]:
    known = {*load_languages(), *atlas.languages}
    return sorted(known, key=lambda code: views.Speech.of(code).english_name)


def _main_pages(atlas: Atlas, tied: Mapping[str, int]) -> Iterator[File]:
    speeches = [views.Speech.of(code) for code in _codes(atlas)]
    tables = [views.overview_table(atlas, tied), views.reference_table(atlas), views.matrix_table(atlas)]
    shared = {"atlas": atlas, "speeches": speeches, "core": views.CORE}
    overview = {"plot": views.overview_plot(atlas), "tables": tables, "validity": validity(atlas.languages)}
    overview["filters"] = facets.FILTERS
    yield from everywhere("index.html", "overview.html.j2", **shared, **overview)
    for name in ("method", "data", "submit"):
        yield from everywhere(f"{name}.html", f"{name}.html.j2", **shared, **_said_of_method())
    groups = places.grouped(places.locales(atlas))
    pooled = places.pooled_table(atlas)
    yield from everywhere("locales.html", "locales.html.j2", groups=groups, table=pooled)
    for table in (*tables, *([pooled] if pooled.rows else []), views.cells_table(atlas)):
        yield from _downloads(table)


def _said_of_method() -> dict[str, object]:
    """Return the thresholds that the page of the method names, from where they are defined."""
    least = {"kappa": share_of_one(LEAST_KAPPA), "positive": share_of_one(LEAST_POSITIVE), "enough": MIN_LABELS}
    return {**least, "seeds": MIN_CLUSTERS, "rules": released_rules()}


def _judges_and_changes(atlas: Atlas, tied: Mapping[str, int], submissions: Path) -> Iterator[File]:
    cards = read_cards(cards_folder())
    yield from everywhere("judges.html", "judges.html.j2", cards=cards, deciding=deciding(atlas, cards))
    for card in cards:
        yield from _downloads(card.quality)
        yield from _downloads(card.minos)
    taken = read_snapshots(submissions.parent / "snapshots")
    for one in taken:
        yield f"snapshots/{one.date.isoformat()}.json", (one.model_dump_json(indent=1) + "\n").encode()
        yield from dated_pages(one, atlas)
    yield from everywhere(
        "changelog.html", "changelog.html.j2", steps=steps(taken, atlas, tied), left_out=atlas.left_out
    )


def _comparisons(atlas: Atlas, pairs: list[comparing.Pair]) -> Iterator[File]:
    chosen = comparing.compared(atlas)
    rows = list(comparing.matrix(chosen, pairs))
    names = [entry.name for entry in chosen]
    context = {"names": names, "rows": rows, "left_out": len(chosen) < len(atlas.models)}
    context |= {"choices": comparing.choices(atlas), "said": comparing.SAID, "blank": comparing.blank_table()}
    context |= {"speeches": [views.Speech.of(c) for c in atlas.languages], "validity": validity(atlas.languages)}
    yield from everywhere("compare.html", "compare.html.j2", **context)
    yield f"data/{answered.FILES}.json", answered.draw().encode()
    for entry in atlas.entries:
        if entry.answered:
            yield f"data/{answered.FILES}/{entry.slug}.json", entry.answered.encode("utf-8", "replace")
    for pair in pairs:
        table = comparing.pair_table(pair)
        context = {"first": pair.first, "second": pair.second, "sentences": comparing.sentences(pair), "table": table}
        context["validity"] = validity({*pair.first.languages} & {*pair.second.languages})
        yield from everywhere(pair.href, "pair.html.j2", **context)
        yield from _downloads(table)


def _language_page(atlas: Atlas, code: str) -> Iterator[File]:
    table, counts = views.language_table(atlas, code), views.language_outcomes(atlas, code)
    shaded = heat.language_heat(atlas, code)
    yield from everywhere(
        f"languages/{code}.html",
        "language.html.j2",
        speech=views.Speech.of(code),
        table=table,
        counts=counts,
        heat=shaded,
        bars=views.language_bars(atlas, code),
        validity=validity([code]),
        places=[one.code for one in places.locales(atlas) if one.speech.code == code],
    )
    for one in (table, counts, shaded):
        yield from _downloads(one)


def _model_page(entry: Entry, pairs: list[comparing.Pair]) -> Iterator[File]:
    table, counts, shaded = views.model_table(entry), views.model_outcomes(entry), heat.model_heat(entry)
    with_it = [pair for pair in pairs if entry.slug in (pair.first.slug, pair.second.slug)]
    yield from everywhere(
        f"models/{entry.slug}.html",
        "model.html.j2",
        entry=entry,
        table=table,
        counts=counts,
        heat=shaded,
        bars=views.model_bars(entry),
        unranked=views.unranked_because(entry),
        validity=validity(place.language for place in entry.estimates),
        pairs=[(p.href, p.second.name if p.first.slug == entry.slug else p.first.name) for p in with_it],
    )
    for one in (table, counts, shaded):
        yield from _downloads(one)


def _downloads(table: Table) -> Iterator[File]:
    yield f"data/{table.name}.csv", to_csv(table).encode("utf-8", "replace")
    yield f"data/{table.name}.json", to_json(table).encode("utf-8", "replace")


def _may_replace(output: Path) -> None:
    try:
        if output.is_symlink() or (output.exists() and not output.is_dir()):
            raise AtlasError("is not a folder", where=output, mend="choose another --output")
        if output.is_dir() and any(output.iterdir()) and not (output / MARK).is_file():
            raise AtlasError("holds other things than a site", where=output, mend="choose an empty --output")
    except OSError as error:
        raise _unwritable(output, error) from None


@contextmanager
def _into(output: Path) -> Iterator[Path]:
    """Give a new folder beside `output`, which takes its place once it is whole."""
    new = old = None
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}-new-"))
        new.chmod(0o755)
        yield new
        if output.exists():
            old = Path(tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}-old-"))
            output.rename(old / "site")
        new.rename(output)
    except OSError as error:
        if old is not None and (old / "site").exists() and not output.exists():
            (old / "site").rename(output)
        raise _unwritable(output, error) from None
    finally:
        for folder in (new, old):
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)


def _unwritable(output: Path, error: OSError) -> AtlasError:
    return AtlasError(f"cannot be written ({error.strerror or error})", where=output, mend="choose another --output")
