"""What finding our tasks adds to lm_eval's start, in CPU seconds of processes of their own. `make bench` prints it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("lm_eval")

pytestmark = pytest.mark.speed

START = "from lm_eval.tasks import TaskManager; assert TaskManager().all_tasks"
LOAD = """
from lm_eval.tasks import TaskManager, get_task_dict
manager = TaskManager()
ours = [name for name in manager.all_tasks if name.startswith("refusal_")]
assert len(ours) >= 104, len(ours)
get_task_dict(ours, manager)
"""
TIMES = 3


def cpu_seconds(code: str, autoload: bool) -> float:
    """Return user and system time of a fresh interpreter that runs the code."""
    before = os.times()
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={**os.environ, "REFUSALATLAS_AUTOLOAD": "1" if autoload else "0", "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = os.times()
    return (after.children_user - before.children_user) + (after.children_system - before.children_system)


def test_finding_our_tasks_adds_less_than_a_twentieth_to_the_start_of_lm_eval() -> None:
    with_ours, without = [], []
    for _ in range(TIMES):  # in turn, so that a busy moment falls on both
        without.append(cpu_seconds(START, autoload=False))
        with_ours.append(cpu_seconds(START, autoload=True))
    ratio = min(with_ours) / min(without)
    print(f"\nstart of lm_eval: {min(without):.1f} s of CPU time, with our tasks {ratio:.3f} times that")  # noqa: T201
    assert ratio < 1.05


def test_loading_every_task_with_its_texts_is_no_second_start() -> None:
    start = min(cpu_seconds(START, autoload=True) for _ in range(TIMES))
    loaded = min(cpu_seconds(LOAD, autoload=True) for _ in range(TIMES))
    ratio = loaded / start
    print(f"\nstart of lm_eval: {start:.1f} s of CPU time, with all our tasks loaded {ratio:.2f} times that")  # noqa: T201
    assert ratio < 2.0
