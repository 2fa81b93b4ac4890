"""Fetching rows from the hub through `datasets`, or from a folder of copies; what goes wrong is one line."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import Any

from ..errors import AtlasError, DataError
from .items import Rows
from .sets import ExternalSet

COPIES = "REFUSALATLAS_EXT_DATA"
"""Environment variable: a folder with copies, ``<owner>/<name>`` each, that come before the hub."""

LOCAL = "local"
"""Revision of rows that were read from such a copy."""

_COMMIT = re.compile(r"@([0-9a-f]{40})(/|$)")


def read_split(
    one: ExternalSet,
    config: str | None,
    split: str,
    *,
    repository: str | None = None,
    revision: str | None = None,
) -> Rows:
    """Return the rows of one split of a set, or of another repository that its YAML names.

    Code that lies in a repository is never run: `datasets` reads data files only.

    Raises:
        AtlasError: where the hub cannot be reached or lets nobody in, or where repository, revision, config or split
            are not there.
    """
    source = repository or one.file.repository
    wanted = revision or (one.file.revision if repository is None else "main")
    return _rows(source, wanted, config, split, one.file.access, _copy(source))


def _copy(repository: str) -> str | None:
    folder = os.environ.get(COPIES)
    path = Path(folder) / repository if folder else None
    return str(path) if path is not None and path.is_dir() else None


@functools.lru_cache(maxsize=4)  # a set in several languages is one split for all of them
def _rows(repository: str, revision: str, config: str | None, split: str, access: str | None, copy: str | None) -> Rows:
    where = ", ".join([repository, *([f"config {config}"] if config else []), f"split {split}"])
    try:
        table = _load(copy or repository, None if copy else revision, config, split)
    except AtlasError:
        raise
    except Exception as error:  # what datasets and huggingface_hub raise differs from one release to the next
        raise _told(error, repository, revision, where, access) from None
    found = LOCAL if copy else _commit(table) or revision
    return Rows(where, tuple(table.column_names), table, found)


def _load(path: str, revision: str | None, config: str | None, split: str) -> Any:
    from datasets import Dataset, disable_progress_bars, enable_progress_bars, load_dataset
    from datasets.utils.logging import is_progress_bar_enabled

    shown = is_progress_bar_enabled()
    if not os.isatty(2):
        disable_progress_bars()
    try:
        table = load_dataset(path, config, split=split, revision=revision)
    finally:
        if shown:
            enable_progress_bars()
    if not isinstance(table, Dataset):
        raise DataError("is no table of rows", where=path)
    return table


def _commit(table: Any) -> str | None:
    """Return the commit that a table came from, as the names of its files say it."""
    for name in getattr(table.info, "download_checksums", None) or ():
        found = _COMMIT.search(str(name))
        if found:
            return found[1]
    return None


def _told(error: Exception, repository: str, revision: str, where: str, access: str | None) -> AtlasError:
    """Return a failure as one line that says what, where and how to mend it."""
    said = " ".join(str(error).split())
    chain = _names(error)
    if "GatedRepoError" in chain or "gated dataset" in said:
        mend = access or "ask for access on its page on the hub"
        return AtlasError("lets in only who has been given access", where=repository, mend=f"{mend}; `hf auth login`")
    if "RevisionNotFoundError" in chain or "Revision '" in said:
        return AtlasError(f"has no revision {revision!r}", where=repository, mend="correct the set's YAML")
    if "BuilderConfig" in said or "Unknown split" in said or "Bad split" in said:
        return AtlasError(_short(said), where=where, mend="correct the set's YAML")
    if _offline(chain, said):
        mend = f"try again with a connection and without HF_HUB_OFFLINE, or put a copy into {COPIES}"
        return AtlasError("the hub cannot be reached", where=repository, mend=mend)
    if "NotFound" in chain:
        mend = "correct the set's YAML, or `hf auth login` where it is private"
        return AtlasError("is not on the hub", where=repository, mend=mend)
    return AtlasError(f"cannot be read ({type(error).__name__}: {_short(said)})", where=where)


def _offline(chain: str, said: str) -> bool:
    signs = ("ConnectionError", "ConnectError", "OfflineMode", "LocalEntryNotFound", "Timeout", "MaxRetry")
    return any(sign in chain for sign in signs) or "Couldn't reach" in said or "offline" in said.lower()


def _names(error: BaseException | None) -> str:
    """Return the names of an error's classes and of those of what it was caused by."""
    names: list[str] = []
    while error is not None and len(names) < 40:
        names += [kind.__name__ for kind in type(error).__mro__]
        error = error.__cause__ or error.__context__
    return " ".join(names)


def _short(text: str) -> str:
    return text if len(text) <= 300 else text[:299] + "…"
