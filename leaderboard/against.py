"""What a pull request changes below ``leaderboard/submissions``: it may add runs, and nothing else."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from refusalatlas.errors import AtlasError

from .storage import RECORDS_FILE, RUN_FILE

_REVISION = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_./~^@{}-]{0,199}$")


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from an older revision.

    Attributes:
        added: Run folders that are new.
        forbidden: `(path, what)` of everything that is not part of a new run.
    """

    added: tuple[Path, ...]
    forbidden: tuple[tuple[str, str], ...]


def changes(root: Path, revision: str) -> Changes:
    """Return what the working tree changes in a submissions folder since a revision.

    Args:
        root: The submissions folder, in a git checkout.
        revision: Any name of a commit, such as ``origin/main``; of a branch that went on, its merge base counts.

    Raises:
        AtlasError: where `root` is in no checkout, or git does not know the revision.
    """
    if not _REVISION.match(revision):
        raise AtlasError(f"{revision!r} is no name of a revision", mend="name a branch, tag or commit")
    if root.is_symlink():
        raise AtlasError("is a link", where=root, mend="name the submissions folder itself")
    top = Path(_git(root, "rev-parse", "--show-toplevel").strip())
    if not root.resolve().is_relative_to(top.resolve()):
        raise AtlasError("leads out of its checkout", where=root, mend="name the submissions folder itself")
    base = _git(root, "merge-base", revision, "HEAD").strip()
    before = set(_names(_git(root, "ls-tree", "-r", "-z", "--name-only", "--full-tree", base, "--", _below(root, top))))
    now = {str(path.relative_to(top)) for path in _files(root.resolve())}
    changed = set(_names(_git(root, "diff", "-z", "--name-only", "--no-renames", "--no-ext-diff", base, "--", ".")))
    forbidden = [(name, "is removed, and belongs to somebody else") for name in sorted(before - now)]
    forbidden += [(name, "is changed, and belongs to somebody else") for name in sorted(changed & before & now)]
    older = {str(Path(name).parent) for name in before}
    added = set()
    for name in sorted(now - before):
        folder, depth = str(Path(name).parent), len(Path(name).relative_to(_below(root, top)).parts)
        if depth != 3 or Path(name).name not in (RUN_FILE, RECORDS_FILE):
            forbidden.append((name, "is no part of a run"))
        elif folder in older:
            forbidden.append((name, "is added to somebody else's run"))
        else:
            added.add(top / folder)
    return Changes(tuple(sorted(added)), tuple(forbidden))


def _below(root: Path, top: Path) -> str:
    return str(root.resolve().relative_to(top.resolve()))


def _files(root: Path) -> list[Path]:
    """All that is not a folder, links included, none followed."""
    return [path for path in root.rglob("*") if path.is_symlink() or not path.is_dir()]


def _names(listing: str) -> list[str]:
    return [name for name in listing.split("\0") if name]


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "-c", "core.fsmonitor=false", *arguments],
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=True,
            timeout=120,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = str(getattr(error, "stderr", "") or error).strip().splitlines() or ["git failed"]
        raise AtlasError(said[-1], where=root, mend="name a revision of the checkout that the folder is in") from None
    return done.stdout
