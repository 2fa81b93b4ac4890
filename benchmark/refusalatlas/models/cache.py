"""Keeps lm_eval's ``--use_cache`` honest.

lm_eval caches whatever a model returns, under a key that does not say which model it was. Here failed requests are
never kept, so that a second start asks for them again; a cache belongs to one model; and of several answers to one
prompt each has its own place, where lm_eval would give the last one for all.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping
from typing import Any

from refusalatlas.errors import AtlasError
from refusalatlas.records import Answer

IDENTITY_KEY = "refusalatlas:identity"
"""Beside lm_eval's keys, which are SHA-256 in hex."""


class AnswerCache:
    """The answers of one model in lm_eval's cache.

    Args:
        store: The SqliteDict that lm_eval has opened. lm_eval writes into it by itself, too, after a model has
            returned; therefore its class is exchanged for one that refuses what must not be kept.
        identity: Must be the same for a cached answer to be this model's.

    Raises:
        AtlasError: where the cache is another model's, or cannot be written.
    """

    def __init__(self, store: Any, identity: Mapping[str, Any]) -> None:
        logging.getLogger("sqlitedict").setLevel(logging.CRITICAL)  # it logs stacks; our one line says more
        store.__class__ = _guarded(type(store))
        store.refused = set()
        _check_identity(store, dict(identity))
        store.settle()
        self._store = store

    @property
    def begun(self) -> bool:
        """Whether it holds an answer already."""
        return len(self._store) > 1  # beside the identity

    def find(self, arguments: tuple[Any, ...], repeat: int) -> Answer | None:
        """Return the answer to one of a prompt's repeats, or None."""
        found: Answer | None = self._store.get(f"{_key(arguments)}#{repeat}")
        return found

    def keep(self, arguments: tuple[Any, ...], answer: Answer, repeat: int | None) -> None:
        """Write an answer to disk at once, unless it is an error.

        Args:
            arguments: Of the request.
            answer: To keep.
            repeat: Number of the repeat; None where the prompt is asked only once, and lm_eval itself finds it.

        Raises:
            AtlasError: where this answer, or one before it, cannot be written: whoever pays wants to keep.
        """
        key = _key(arguments)
        self._store[key if repeat is None else f"{key}#{repeat}"] = answer

    def settle(self) -> None:
        """Wait until everything is on disk.

        Raises:
            AtlasError: where something cannot be written.
        """
        self._store.settle()

    def keep_apart(self, arguments: tuple[Any, ...]) -> None:
        """Let lm_eval not keep answers to a prompt that has several."""
        self._store.refused.add(_key(arguments))


def _key(arguments: tuple[Any, ...]) -> str:
    from lm_eval.api.model import hash_args

    return str(hash_args("generate_until", arguments))


def _check_identity(store: Any, identity: dict[str, Any]) -> None:
    mend = "use another --use_cache path for each model"
    if IDENTITY_KEY in store:
        kept = store[IDENTITY_KEY]
        if kept != identity:
            names = [n for n in {**kept, **identity} if kept.get(n) != identity.get(n)]
            differs = ", ".join(f"{n} {kept.get(n)!r}, now {identity.get(n)!r}" for n in names)
            raise AtlasError(f"this cache was made with {differs}", where=store.filename, mend=mend)
    elif store:
        raise AtlasError("this cache was made by another kind of model", where=store.filename, mend=mend)
    store[IDENTITY_KEY] = identity  # also where it stands there already: now is the time to know that nothing can


def _guarded(base: Any) -> type:
    class GuardedStore(base):  # type: ignore[misc]
        """Takes no errors, and nothing under a key that is refused; a disk that is full is one clear line."""

        refused: set[str]

        def __setitem__(self, key: str, value: Any) -> None:
            if key not in self.refused and getattr(value, "condition", None) != "error":
                try:
                    super().__setitem__(key, value)
                except (sqlite3.Error, OSError) as error:
                    raise self._unwritable(error) from None

        def commit(self, blocking: bool = True) -> None:
            try:
                super().commit(blocking)
            except (sqlite3.Error, OSError) as error:
                raise self._unwritable(error) from None

        def settle(self) -> None:
            """Wait until all is written; a thread of its own does that, and complains only when next spoken to."""
            self.commit()
            try:
                self.conn.check_raise_error()
            except (sqlite3.Error, OSError) as error:
                raise self._unwritable(error) from None

        def _unwritable(self, error: Exception) -> AtlasError:
            mend = "make room there, and start again with the same --use_cache: it asks only for what is missing"
            return AtlasError(f"answers cannot be kept ({error})", where=self.filename, mend=mend)

    return GuardedStore
