"""Pieces of numpy work side by side, a core each, instead of one after the other on all cores.

Matrices as small as those of one answer gain little from a second BLAS thread, and what lies between them is done by
one thread anyway. Which thread a piece runs on changes none of its numbers.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_MOST = 16
"""Threads at most: between its steps a piece holds the interpreter's lock, and more were not tried."""

_alone = threading.Lock()
# The limit is the process's: two that set it at a time could each put back what the other had set.


def spread(work: Callable[[T], R], pieces: Sequence[T]) -> list[R]:
    """Return what work makes of each piece, in their order.

    Takes as many threads as numpy's BLAS had, and leaves BLAS one thread for each of them meanwhile, even for a single
    piece, so that its numbers do not depend on how many came with it.

    Args:
        work: Must change nothing that other pieces look at.
        pieces: What it is called with.

    Raises:
        Exception: whatever work raises, the first of it.
    """
    if not pieces:
        return []
    with _alone:
        blas = _blas()
        width = max((library["num_threads"] for library in blas.info()), default=1)
        with blas.limit(limits=1):
            if min(width, len(pieces)) == 1:
                return [work(piece) for piece in pieces]
            with ThreadPoolExecutor(min(width, len(pieces), _MOST)) as threads:
                return list(threads.map(work, pieces))


@functools.cache
def _blas() -> Any:
    import numpy as np  # noqa: F401 - its BLAS has to be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
