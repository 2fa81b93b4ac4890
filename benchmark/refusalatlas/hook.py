"""What the autoload module does once lm_eval's task manager is imported."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from .errors import AtlasError

if TYPE_CHECKING:
    from .packs import Pack


def task_folders() -> list[Path]:
    """Return the folders of task YAMLs, the built-in one first; a pack whose YAMLs are not ours is left out."""
    from .packs import packs

    folders = []
    for pack in packs():
        if pack.tasks is None:
            continue
        findings = [] if pack.ours else _findings(pack)
        if findings:
            sys.stderr.write(
                f"refusalatlas: pack {pack.distribution} {pack.version}: its tasks are skipped: {findings[0]}\n"
            )
            continue
        folders.append(pack.tasks)
    return folders


def _findings(pack: Pack) -> list[str]:
    from .generate import check_pack

    try:
        return check_pack(pack)
    except Exception as error:  # one pack never costs the others their tasks
        return [repr(error)]


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
    from .models import register

    register()
    _print_our_errors_as_one_line()


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
        else:
            previous(kind, error, trace)

    sys.excepthook = excepthook
