from __future__ import annotations

import asyncio

from refusalatlas.models.patience import LONGEST_BACKOFF, pause, run


def test_waits_double_up_to_a_limit_and_are_spread() -> None:
    for attempt in range(1, 40):
        longest = min(0.5 * 2 ** (attempt - 1), LONGEST_BACKOFF)
        drawn = [pause(attempt, 0.5) for _ in range(20)]
        assert all(longest / 2 <= seconds <= longest for seconds in drawn)
        assert len(set(drawn)) > 1


def test_what_a_server_asks_for_goes_first() -> None:
    assert pause(1, 0.5, 17.0) == 17.0
    assert pause(9, 0.5, 0.0) == 0.0


def test_a_loop_that_runs_already_is_no_hindrance() -> None:
    done = []

    async def work() -> None:
        done.append(asyncio.get_running_loop())

    async def cell() -> None:
        run(work())

    run(work())
    asyncio.run(cell())
    assert len(set(done)) == 2
