"""`refusalatlas lint`: what is wrong with texts, and what is left to write."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..linting.findings import Report
    from ..linting.sheets import Place


@click.command("lint")
@click.argument("folders", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--language", "codes", multiple=True, help="Only this language; says what is left to do, as a share.")
@click.option("--format", "style", type=click.Choice(["text", "github", "json"]), default="text", show_default=True)
def command(folders: tuple[Path, ...], codes: tuple[str, ...], style: str) -> None:
    """Look for what is wrong with the texts of all packs, or of those in FOLDERS (with `translations/` in them).

    Each finding names file and line, what is wrong, and how to mend it. Notes (`note:`, severity `info`) are worth
    knowing and need nothing; they are shown for a language that is named, and as JSON.
    Exit code 3 where there are findings.
    """
    from ..linting import lint
    from ..packs import builtin_root

    bar = sys.stderr.isatty()
    places = _places(folders)
    result = lint(places, codes, report=_say if bar else lambda code: None)
    if bar:
        click.echo("\r\033[K", nl=False, err=True)
    _print(result, style, of_some=bool(codes))
    if not result.clean and not all(place.ours for place in places):  # a pack has no English file beside its texts
        click.echo(f"The English files are in {builtin_root() / 'translations' / 'en'}", err=True)
    if not result.clean:
        sys.exit(3)


def _say(code: str) -> None:
    click.echo(f"\r\033[Klint: {code}", nl=False, err=True)


def _places(folders: tuple[Path, ...]) -> list[Place]:
    from ..linting.sheets import Place
    from ..packs import builtin_root, packs

    if not folders:
        roots = [(pack.translations or pack.tasks, pack.ours) for pack in packs()]
        return [Place(folder.parent, ours) for folder, ours in roots if folder is not None]
    found = [place for folder in folders for place in _with_data(folder)]
    return [Place(folder.resolve(), folder.resolve() == builtin_root()) for folder in found]


def _with_data(folder: Path) -> list[Path]:
    """Return a folder that holds data, or those right below it that do, as the source of a package has its module.

    Raises:
        AtlasError: where neither does.
    """
    from ..errors import AtlasError

    def holds(each: Path) -> bool:
        return (each / "translations").is_dir() or (each / "tasks").is_dir()

    if holds(folder):
        return [folder]
    below = [each for each in sorted(folder.iterdir()) if each.is_dir() and each.name[:1] != "." and holds(each)]
    if not below:
        near = next((each for each in (folder.resolve(), *folder.resolve().parents) if holds(each)), None)
        mend = f"name {near}" if near is not None else "name the folder above them"
        raise AtlasError("holds neither translations/ nor tasks/", where=folder, mend=mend)
    return below


def _print(result: Report, style: str, *, of_some: bool) -> None:
    """Print a report; where some languages were asked for, also notes and what is left to do."""
    from dataclasses import asdict

    from ..files import dumps
    from ..linting.findings import as_github, as_progress, as_text

    if style == "json":
        rows = [finding.to_json() for finding in result.findings]
        click.echo(dumps({"findings": rows, "progress": [asdict(each) for each in result.progress]}))
        return
    shown = [finding for finding in result.findings if of_some or finding.severity == "finding"]
    for line in as_github(shown) if style == "github" else as_text(shown):
        click.echo(line)
    if of_some and style == "text":
        for line in as_progress(result.progress):
            click.echo(line)
    found = sum(finding.severity == "finding" for finding in result.findings)
    languages = len({each.language for each in result.progress})
    click.echo(f"{languages} language{'s' * (languages != 1)}, {found or 'no'} finding{'s' * (found != 1)}", err=True)
