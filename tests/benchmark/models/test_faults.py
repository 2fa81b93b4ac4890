"""The table of faults in docs/running.md, row by row: what a real server on a local port does, and what becomes of it.

Each row is run twice. The first run meets the fault among good requests, ends, and counts it under its condition; the
second, with the server in order again, asks only for what is missing.
"""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lm_eval.api.model import CachingLM

from refusalatlas.errors import AtlasError
from refusalatlas.models.chat import RefusalChat

ROOT = Path(__file__).parents[3]
GREEDY = {"until": [], "max_gen_toks": 32, "do_sample": False, "temperature": 0.0}
FILTER = {"error": {"message": "Flagged by the content filter.", "code": "content_filter"}}

Fault = Callable[[Any, Any, int], Any]
"""What the server does: from `reply`, `says` and the number of times that the prompt was asked before."""

FAULTS: dict[str, tuple[Fault, str | None]] = {
    "reset in mid-body": (lambda reply, says, _: reply(says().body, cut=20), "error"),
    "connection closed without a reply": (lambda reply, says, _: reply(drop=True), "error"),
    "429 with Retry-After, once": (
        lambda reply, says, times: reply(b"slow", status=429, headers={"Retry-After": "0"}) if times == 0 else says(),
        None,
    ),
    "429 that stays": (lambda reply, says, _: reply(b"slow", status=429, headers={"Retry-After": "0"}), "error"),
    "500 in bursts": (lambda reply, says, times: reply(b"oops", status=500) if times < 2 else says(), None),
    "500 that stays": (lambda reply, says, _: reply(b"oops", status=500), "error"),
    "silence beyond `timeout`": (lambda reply, says, _: reply(says().body, delay=1.5), "error"),
    "slow drip beyond `timeout`": (lambda reply, says, _: reply(says().body, drip=0.3), "error"),
    "slow drip within `timeout`": (lambda reply, says, _: reply(says().body, drip=0.01), None),
    "HTTP 400 of a filter": (lambda reply, says, _: reply(FILTER, status=400), "blocked"),
    "HTTP 400 that names no filter": (lambda reply, says, _: reply(b"Bad Request", status=400), "error"),
    "finish reason of a filter": (lambda reply, says, _: says("", "content_filter"), "blocked"),
    "null content": (lambda reply, says, _: says(None), "empty"),
    "no choices": (lambda reply, says, _: reply({"model": "m", "choices": []}), "empty"),
    "`refusal` field": (lambda reply, says, _: says(None, refusal="I can't help with that."), None),
    "reasoning only": (lambda reply, says, _: says(None, "length", reasoning_content="The user wants"), "empty"),
    "answer cut off by the token limit": (lambda reply, says, _: says("Sure. First you", "length"), None),
    "half a JSON object": (lambda reply, says, _: reply(b'{"choices": [{"mess'), "error"),
    "JSON of another shape": (lambda reply, says, _: reply({"answer": "Sure."}), "error"),
    "HTML with status 200": (lambda reply, says, _: reply(b"<html>", headers={"Content-Type": "text/html"}), "error"),
    "an answer under a wrong content type": (
        lambda reply, says, _: reply(says().body, headers={"Content-Type": "text/plain"}),
        None,
    ),
}

IN_OTHER_TESTS = {
    "connection refused",
    "HTTP 400 about template, roles or parameters",
    "server restart in mid-run",
    "`kill -9` of the run",
    "disk full, cache",
    "disk full, results",
    "read-only folder, cache",
    "read-only folder, results",
    "another model's cache",
}
"""The rows that are tests of their own, here, in test_chat, test_resume, test_cache and test_saving."""


def asks(*prompts: str) -> list[Any]:
    return [SimpleNamespace(args=(prompt, dict(GREEDY))) for prompt in prompts]


@pytest.fixture
def start(server: Any, tmp_path: Path) -> Callable[..., Any]:
    """Start a model with the cache that lm_eval wraps around it, as ``--use_cache`` does."""

    def starter(**arguments: Any) -> Any:
        settings = {"model": "m", "base_url": server.url, "retry_wait": 0.001, "max_retries": 2, "timeout": 30}
        return CachingLM(RefusalChat(**{**settings, **arguments}), str(tmp_path / "cache.db"))

    return starter


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_nothing_else_and_is_mended_by_a_second_start(
    server: Any, start: Callable[..., Any], says: Any, reply: Any, name: str
) -> None:
    fault, condition = FAULTS[name]
    seen: Counter[str] = Counter()

    def answer(body: dict[str, Any], _: int) -> Any:
        prompt = body["messages"][-1]["content"]
        seen[prompt] += 1
        return fault(reply, says, seen[prompt] - 1) if prompt == "odd" else says(prompt.upper())

    server.answer = answer
    prompts = ["a", "odd", "b", "c"]
    timeout = 0.5 if "beyond" in name else 30
    first = start(timeout=timeout, max_retries=0 if "beyond" in name else 2).generate_until(asks(*prompts))
    assert [first[0], first[2], first[3]] == ["A", "B", "C"]
    assert first[1].condition == condition
    assert first[1].detail if condition else first[1]

    before = len(server.bodies)
    server.answer = lambda *_: says("Now.")
    second = start().generate_until(asks(*prompts))
    assert server.prompts()[before:] == (["odd"] if condition == "error" else [])
    assert second[1] == ("Now." if condition == "error" else first[1])
    assert [second[0], second[2], second[3]] == ["A", "B", "C"]


