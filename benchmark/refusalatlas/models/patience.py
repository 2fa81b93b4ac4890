"""What all do who ask a server or a command many things: wait between attempts, run a loop, read a key."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from refusalatlas.errors import AtlasError

LONGEST_BACKOFF = 30.0
"""Seconds; no wait of our own is longer."""


def pause(attempt: int, first: float, asked: float | None = None) -> float:
    """Return the seconds to wait before the next attempt.

    Args:
        attempt: How many have failed, from 1.
        first: Seconds before the second attempt; each further one waits twice as long, a random half of it less.
        asked: What a server asks to wait, which goes first.
    """
    if asked is not None:
        return asked
    longest = min(first * 2.0 ** min(attempt - 1, 30), LONGEST_BACKOFF)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads retries, keeps no secret


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end, also where a loop runs in this thread already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
    else:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, work).result()


def read_key(variable: str) -> str | None:
    """Return the key that an environment variable holds, or None.

    Raises:
        AtlasError: where it holds letters that no HTTP header can carry.
    """
    key = os.environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable():
        raise AtlasError("holds letters that a key cannot have", where=variable, mend="copy the key again")
    return key or None
