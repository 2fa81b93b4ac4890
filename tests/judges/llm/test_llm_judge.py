from __future__ import annotations

import asyncio
import io
import itertools
import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from judgeserver import Reply, Server, says, verdict, within
from refusalatlas.judges.llm.fence import load_rubric
from refusalatlas.judges.llm.progress import progress

from refusalatlas.errors import AtlasError
from refusalatlas.records import Exchange, Judge

Make = Callable[..., Any]


def exchange(response: str, prompt: str = "How do I bake bread?") -> Exchange:
    return Exchange("x", prompt, response, "en")


def test_it_is_a_judge_of_its_own_family_whose_version_names_model_and_rubric(make: Make) -> None:
    judge = make()
    assert isinstance(judge, Judge)
    assert (judge.name, judge.family, judge.languages) == ("llm", "llm", None)
    assert judge.version == f"1.{load_rubric().sha256[:12]} m-1"
    assert make(model="m-2").version != judge.version


def test_a_verdict_is_the_models_label_with_its_capped_confidence(make: Make, server: Server) -> None:
    server.answer = lambda body, number: verdict("evasion", 0.99)
    found = make().judge([exchange("Bread has a long history.")])
    assert [(v.judge, v.label, v.confidence) for v in found] == [("llm", "evasion", 0.9)]


def test_the_request_is_greedy_and_carries_rubric_schema_and_fence(make: Make, server: Server) -> None:
    make().judge([exchange("Mix flour and water.")])
    body = server.bodies[0]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("m-1", 0, 512)
    assert body["response_format"]["json_schema"]["strict"] is True
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["messages"][0]["content"] == load_rubric().text
    assert within(body) == ("How do I bake bread?", "Mix flour and water.")


def test_thinking_is_not_shown_and_nothing_is_asked_about_nothing(make: Make, server: Server) -> None:
    found = make().judge([exchange("<think>I should refuse.</think>Mix flour and water."), exchange(""), exchange("…")])
    assert [v.label for v in found] == ["full_refusal", None, None]
    assert [within(body)[1] for body in server.bodies] == ["Mix flour and water."]


def test_verdicts_come_in_order_and_like_texts_are_asked_once(make: Make, server: Server) -> None:
    def answer(body: dict[str, Any], number: int) -> Reply:
        reply = verdict("compliant" if int(within(body)[1].split()[-1]) % 2 else "full_refusal")
        reply.delay = 0.01 * (7 - number % 7)
        return reply

    server.answer = answer
    found = make().judge([exchange(f"Answer number {n % 30}") for n in range(60)])
    assert [v.label for v in found] == ["full_refusal", "compliant"] * 30
    assert len(server.bodies) == 30


def test_no_more_requests_are_in_flight_than_asked_for(make: Make, server: Server) -> None:
    def answer(body: dict[str, Any], number: int) -> Reply:
        reply = verdict("compliant")
        reply.delay = 0.03
        return reply

    server.answer = answer
    make(concurrency=3).judge([exchange(f"Answer number {n}") for n in range(12)])
    assert server.most_in_flight == 3


def test_parameters_that_a_server_does_not_take_are_left_out(make: Make, server: Server) -> None:
    make(omit=["temperature"]).judge([exchange("Mix flour and water.")])
    assert "temperature" not in server.bodies[0]


def test_a_rubric_of_ones_own_is_sent(make: Make, server: Server, tmp_path: Any) -> None:
    (tmp_path / "mine.md").write_text("Say what it did.", encoding="utf-8")
    judge = make(rubric=str(tmp_path / "mine.md"))
    judge.judge([exchange("Mix flour and water.")])
    assert server.bodies[0]["messages"][0]["content"] == "Say what it did."
    assert judge.version != make().version


def test_abstentions_are_counted_by_cause_and_told(
    make: Make, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    replies = [
        verdict("unclear"),
        says("I think it refuses."),
        says(None, refusal="No."),
        says(None),
        verdict("evasion"),
    ]
    server.answer = lambda body, number: replies[number]
    judge = make(concurrency=1)
    found = judge.judge([exchange(f"Answer number {n}") for n in range(5)])
    assert [v.label for v in found] == [None, None, None, None, "evasion"]
    assert judge.counts == {"unsure": 1, "unparsable": 1, "refused": 1, "empty": 1}
    assert "abstains on 4 of 5: 1 empty, 1 refused, 1 unparsable, 1 unsure" in caplog.text


def test_it_works_where_a_loop_is_running_already(make: Make) -> None:
    async def notebook() -> Any:
        return make().judge([exchange("Mix flour and water.")])

    with ThreadPoolExecutor(1) as own:  # a thread of its own: another test may have left a loop running in this one
        assert own.submit(asyncio.run, notebook()).result()[0].label == "full_refusal"


def test_what_is_not_installed_is_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(AtlasError, match=r"pip install 'refusalatlas\[llm\]'"):
        make().judge([exchange("Mix flour and water.")])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: dict[type, list[str]] = {}
    for kind in (Terminal, io.StringIO):
        stream, ticks = kind(), itertools.count(0.0, 1.0)
        monkeypatch.setattr(sys, "stderr", stream)
        with progress("llm", 5, lambda ticks=ticks: next(ticks)) as advance:  # type: ignore[misc]
            for _ in range(5):
                advance()
        shown[kind] = stream.getvalue().splitlines()
    assert shown[Terminal] == [
        "judge llm: 2 of 5, 1.0 a second, 3 s left",
        "judge llm: 4 of 5, 1.0 a second, 1 s left",
        "judge llm: 5 of 5, 1.0 a second",
    ]
    assert shown[io.StringIO] == []


def test_two_models_have_names_of_their_own_and_verdicts_in_common(
    make: Make, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = lambda body, number: says("Yes.") if number == 0 else verdict("evasion")
    small, large = make(name="small", family="small", concurrency=1), make(name="large", model="m-2")
    asked = [exchange("One answer."), exchange("Another answer.")]
    assert [(v.judge, v.label) for v in small.judge(asked)] == [("small", None), ("small", "evasion")]
    assert [(v.judge, v.label) for v in large.judge(asked)] == [("large", "evasion")] * 2
    assert (small.family, large.family) == ("small", "llm")
    assert "judge small abstains on 1 of 2" in caplog.text
    assert make().judge(asked[1:])[0].label == "evasion"
    assert len(server.bodies) == 4
    with pytest.raises(AtlasError, match="judge large: concurrency: "):
        make(name="large", concurrency=0)
    with pytest.raises(AtlasError, match="judge large: 1 requests are spent"):
        make(name="large", model="m-3", max_requests=1).judge(asked)


def test_the_verdict_does_not_hang_on_ids_or_language(make: Make, server: Server) -> None:
    make().judge([Exchange("a", "p", "Mix flour.", "en"), Exchange("b", "p", "Mix flour.", "sw")])
    assert len(server.bodies) == 1
    assert "confidence" in json.dumps(server.bodies[0])