def test_the_table_has_the_rows_that_are_tested() -> None:
    text = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    table = text.partition("## Faults")[2].partition("\n## ")[0]
    cells = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| ")]
    becomes = {fault.strip(): text for fault, text in cells[1:]}
    assert set(becomes) == set(FAULTS) | IN_OTHER_TESTS
    for name, (_, condition) in FAULTS.items():
        assert f"`{condition or 'answer'}`" in becomes[name], name


def test_a_server_that_turns_everything_down_ends_the_run_and_nothing_of_it_is_kept(
    server: Any, start: Callable[..., Any], reply: Any, says: Any
) -> None:
    prompts = [f"p{n}" for n in range(12)]
    server.answer = lambda *_: reply({"message": "Bad Request"}, status=400)
    with pytest.raises(AtlasError, match=r"10 requests were turned down and none was answered.*Bad Request") as caught:
        start(num_concurrent=1).generate_until(asks(*prompts))
    assert "\n" not in str(caught.value)
    assert len(server.bodies) == 10
    server.answer = lambda *_: says("Now.")
    assert start().generate_until(asks(*prompts)) == ["Now."] * 12


def test_a_second_start_with_nothing_but_odd_requests_ends_as_well_as_the_first(
    server: Any, start: Callable[..., Any], reply: Any, says: Any
) -> None:
    server.answer = lambda body, _: (
        says() if body["messages"][-1]["content"] == "a" else reply({"message": "Bad Request"}, status=400)
    )
    prompts = ["a", *(f"p{n}" for n in range(12))]
    for _ in range(2):
        answers = start(num_concurrent=1).generate_until(asks(*prompts))
        assert Counter(answer.condition for answer in answers) == {None: 1, "error": 12}


def test_connection_refused_ends_the_run_before_anything_is_paid_for(server: Any, start: Callable[..., Any]) -> None:
    server.stop()
    with pytest.raises(AtlasError, match="start the server"):
        start(max_retries=1).generate_until(asks("a", "b"))
    server.start()
    assert start().generate_until(asks("a", "b")) == ["Sure.", "Sure."]


def test_a_server_that_restarts_in_mid_run_leaves_no_trace(server: Any, start: Callable[..., Any], says: Any) -> None:
    def restart() -> None:
        server.stop()
        time.sleep(0.3)
        server.start()

    thread = threading.Thread(target=restart)

    def answer(body: dict[str, Any], number: int) -> Any:
        if number == 5:
            thread.start()
            time.sleep(0.1)
        return says(body["messages"][-1]["content"].upper())

    server.answer = answer
    prompts = [f"p{n}" for n in range(20)]
    answers = start(max_retries=12, retry_wait=0.05, num_concurrent=2).generate_until(asks(*prompts))
    thread.join()
    assert answers == [prompt.upper() for prompt in prompts]
    assert {answer.condition for answer in answers} == {None}
    asked = Counter(server.prompts())
    assert sum(asked.values()) - len(asked) <= 4  # again only for what was in flight when the server went


@contextlib.contextmanager
def disk_of(size: int) -> Iterator[None]:
    """No file may grow beyond so many bytes, which is what a full disk looks like from inside."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_disk_that_is_full_ends_the_run_in_one_line_and_keeps_what_was_written(
    server: Any, start: Callable[..., Any], says: Any
) -> None:
    server.answer = lambda body, _: says(body["messages"][-1]["content"] * 200)
    prompts = [f"prompt {n:03}" for n in range(60)]
    with disk_of(100_000), pytest.raises(AtlasError, match="make room there, and start again") as caught:
        start(num_concurrent=2).generate_until(asks(*prompts))
    assert "\n" not in str(caught.value)
    before = len(server.bodies)
    assert 10 < before < 60
    answers = start(num_concurrent=2).generate_until(asks(*prompts))
    assert answers == [prompt * 200 for prompt in prompts]
    assert len(server.bodies) - before < 60 - before + 8  # those that could not be kept, and those in flight


def test_a_disk_that_was_full_from_the_start_is_noticed_before_the_first_request(
    server: Any, start: Callable[..., Any], tmp_path: Path
) -> None:
    start()
    size = (tmp_path / "cache.db").stat().st_size
    with disk_of(size // 2), pytest.raises(AtlasError, match="answers cannot be kept"):
        start().generate_until(asks("a"))
    assert server.bodies == []


def test_a_cache_in_a_folder_that_cannot_be_written_is_noticed_before_the_first_request(
    server: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match="file"):
        CachingLM(RefusalChat(model="m", base_url=server.url), str(tmp_path / "file" / "cache.db"))
    assert server.bodies == []


def test_sixty_seconds_of_silence_are_no_longer_than_the_time_out(server: Any, start: Callable[..., Any]) -> None:
    listener = socket.create_server(("127.0.0.1", 0))  # takes connections and never says a word
    with listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        started = time.monotonic()
        (answer,) = RefusalChat(model="m", base_url=url, timeout=0.5, max_retries=0).generate_until(asks("a"))
    assert time.monotonic() - started < 30
    assert (answer.condition, answer.detail) == ("error", "no answer within 0.5 s")
