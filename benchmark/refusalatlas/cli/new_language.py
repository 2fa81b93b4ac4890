"""`refusalatlas new-language`: begin a language."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("new-language")
@click.argument("code")
@click.option("--name", help="Its own name, such as Brezhoneg.")
@click.option("--english-name", help="Its English name, such as Breton.")
@click.option("--locale", help="The place that speaks for it, such as br-FR. [default: the one with most speakers]")
@click.option(
    "--unregistered",
    is_flag=True,
    help="CODE is in no register yet, or one of those for private use (qaa to qtz); needs names and --locale.",
)
@click.option("--author", help="Who writes the texts. [asked for in a terminal]")
@click.option(
    "--method",
    type=click.Choice(["native", "translated"]),
    default="translated",
    show_default=True,
    help="native: written by a speaker without the English.",
)
@click.option(
    "--pack",
    type=click.Path(file_okay=False, path_type=Path),
    help="Make a package of its own in this folder, to be installed with pip. [default: in this checkout]",
)
def command(
    code: str,
    name: str | None,
    english_name: str | None,
    locale: str | None,
    unregistered: bool,
    author: str | None,
    method: str,
    pack: Path | None,
) -> None:
    """Begin the language CODE: files with every text to write beside its English source, and a page that leads on.

    CODE is as in BCP 47, such as br, or sr-Latn where a language has several scripts.
    """
    from ..errors import AtlasError
    from ..linting.provenance import is_name
    from ..packs import builtin_root
    from ..scaffolding import facts_of, plan, write

    if author is None:
        author = _asked()
    if not is_name(author):
        raise click.UsageError(f"{author!r} is nobody's name")
    if pack is None and not (builtin_root() / "pyproject.toml").is_file():
        raise AtlasError("this is no checkout of Refusal Atlas", mend="give --pack FOLDER")
    planned = plan(
        facts_of(code, name=name, english_name=english_name, locale=locale, unregistered=unregistered),
        author=author,
        method=method,
        pack=pack,
    )
    write(planned)
    for path in planned.files:
        click.echo(str(planned.root / path))
    readme = next(path for path in planned.files if path.name == "README.md" and path.parent.name != "tasks")
    click.echo(f"Read {planned.root / readme} first.", err=True)


def _asked() -> str:
    """Return the name that somebody types in; where nobody can, say which option takes it."""
    import sys

    try:
        answer: str = click.prompt("Your name, as it shall stand beside the texts", err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise  # Ctrl-C
        raise click.UsageError('say who writes the texts with --author "Your Name"') from None
    return answer
