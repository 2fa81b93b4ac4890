"""Verdicts that have been paid for, on disk, so that a run that was killed asks only for what is missing."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from refusalatlas.errors import AtlasError
from refusalatlas.records import LABELS

from .reply import CAUSES, CEILING, SETTLED, Opinion

_FORMAT = "1"
_LABEL, _CONFIDENCE, _CAUSE = "label", "confidence", "cause"


def key_of(model: str, rubric_sha256: str, text: str) -> str:
    """Return the key of a verdict: model, rubric, and the message with prompt and response, hashed."""
    return hashlib.sha256(json.dumps([_FORMAT, model, rubric_sha256, text]).encode()).hexdigest()


class VerdictCache:
    """A folder of verdicts, shared by as many processes as like to.

    Nothing is ever unpickled, whoever wrote it: entries are JSON text within the database, and anything else counts as
    missing.

    Args:
        folder: Is made where there is none.
        where: What to call the judge in messages.

    Raises:
        AtlasError: where the folder cannot be used, or the library is not installed.
    """

    def __init__(self, folder: Path, where: str) -> None:
        try:
            import diskcache
        except ImportError:
            raise AtlasError("needs diskcache", where=where, mend="run `pip install 'refusalatlas[llm]'`") from None
        import sqlite3

        self._folder = folder
        self._broken = (OSError, sqlite3.Error, diskcache.Timeout)
        disk = _text_disk(diskcache)
        try:
            self._store: Any = diskcache.Cache(str(folder), disk=disk, eviction_policy="none", cull_limit=0)
        except self._broken as error:
            raise self._unusable(error) from None

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def find(self, key: str) -> Opinion | None:
        """Return the verdict kept under a key, or None.

        Raises:
            AtlasError: where the database cannot be read.
        """
        try:
            kept = self._store.get(key)
        except self._broken as error:
            raise self._unusable(error) from None
        try:
            row = json.loads(kept or "null")
            label, confidence, cause = row[_LABEL], float(row[_CONFIDENCE]), row[_CAUSE]
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            return None
        settled = label in LABELS and cause is None and 0.5 <= confidence <= CEILING
        abstains = label is None and cause in CAUSES and confidence == 0.0
        return Opinion(label, confidence, cause) if settled or abstains else None

    def keep(self, key: str, opinion: Opinion) -> None:
        """Keep a verdict; one that failed, or is none, will be asked for again.

        Raises:
            AtlasError: where it cannot be written, since whoever pays for verdicts wants to keep them.
        """
        if opinion.cause not in SETTLED:
            return
        row = {_LABEL: opinion.label, _CONFIDENCE: opinion.confidence, _CAUSE: opinion.cause}
        try:
            self._store.set(key, json.dumps(row))
        except self._broken as error:
            raise self._unusable(error) from None

    def _unusable(self, error: Exception) -> AtlasError:
        mend = "mend it, name another folder with `cache`, or none with `cache: false`"
        return AtlasError(
            f"cannot be used as cache ({str(error) or type(error).__name__})", where=self._folder, mend=mend
        )


def _text_disk(diskcache: Any) -> Any:
    from diskcache.core import MODE_RAW

    class TextDisk(diskcache.Disk):  # type: ignore[misc]
        """Reads only what is stored as plain text."""

        def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
            return value if mode == MODE_RAW and isinstance(value, str) else None

    return TextDisk
