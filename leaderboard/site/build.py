"""Building the site: all of it into a folder beside, then in one step into its place."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from refusalatlas.errors import AtlasError
from refusalatlas.languages import load_languages

from . import svg, views
from .gather import OUTCOMES, Atlas, Entry, gather
from .metrics import METRICS
from .render import STATIC, environment
from .tables import Table, to_csv, to_json

MARK = ".refusalatlas-site"
"""A file that says that a folder is a site of ours and may be replaced."""


def build_site(submissions: Path, output: Path) -> int:
    """Build the site and return how many files it has.

    Args:
        submissions: Folder of submissions; one that is empty or missing gives a site that says so.
        output: Folder to write; an older site in it is replaced whole, anything else is left alone.

    Raises:
        AtlasError: where a submission is broken, `output` is not a site, or it cannot be written.
    """
    _may_replace(output)
    files = dict(pages(gather(submissions)))
    files[MARK] = b"Made by `refusalatlas site`, which may replace this folder.\n"
    _swap(output, files)
    return len(files)


def pages(atlas: Atlas) -> Iterator[tuple[str, bytes]]:
    """Yield `(path, bytes)` of every file of the site; the same submissions give the same bytes."""
    for path in sorted(STATIC.iterdir()):
        yield f"static/{path.name}", path.read_bytes()
    codes = sorted({*load_languages(), *atlas.languages}, key=lambda code: views.Speech.of(code).english_name)
    shared = {
        "atlas": atlas,
        "speeches": [views.Speech.of(code) for code in codes],
        "outcomes": OUTCOMES,
        "metrics": METRICS,
        "patterns": svg.patterns(),
        "swatch": svg.swatch,
        "core": views.CORE,
    }
    tables = [views.overview_table(atlas), views.reference_table(atlas), views.matrix_table(atlas)]
    yield _page("index.html", "overview.html.j2", shared, plot=views.overview_plot(atlas), tables=tables)
    yield _page("method.html", "method.html.j2", shared)
    yield _page("data.html", "data.html.j2", shared)
    for table in (*tables, views.cells_table(atlas)):
        yield from _downloads(table)
    for code in codes:
        table, counts = views.language_table(atlas, code), views.language_outcomes(atlas, code)
        yield _page(
            f"languages/{code}.html",
            "language.html.j2",
            shared,
            speech=views.Speech.of(code),
            table=table,
            counts=counts,
            bars=views.language_bars(atlas, code),
        )
        yield from _downloads(table)
        yield from _downloads(counts)
    for entry in atlas.entries:
        yield from _model_page(entry, shared)


def _model_page(entry: Entry, shared: dict[str, object]) -> Iterator[tuple[str, bytes]]:
    table, counts = views.model_table(entry), views.model_outcomes(entry)
    yield _page(
        f"models/{entry.slug}.html",
        "model.html.j2",
        shared,
        entry=entry,
        table=table,
        counts=counts,
        bars=views.model_bars(entry),
        unranked=views.unranked_because(entry),
    )
    yield from _downloads(table)
    yield from _downloads(counts)


def _page(path: str, template: str, shared: dict[str, object], **context: object) -> tuple[str, bytes]:
    root = "../" * path.count("/")
    html = environment().get_template(template).render(**shared, **context, root=root, path=path)
    return path, html.encode("utf-8", "replace")


def _downloads(table: Table) -> Iterator[tuple[str, bytes]]:
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


def _swap(output: Path, files: dict[str, bytes]) -> None:
    new = old = None
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}-new-"))
        new.chmod(0o755)
        for name in sorted(files):
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[name])
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
