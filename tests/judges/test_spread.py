"""Work side by side: in order, with the same numbers as alone, and BLAS as it was afterwards."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray
from refusalatlas.judges.spread import spread
from threadpoolctl import threadpool_info, threadpool_limits


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_threads() -> object:
    """BLAS has two threads, however many cores there are, and has them again afterwards."""
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        yield
        assert blas_threads() == before


def test_order_is_kept() -> None:
    assert spread(lambda number: number * number, range(100)) == [number * number for number in range(100)]


def test_nothing_is_nothing() -> None:
    assert spread(lambda piece: piece, []) == []


@pytest.mark.skipif(not blas_threads(), reason="numpy's BLAS is none that can be told how many threads to take")
def test_blas_has_one_thread_meanwhile_and_its_own_afterwards() -> None:
    assert spread(lambda _: blas_threads(), range(6)) == [[1] * len(blas_threads())] * 6
    assert spread(lambda _: blas_threads(), [0]) == [[1] * len(blas_threads())]


@pytest.mark.skipif(not blas_threads(), reason="numpy's BLAS is none that can be told how many threads to take")
def test_pieces_run_at_a_time() -> None:
    both = threading.Barrier(2, timeout=60)
    assert sorted(spread(lambda _: both.wait(), range(2))) == [0, 1]


def test_what_a_piece_raises_comes_out() -> None:
    with pytest.raises(ZeroDivisionError):
        spread(lambda number: 1 / number, [1, 0, 2])


def test_numbers_are_those_of_a_piece_alone() -> None:
    rng = np.random.default_rng(3)
    left = [rng.standard_normal((97, 384), dtype=np.float32) for _ in range(12)]
    right = rng.standard_normal((384, 1536), dtype=np.float32)

    def product(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.tanh(matrix @ right)

    together = spread(product, left)
    for matrix, found in zip(left, together, strict=True):
        assert np.array_equal(spread(product, [matrix])[0], found)


def test_two_that_spread_at_a_time_put_back_what_was() -> None:
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda start: spread(lambda n: n + start, range(20)), range(40)))
    assert found == [list(range(start, start + 20)) for start in range(40)]
