"""Released panels: whose decisions a submission may hold, each with its gate as it was.

``panels/released.json`` lists them, oldest first; ``panels/<first 16 of the hash>/<name>.yaml`` is the panel's file at
that release, by which `verify` recomputes labels after the panel has moved on. A release adds the present panel with
``make panel``, which is ``python -m refusalatlas.leaderboard.released``.
"""

from __future__ import annotations

import datetime
import functools
from pathlib import Path
from typing import Annotated

import click
import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from refusalatlas import __version__
from refusalatlas.errors import AtlasError, DataError
from refusalatlas.files import problems, read_text, read_yaml, write_atomic
from refusalatlas.plugins import enabled, load_service

from .schema import PanelId

FOLDER = Path(__file__).resolve().parent / "panels"
LIST = "released.json"
_SHORT = 16


class Released(BaseModel):
    """One panel that was released.

    Attributes:
        name: Of the panel's file.
        sha256: Hash of the panel, as records state it.
        date: Day of the release.
        version: Of Refusal Atlas.
        judges: Version of each of its judges, by name; None of panels released before these were kept.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    date: datetime.date
    version: Annotated[str, Field(min_length=1, max_length=40)]
    judges: dict[str, str] | None = None


_FORM = TypeAdapter(tuple[Released, ...])


def released_panels(folder: Path = FOLDER) -> tuple[Released, ...]:
    """Return the released panels, oldest first; none where there is no list.

    Raises:
        DataError: where the list is broken.
    """
    path = folder / LIST
    if not path.exists():
        return ()
    try:
        return _FORM.validate_json(read_text(path))
    except ValidationError as error:
        raise DataError(problems(error)[0], where=path, mend="take it from version control") from None


def is_released(panel: PanelId) -> bool:
    """Whether a panel, by name and hash, is among the released ones."""
    return (panel.name, panel.sha256) in _known(FOLDER)


@functools.lru_cache(maxsize=8)
def _known(folder: Path) -> dict[tuple[str, str], Released]:
    return {(one.name, one.sha256): one for one in released_panels(folder)}


def is_newest(panel: PanelId) -> bool:
    """Whether a panel is the one of its name that was released last."""
    hashes = [sha256 for name, sha256 in _known(FOLDER) if name == panel.name]
    return bool(hashes) and hashes[-1] == panel.sha256


def judges_of(panel: PanelId) -> dict[str, str]:
    """Return the versions of a released panel's judges by name; empty where they are not known."""
    one = _known(FOLDER).get((panel.name, panel.sha256))
    return dict(one.judges or {}) if one is not None else {}


def gate_folder(panel: PanelId, folder: Path | None = None) -> Path:
    """Return the folder that holds a released panel's file as it was; ask `is_released` first."""
    return (folder or FOLDER) / panel.sha256[:_SHORT]


def names_of(panel: PanelId) -> tuple[list[str], list[str]]:
    """Return whom a released panel asks about every answer, and whom after a contest; ask `is_released` first.

    Raises:
        DataError: where its file is not there or broken.
    """
    path = gate_folder(panel) / f"{panel.name}.yaml"
    file = read_yaml(path)
    try:
        return [str(one["name"]) for one in file["judges"]], [str(one["name"]) for one in file.get("escalate") or ()]
    except (KeyError, TypeError, AttributeError):
        raise DataError("is no panel", where=path, mend="take it from version control") from None


def complaint(panel: PanelId) -> tuple[str, str] | None:
    """Return what is wrong with a submission's panel and how to mend it, or None where it was released."""
    if is_released(panel):
        return None
    return (
        f"panel {panel.name}@{panel.sha256[:12]} is none that was released",
        "judge the run again with a released Refusal Atlas and REFUSALATLAS_PLUGINS=0 (`judge --write-run`), "
        "then submit it",
    )


def add(name: str, date: datetime.date, folder: Path = FOLDER) -> Released | None:
    """Add a panel as it is now, and its file, to the released ones; return it, or None where it was there already.

    Args:
        name: Of the panel.
        date: Day of the release.
        folder: Where released panels are kept.

    Raises:
        AtlasError: where there is no such panel, or it cannot be loaded.
    """
    if enabled():  # lexicons of packs are part of the hash, and nobody else has them
        raise AtlasError("plug-ins are on", mend="set REFUSALATLAS_PLUGINS=0")
    panel = load_service("load_panel")(name)
    identity = PanelId(name=name, sha256=panel.sha256)
    old = released_panels(folder)
    if any((one.name, one.sha256) == (name, panel.sha256) for one in old):
        return None
    judges = {judge.name: judge.version for judge in panel.judges}
    new = Released(name=name, sha256=panel.sha256, date=date, version=__version__, judges=judges)
    file = yaml.safe_dump(panel.file.model_dump(mode="json", exclude_none=True), sort_keys=False, allow_unicode=True)
    write_atomic(gate_folder(identity, folder) / f"{name}.yaml", file)
    write_atomic(folder / LIST, _FORM.dump_json((*old, new), indent=1).decode() + "\n")
    _known.cache_clear()
    return new


@click.command()
@click.argument("names", nargs=-1)
@click.option("--date", type=click.DateTime(["%Y-%m-%d"]), help="Day of the release; today by default.")
def main(names: tuple[str, ...], date: datetime.datetime | None) -> None:
    """Add the present panels NAMES (default: offline) to those whose decisions the leaderboard takes."""
    day = date.date() if date else datetime.datetime.now(datetime.timezone.utc).date()
    for name in names or ("offline",):
        try:
            new = add(name, day)
        except AtlasError as error:
            raise click.ClickException(str(error)) from None
        click.echo(f"{name}: released already" if new is None else f"{name}@{new.sha256}: added to {FOLDER / LIST}")


if __name__ == "__main__":
    main()
