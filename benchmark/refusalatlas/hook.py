"""What the autoload module does once lm_eval's task manager is imported."""

from __future__ import annotations

import functools
import os
import re
import sys
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from .errors import AtlasError

if TYPE_CHECKING:
    from .packs import Pack


MOST_REPEATS = 1000
"""Answers to one item, at most."""


def task_folders() -> list[Path]:
    """Return the folders of task YAMLs, the built-in one first; a pack whose YAMLs are not ours is left out.

    A pack whose data have moved on since its YAMLs were generated keeps those that are still right.
    """
    from .packs import packs

    folders = []
    for pack in packs():
        if pack.tasks is None:
            continue
        findings, usable = _findings(pack)
        if findings:
            state = "not all of its tasks are there" if usable else "its tasks are skipped"
            more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
            line = f"refusalatlas: pack {pack.distribution} {pack.version}: {state}: {findings[0]}{more}\n"
            sys.stderr.write(line)
        if usable:
            folders.append(pack.tasks)
    return folders


def _findings(pack: Pack) -> tuple[tuple[str, ...], bool]:
    """Return what is wrong with a pack's task files, and whether those that are there may be run."""
    from .generate import examine

    if pack.ours:  # those are checked before they are released, and this is every start of lm_eval
        return (), True
    try:
        checked = examine(pack)
    except Exception as error:  # one pack never costs the others their tasks
        return (repr(error),), False
    return checked.findings, checked.usable


def patch(module: ModuleType) -> None:
    """Let ``module.TaskManager`` find our tasks, register our models, and print our errors as one line.

    A folder that the user names with ``--include_path`` still wins over ours.
    """
    manager: Any = module.TaskManager
    original = manager.__init__
    if getattr(original, "_refusalatlas", False):
        return

    @functools.wraps(original)
    def __init__(  # noqa: N807 - it takes the place of one
        self: Any, verbosity: Any = None, include_path: Any = None, include_defaults: Any = True, *args: Any, **kw: Any
    ) -> None:
        asked = list(include_path) if isinstance(include_path, (list, tuple)) else [include_path]
        paths = [path for path in asked if path]
        if include_defaults:
            try:
                known = {Path(path).resolve() for path in paths}
                paths = [str(f) for f in task_folders() if f.resolve() not in known] + paths
            except Exception as error:
                sys.stderr.write(f"refusalatlas: its tasks are not available: {error}\n")
        original(self, verbosity, paths or None, include_defaults, *args, **kw)
        try:
            _unite_tags(self)
        except Exception as error:  # the index is lm_eval's own affair and may look different one day
            sys.stderr.write(f"refusalatlas: tags that several packs share may be incomplete: {error!r}\n")

    __init__._refusalatlas = True  # type: ignore[attr-defined]
    manager.__init__ = __init__
    _repeat_our_tasks(manager)
    from .models import register
    from .saving import remember_output_path

    register()
    remember_output_path()
    _print_our_errors_as_one_line()


def repeats() -> int | None:
    """Return how many answers ``REFUSALATLAS_REPEATS`` asks for to each item, or None where it is not set.

    Raises:
        AtlasError: where it is no number from 1 to `MOST_REPEATS`.
    """
    given = os.environ.get("REFUSALATLAS_REPEATS", "").strip()
    if not given:
        return None
    if not (given.isascii() and given.isdecimal() and 1 <= int(given) <= MOST_REPEATS):
        mend = f"give a number from 1 to {MOST_REPEATS}"
        raise AtlasError(f"is {given!r}", where="REFUSALATLAS_REPEATS", mend=mend)
    return int(given)


def _repeat_our_tasks(manager: Any) -> None:
    """Let `repeats` reach our tasks: lm_eval knows it of a task file only, and has no option for it."""
    original = getattr(manager, "load", None)
    if original is None:
        return

    @functools.wraps(original)
    def load(self: Any, *args: Any, **kw: Any) -> Any:
        wanted = repeats()
        loaded = original(self, *args, **kw)
        for task in loaded["tasks"].values() if wanted else ():
            if "ra_track" in (getattr(task.config, "dataset_kwargs", None) or {}):
                task.config.repeats = wanted
        return loaded

    manager.load = load


def _unite_tags(manager: Any) -> None:
    """Give every tag all of its tasks: lm_eval lets the tags of a later folder replace those of an earlier one."""
    index = getattr(manager, "_index", {})
    for name, entry in list(index.items()):
        if entry.kind.name not in ("TASK", "PY_TASK"):
            continue
        for tag in entry.tags:
            if tag in index and index[tag].kind.name == "TAG":
                index[tag].tags.add(name)


def _print_our_errors_as_one_line() -> None:
    previous = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, AtlasError):
            sys.stderr.write(f"Error: {error}\n")
        elif isinstance(error, ValueError) and re.match(r"Tasks not found: .*\brefusal", str(error)):
            # lm_eval's own words, where one of ours was asked for: what it does not know, we can tell
            sys.stderr.write(f"Error: {' '.join(str(error).split())}; see `refusalatlas tasks list`\n")
        else:
            previous(kind, error, trace)

    sys.excepthook = excepthook
