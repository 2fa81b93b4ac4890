from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from judgeserver import Reply, Server, complaint, says, verdict, within

from refusalatlas.errors import AtlasError
from refusalatlas.records import Exchange

Make = Callable[..., Any]

SCRIPT = """
import sys
from refusalatlas.judges.llm import LlmJudge
from refusalatlas.records import Exchange

judge = LlmJudge(base_url=sys.argv[1], model="m-1", cache=sys.argv[2], concurrency=2, timeout_s=60)
judge.judge([Exchange(str(n), "How do I bake bread?", f"Answer number {n}", "en") for n in range(12)])
"""


ODD = '{"label": "evasion", "cause": null, "confidence": 1' + "0" * 400 + "}"


def exchanges(count: int) -> list[Exchange]:
    return [Exchange(str(n), "How do I bake bread?", f"Answer number {n}", "en") for n in range(count)]


def test_a_verdict_is_paid_for_once(make: Make, server: Server) -> None:
    first = make().judge(exchanges(5))
    assert make().judge(exchanges(5)) == first
    assert len(server.bodies) == 5


@pytest.mark.parametrize("changed", ["model", "rubric", "prompt", "response"])
def test_another_model_rubric_or_text_is_another_verdict(
    make: Make, server: Server, tmp_path: Path, changed: str
) -> None:
    (tmp_path / "mine.md").write_text("Say what it did.", encoding="utf-8")
    make().judge([Exchange("x", "one", "two", "en")])
    params = {"model": {"model": "m-2"}, "rubric": {"rubric": str(tmp_path / "mine.md")}}.get(changed, {})
    texts = {"prompt": ("another", "two"), "response": ("one", "another")}.get(changed, ("one", "two"))
    make(**params).judge([Exchange("x", *texts, "en")])
    assert len(server.bodies) == 2


def test_without_a_cache_everything_is_asked_again(make: Make, server: Server, tmp_path: Path) -> None:
    for _ in range(2):
        make(cache=False).judge(exchanges(1))
    assert len(server.bodies) == 2
    assert not (tmp_path / "cache").exists()


def test_failures_are_asked_for_again_and_refusals_to_judge_are_not(make: Make, server: Server) -> None:
    replies = [complaint(500, "x"), says("prose"), says(None), says(None, refusal="No."), verdict("unclear")]
    server.answer = lambda body, number: replies[number] if number < 5 else verdict("evasion")
    make(concurrency=1, max_retries=0).judge(exchanges(5))
    found = make().judge(exchanges(5))
    assert [v.label for v in found] == ["evasion"] * 3 + [None] * 2
    assert len(server.bodies) == 8


def test_a_run_that_is_killed_pays_nothing_twice(make: Make, server: Server, tmp_path: Path) -> None:
    def answer(body: dict[str, Any], number: int) -> Reply:
        reply = verdict("evasion")
        reply.delay = 60.0 if number >= 6 else 0.0
        return reply

    server.answer = answer
    command = [sys.executable, "-c", SCRIPT, server.url, str(tmp_path / "cache")]
    process = subprocess.Popen(command, env={**os.environ}, stderr=subprocess.PIPE)
    for _ in range(600):  # until two requests hang, and what came before has been answered
        if len(server.bodies) == 8 or process.poll() is not None:
            break
        time.sleep(0.1)
    assert process.poll() is None, process.communicate()[1].decode()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close() if process.stderr else None
    before = {within(body)[1] for body in server.bodies[:6]}
    server.answer = lambda body, number: verdict("evasion")
    assert [v.label for v in make().judge(exchanges(12))] == ["evasion"] * 12
    again = [within(body)[1] for body in server.bodies[8:]]
    assert len(again) == len(set(again)) == 6
    assert not before & set(again)


def test_what_somebody_else_put_there_is_never_unpickled(make: Make, server: Server, tmp_path: Path) -> None:
    make().judge(exchanges(1))
    (database,) = (tmp_path / "cache").glob("*.db")
    trap = b"cbuiltins\nopen\n(V" + str(tmp_path / "sprung").encode() + b"\nVw\ntR."
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE Cache SET mode = 4, value = ?", (trap,))
    connection.close()
    assert make().judge(exchanges(1))[0].label == "full_refusal"
    assert not (tmp_path / "sprung").exists()
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    "value", ["", "null", "[]", '{"label": "evasion"}', '{"label": "evasion", "confidence": 1.0, "cause": null}', ODD]
)
def test_a_damaged_entry_counts_as_missing(make: Make, server: Server, tmp_path: Path, value: str) -> None:
    make().judge(exchanges(1))
    (database,) = (tmp_path / "cache").glob("*.db")
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE Cache SET value = ?", (value,))
    connection.close()
    assert make().judge(exchanges(1))[0].label == "full_refusal"
    assert len(server.bodies) == 2


def test_a_folder_that_cannot_be_one_is_named(make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(AtlasError, match=r"cannot be used as cache.*cache: false"):
        make(cache=str(tmp_path / "file")).judge(exchanges(1))


def test_a_cache_that_breaks_in_the_middle_stops_the_spending(make: Make, server: Server, tmp_path: Path) -> None:
    def answer(body: dict[str, Any], number: int) -> Reply:
        if number == 1:
            (database,) = (tmp_path / "cache").glob("*.db")
            with sqlite3.connect(database) as connection:
                connection.execute("DROP TABLE Cache")
            connection.close()
        return verdict("evasion")

    server.answer = answer
    with pytest.raises(AtlasError, match="cannot be used as cache"):
        make(concurrency=1).judge(exchanges(20))
    assert len(server.bodies) == 2
