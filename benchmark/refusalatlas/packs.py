"""Packs: folders of languages and tasks, found by entry point and never imported.

A pack is an importable package that holds ``translations/`` and/or ``tasks/``. It is located on disk through the
import system, but none of its code runs: a pack is data.
"""

from __future__ import annotations

import functools
import re
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from .errors import AtlasError, DataError
from .plugins import Plugin, plugins, warn

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # it is written into YAML files that lm_eval executes


@dataclass(frozen=True, slots=True)
class Pack:
    """One pack on disk.

    Attributes:
        name: Name of its entry point.
        distribution: The distribution that brought it.
        version: Version of that distribution.
        ours: Whether it is the built-in pack.
        translations: Its folder of languages, or None.
        tasks: Its folder of tracks, or None.
    """

    name: str
    distribution: str
    version: str
    ours: bool
    translations: Path | None
    tasks: Path | None


def builtin_root() -> Path:
    """Return the folder that holds ``tasks`` and ``translations``: the checkout, or the installed package."""
    here = Path(__file__).resolve()
    checkout = here.parents[2]
    if (checkout / "pyproject.toml").is_file() and (checkout / "tasks").is_dir():
        return checkout
    return here.parent


def locate(package: str) -> Path:
    """Return the folder of a package without importing it, nor its parents.

    Raises:
        DataError: where there is no such package.
    """
    path: list[str] | None = None
    for name in package.split("."):
        # Each part is looked up by its last name alone, on the path of the one before: looked up by its full name, a
        # part without __init__.py would ask for its parent, which was not imported.
        spec = _find(name, path) if name.isidentifier() else None
        if spec is None or not spec.submodule_search_locations:
            raise DataError(
                f"there is no package {package!r} ({name!r} is missing)",
                mend="mend the entry point under refusalatlas.packs",
            )
        path = list(spec.submodule_search_locations)
    assert path  # noqa: S101 - the loop ran at least once
    return Path(path[0])


def _find(name: str, path: list[str] | None) -> ModuleSpec | None:
    """Ask the import path, and for a package at the top also the finders by which editable installs are found."""
    spec = PathFinder.find_spec(name, path)
    if spec is None and path is None:
        found = (finder.find_spec(name, None) for finder in sys.meta_path if finder is not PathFinder)
        spec = next((each for each in found if each is not None), None)
    return spec


@functools.cache
def packs() -> tuple[Pack, ...]:
    """Return all packs, the built-in one first; one that cannot be located is named on stderr and left out."""
    root = builtin_root()
    found = [Pack("builtin", "refusalatlas", _own_version(), True, root / "translations", root / "tasks")]
    for plugin in plugins("packs"):
        if plugin.ours:
            continue
        try:
            found.append(_third_party(plugin))
        except Exception as error:  # its own loaders and folders may raise anything
            warn(plugin, str(error) if isinstance(error, AtlasError) else repr(error))
    return tuple(found)


def _own_version() -> str:
    from . import __version__

    return __version__


def _third_party(plugin: Plugin) -> Pack:
    if not _NAME.fullmatch(plugin.name):
        raise DataError(f"{plugin.name!r} is no name for a pack", mend="use letters, digits, dots and hyphens")
    folder = locate(plugin.value)
    translations, tasks = folder / "translations", folder / "tasks"
    if not translations.is_dir() and not tasks.is_dir():
        raise DataError("holds neither translations/ nor tasks/", where=folder)
    return Pack(
        plugin.name,
        plugin.distribution,
        plugin.version,
        False,
        translations if translations.is_dir() else None,
        tasks if tasks.is_dir() else None,
    )
