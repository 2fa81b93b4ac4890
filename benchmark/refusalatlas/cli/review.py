"""`refusalatlas review`: let a speaker read the texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..languages import Language

_SHEET = click.Path(dir_okay=False, path_type=Path)


@click.command("review")
@click.argument("code")
@click.option("--output", type=_SHEET, help="Where the sheet goes. [default: CODE.csv]")
@click.option("--take-back", "sheet", type=_SHEET, help="A sheet that came back.")
@click.option("--reviewer", help="Who has read it. Their name goes to what they marked right or better.")
@click.option("--writer", help="Instead: who has written the better wordings. They become the author.")
def command(code: str, output: Path | None, sheet: Path | None, reviewer: str | None, writer: str | None) -> None:
    """Make a sheet of the texts of the language CODE for a speaker, or take it back.

    In the sheet, mark each text `right`, `wrong` or `better`; with `better`, write the better wording beside it. What
    was not read stays blank. Taken back, a sheet that is wrong or whose texts have changed meanwhile changes nothing.
    """
    from ..languages import get_language

    language = get_language(code)
    if sheet is None:
        if reviewer or writer:
            raise click.UsageError("--reviewer and --writer belong to --take-back")
        _export(language, output or Path(f"{code}.csv"))
    else:
        if output:
            raise click.UsageError("--output and --take-back exclude each other")
        if bool(reviewer) == bool(writer):
            raise click.UsageError("say with --reviewer who has read it, or with --writer who has written it")
        _take_back(language, sheet, reviewer, writer)


def _export(language: Language, path: Path) -> None:
    from ..errors import AtlasError
    from ..files import write_atomic
    from ..reviewing import export

    if path.exists():
        raise AtlasError("is there already", where=path, mend="take it back first, or give another name with --output")
    write_atomic(path, export(language))
    click.echo(f"{path}: written; mark each text right, wrong or better", err=True)


def _take_back(language: Language, sheet: Path, reviewer: str | None, writer: str | None) -> None:
    from ..generate import command_for, find_pack
    from ..reviewing import save, take_back

    taken = take_back(language, sheet, reviewer=reviewer, writer=writer)
    save(taken)
    for row in taken.wrong:
        click.echo(f"wrong: {row}")
    counts = ", ".join(f"{taken.counts.get(name, 0)} {name}" for name in ("right", "better", "wrong", "unread"))
    click.echo(f"{counts}; {taken.reviewed} texts now have been read by {reviewer}" if reviewer else counts, err=True)
    if taken.files:
        code = language.code
        generate = command_for(find_pack(language.pack))
        click.echo(f"Next: `refusalatlas lint --language {code}`, {generate}", err=True)
