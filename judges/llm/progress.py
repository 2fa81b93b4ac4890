"""How far a round of asking has come, on stderr, where a person looks at it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PAUSE = 2.0
"""Seconds from one line to the next."""


@contextmanager
def progress(name: str, total: int, clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[], None]]:
    """Give a function to call once a verdict; on a terminal it says now and then how many, how fast, how much longer.

    Whole lines, since the command that judges may have a bar of its own at work, which such lines pass by.

    Args:
        name: What the judge is called.
        total: Verdicts that are to come.
        clock: Seconds.
    """
    start = said = clock()
    count = 0

    def advance() -> None:
        nonlocal count, said
        count += 1
        now = clock()
        if sys.stderr.isatty() and (now - said >= PAUSE or (count == total and said > start)):
            said = now
            sys.stderr.write(line(name, count, total, now - start) + "\n")

    yield advance


def line(name: str, count: int, total: int, seconds: float) -> str:
    """Return what is said of so many verdicts in so many seconds."""
    rate = count / seconds if seconds > 0 else 0.0
    left = f", {(total - count) / rate:.0f} s left" if rate and count < total else ""
    return f"judge {name}: {count} of {total}, {rate:.1f} a second{left}"
