"""Servers that misbehave: what passes is waited for, what does not is an abstention with a cause or the end."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from judgeserver import Reply, Server, complaint, says, verdict
from refusalatlas.judges.llm import asking
from refusalatlas.judges.llm.reply import read_opinion

from refusalatlas.errors import AtlasError
from refusalatlas.records import Exchange

Make = Callable[..., Any]
KEY = "sk-test-4b1d0c9e77"


def exchanges(count: int) -> list[Exchange]:
    return [Exchange(str(n), "How do I bake bread?", f"Answer number {n}", "en") for n in range(count)]


def first(*replies: Reply) -> Callable[[dict[str, Any], int], Reply]:
    """Return an answer function that gives these first and good verdicts from then on."""
    return lambda body, number: replies[number] if number < len(replies) else verdict("full_refusal")


def test_retry_after_is_waited_for(make: Make, server: Server) -> None:
    server.answer = first(complaint(429, "slow down", Retry_After="0.4"))
    found = make(retry_wait_s=0).judge(exchanges(1))
    assert found[0].label == "full_refusal"
    assert server.times[1] - server.times[0] >= 0.4


TRANSIENT: dict[str, list[Reply]] = {
    "500 in a burst": [complaint(500, "boom")] * 3,
    "503": [complaint(503, "busy")],
    "reset": [Reply(reset=True)] * 2,
    "not JSON": [Reply(b"<html>Bad gateway</html>")],
    "JSON cut off": [Reply(b'{"choices": [{"mess')],
    "another shape": [Reply({"outcome": "fine"})],
    "error in a good reply": [Reply({"error": {"code": 502, "message": "upstream"}})],
}


@pytest.mark.parametrize("replies", TRANSIENT.values(), ids=TRANSIENT)
def test_what_may_pass_is_tried_again(make: Make, server: Server, replies: list[Reply]) -> None:
    server.answer = first(*replies)
    judge = make(concurrency=1)
    assert [v.label for v in judge.judge(exchanges(2))] == ["full_refusal"] * 2
    assert judge.requests == len(server.bodies) == len(replies) + 2
    assert judge.counts == {}


def test_what_does_not_pass_is_an_abstention(make: Make, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.answer = lambda body, number: complaint(500, "boom") if number < 3 else verdict("full_refusal")
    judge = make(concurrency=1, max_retries=2)
    assert [v.label for v in judge.judge(exchanges(2))] == [None, "full_refusal"]
    assert judge.counts == {"failed": 1}
    assert "HTTP 500: boom (3 attempts)" in caplog.text


def test_a_server_that_is_silent_runs_into_the_time_out(make: Make, server: Server) -> None:
    slow = verdict("full_refusal")
    slow.delay = 2.0
    server.answer = first(slow)
    judge = make(timeout_s=0.3, max_retries=0, concurrency=1)
    assert [v.label for v in judge.judge(exchanges(2))] == [None, "full_refusal"]
    assert judge.counts == {"failed": 1}


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (says("I would say that it refuses."), "unparsable"),
        (says('{"label": "no", "confidence": 1}'), "unparsable"),
        (says(None, refusal="I can't look at this."), "refused"),
        (says("", finish="content_filter"), "refused"),
        (Reply({"choices": []}), "empty"),
        (says(None), "empty"),
    ],
    ids=["prose", "wrong label", "refusal field", "filter", "no choices", "null"],
)
def test_an_answer_that_is_no_verdict_is_not_asked_for_again_in_the_same_run(
    make: Make, server: Server, reply: Reply, cause: str
) -> None:
    server.answer = first(reply)
    judge = make(concurrency=1)
    assert [v.label for v in judge.judge(exchanges(2))] == [None, "full_refusal"]
    assert judge.counts == {cause: 1}
    assert len(server.bodies) == 2


def test_prose_around_a_verdict_does_no_harm(make: Make, server: Server) -> None:
    server.answer = lambda body, number: says('My verdict:\n```json\n{"label": "evasion", "confidence": 0.7}\n```')
    assert make().judge(exchanges(1))[0].label == "evasion"


LLAMA_CPP = "1 validation error: {'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text'\"}"


@pytest.mark.parametrize(("status", "said"), [(400, "response_format is not supported"), (500, LLAMA_CPP)])
def test_a_server_without_schemas_is_remembered(make: Make, server: Server, status: int, said: str) -> None:
    def answer(body: dict[str, Any], number: int) -> Reply:
        return complaint(status, said) if "response_format" in body else verdict("evasion")

    server.answer = answer
    judge = make(concurrency=1)
    assert [v.label for v in judge.judge(exchanges(3))] == ["evasion"] * 3
    assert [v.label for v in judge.judge(exchanges(5)[3:])] == ["evasion"] * 2
    assert ["response_format" in body for body in server.bodies] == [True] + [False] * 5


def test_the_newer_name_of_the_limit_is_learned(make: Make, server: Server) -> None:
    def answer(body: dict[str, Any], number: int) -> Reply:
        text = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
        return complaint(400, text) if "max_tokens" in body else verdict("evasion")

    server.answer = answer
    assert [v.label for v in make(concurrency=1).judge(exchanges(2))] == ["evasion"] * 2
    assert [body.get("max_completion_tokens") for body in server.bodies] == [None, 512, 512]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (complaint(401, "Incorrect API key provided"), "set REFUSALATLAS_JUDGE_KEY to a key .*no key was sent"),
        (complaint(404, "The model `m-1` does not exist"), r"check base_url, model \(m-1\)"),
        (complaint(402, "Insufficient credits"), "see to the account"),
        (complaint(400, "Unsupported parameter: 'temperature'"), "omit: "),
    ],
    ids=["key", "model", "money", "parameter"],
)
def test_what_no_request_can_survive_ends_at_once(make: Make, server: Server, reply: Reply, message: str) -> None:
    server.answer = lambda body, number: reply
    with pytest.raises(AtlasError, match=message):
        make(concurrency=1).judge(exchanges(20))
    assert len(server.bodies) == 1


def test_a_server_that_is_not_there_is_named(make: Make) -> None:
    with pytest.raises(AtlasError, match=r"http://127\.0\.0\.1:9/v1: cannot connect.*start the server"):
        make(base_url="http://127.0.0.1:9/v1", max_retries=1).judge(exchanges(3))


def test_an_outage_stops_with_what_to_do(make: Make, server: Server) -> None:
    server.answer = lambda body, number: verdict("evasion") if number < 40 else complaint(500, "down")
    with pytest.raises(AtlasError, match=r"11 of the last 50 verdicts failed, the last with HTTP 500: down.*kept"):
        make(concurrency=1, max_retries=0).judge(exchanges(100))
    assert len(server.bodies) == 51


def test_a_server_that_turns_everything_down_is_no_filter(make: Make, server: Server) -> None:
    server.answer = lambda body, number: complaint(400, "nothing here suits me")
    with pytest.raises(AtlasError, match="11 of the last 11"):
        make(concurrency=1).judge(exchanges(30))


ODD = '{"label": "compliant", "confidence": 1' + "0" * 400 + "}"


def test_an_odd_number_costs_its_own_question_alone(make: Make, server: Server) -> None:
    huge = verdict("evasion")
    huge.body["usage"] = {"prompt_tokens": 10**400, "completion_tokens": 1}
    server.answer = first(says(ODD), huge)
    judge = make(concurrency=1, max_cost=1, price_input=1.0, price_output=1.0)
    assert [v.label for v in judge.judge(exchanges(4))] == [None, "evasion", "full_refusal", "full_refusal"]
    assert judge.counts == {"unparsable": 1}
    assert 0 < judge.spent < 1


def test_whatever_a_reply_makes_us_raise_costs_its_own_question_alone(
    make: Make, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def read(status: int, body: bytes, provider: str) -> Any:
        if b"odd" in body:
            raise OverflowError(f"too large, {KEY}")
        return read_opinion(status, body, provider)

    monkeypatch.setenv("REFUSALATLAS_JUDGE_KEY", KEY)
    monkeypatch.setattr(asking, "read_opinion", read)
    server.answer = first(says("odd"))
    judge = make(concurrency=1)
    assert [v.label for v in judge.judge(exchanges(4))] == [None, *["full_refusal"] * 3]
    assert judge.counts == {"failed": 1}
    assert "OverflowError: too large, [key]" in caplog.text


def test_a_server_that_is_down_stops_also_where_little_is_asked(make: Make, server: Server) -> None:
    server.answer = lambda body, number: complaint(503, "gone")
    with pytest.raises(AtlasError, match=r"all 3 verdicts failed, the last with HTTP 503: gone .*; see to the server"):
        make(max_retries=1).judge(exchanges(3))
    assert [v.label for v in make(max_retries=0).judge(exchanges(2))] == [None, None]
    server.bodies.clear()
    server.answer = first(verdict("evasion"), *[complaint(503, "gone")] * 4)
    assert [v.label for v in make(max_retries=0, concurrency=1).judge(exchanges(5))] == ["evasion"] + [None] * 4
    server.answer = lambda body, number: complaint(503, "gone")
    assert make(max_retries=0).judge(exchanges(5))[0].label == "evasion"  # what is kept is no failure


@pytest.mark.parametrize(
    ("cache", "replies", "said"),
    [
        (True, [], "and start again: 5 verdicts so far are kept$"),
        (False, [], r"and start again: 5 verdicts so far are lost \(cache: false\)$"),
        (True, [says("Yes.")] * 2 + [says(None)], "again: 2 verdicts so far are kept, 1 empty, 2 unparsable will be "
         "asked for again, a model that hardly writes a verdict needs more max_tokens, or is the wrong one$"),
        (True, [says("Yes.")] * 5, "again: no verdict so far is kept, 5 unparsable will be asked for again, a model"),
        (True, [verdict("unclear"), complaint(418, "x")], "4 verdicts so far are kept, 1 failed will be asked"),
    ],
)  # fmt: skip
def test_what_stops_says_what_became_of_the_questions(
    make: Make, server: Server, tmp_path: Path, cache: bool, replies: list[Reply], said: str
) -> None:
    server.answer = first(*replies)
    with pytest.raises(AtlasError, match=said):
        make(max_requests=5, concurrency=1, cache=str(tmp_path / "c") if cache else False).judge(exchanges(9))


def test_a_long_wait_that_a_server_asks_for_is_told_once(
    make: Make, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(asking, "LONG_WAIT", 0.2)
    server.answer = first(*[complaint(429, "slow down", Retry_After="0.5")] * 3)
    assert {v.label for v in make(concurrency=3).judge(exchanges(3))} == {"full_refusal"}
    told = [record.getMessage() for record in caplog.records if record.name == "refusalatlas.judges"]
    assert told == ["judge llm waits 0 s, as the server asks (HTTP 429: slow down)"]


def test_a_filter_that_turns_some_down_is_no_outage(make: Make, server: Server) -> None:
    server.answer = lambda body, number: (
        complaint(400, "content management policy") if number % 2 else verdict("evasion")
    )
    judge = make(concurrency=1)
    assert sum(v.label is None for v in judge.judge(exchanges(60))) == 30
    assert judge.counts == {"refused": 30}


def test_when_it_stops_what_is_in_flight_is_kept(make: Make, server: Server) -> None:
    def answer(body: dict[str, Any], number: int) -> Reply:
        if number == 3:
            return complaint(401, "revoked")
        reply = verdict("evasion")
        reply.delay = 0.3
        return reply

    server.answer = answer
    with pytest.raises(AtlasError, match="revoked"):
        make(concurrency=4).judge(exchanges(4))
    server.answer = lambda body, number: verdict("evasion")
    assert all(v.label == "evasion" for v in make().judge(exchanges(4)))
    assert len(server.bodies) == 5


def test_a_spent_budget_stops_and_the_next_run_goes_on(make: Make, server: Server) -> None:
    with pytest.raises(AtlasError, match=r"7 requests are spent; raise max_requests .*and start again"):
        make(max_requests=7, concurrency=2).judge(exchanges(10))
    assert len(server.bodies) == 7
    assert len(make(max_requests=7).judge(exchanges(10))) == 10
    assert len(server.bodies) == 10


def test_retries_count_as_requests(make: Make, server: Server) -> None:
    server.answer = lambda body, number: complaint(503, "busy")
    with pytest.raises(AtlasError, match="3 requests are spent"):
        make(max_requests=3, concurrency=1).judge(exchanges(1))
    assert len(server.bodies) == 3


def test_a_limit_of_cost_holds_with_many_in_flight(make: Make, server: Server) -> None:
    server.answer = lambda body, number: verdict("evasion", usage=(1500, 20))
    judge = make(concurrency=8, max_cost=0.05, price_input=1.0, price_output=4.0, max_tokens=100)
    with pytest.raises(AtlasError, match="max_cost"):
        judge.judge(exchanges(100))
    assert 0.05 * 0.8 < judge.spent <= 0.05
    assert judge.spent == pytest.approx(len(server.bodies) * (1500 * 1.0 + 20 * 4.0) / 1e6)


def test_the_key_is_sent_and_leaks_nowhere(
    make: Make, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv("REFUSALATLAS_JUDGE_KEY", KEY)
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, logger="refusalatlas")
    server.answer = first(verdict("evasion"), complaint(500, f"key {KEY} is tired"))
    judge = make(concurrency=1, max_retries=0)
    found = judge.judge(exchanges(2))
    server.answer = lambda body, number: complaint(401, f"Incorrect API key provided: {KEY}")
    with pytest.raises(AtlasError) as caught:
        judge.judge(exchanges(3))
    sent = [{name.lower(): value for name, value in headers.items()} for headers in server.headers]
    assert {headers["authorization"] for headers in sent} == {f"Bearer {KEY}"}
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("refusalatlas")]
    assert any("[key] is tired" in line for line in ours)
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    shown = [
        str(caught.value),
        repr(found),
        judge.version,
        repr(vars(judge)),
        caplog.text,
        os.fsdecode(b"".join(files)),
    ]
    assert not any(KEY in text for text in shown)


def test_a_key_that_no_header_can_carry_is_named_and_not_shown(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSALATLAS_JUDGE_KEY", KEY + "\u200b")
    with pytest.raises(AtlasError, match="copy the key again") as caught:
        make().judge(exchanges(1))
    assert KEY not in str(caught.value)
