from __future__ import annotations

import asyncio
import base64
import io
import logging
import socket
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from refusalatlas.errors import AtlasError
from refusalatlas.models.chat import RefusalChat
from refusalatlas.records import Answer

GREEDY = {"until": [], "max_gen_toks": 32, "do_sample": False, "temperature": 0.0}


def asks(*prompts: Any, generation: dict[str, Any] | None = None) -> list[Any]:
    return [SimpleNamespace(args=(prompt, dict(generation or GREEDY))) for prompt in prompts]


def model(server: Any, **arguments: Any) -> RefusalChat:
    return RefusalChat(**{"model": "m", "base_url": server.url, "retry_wait": 0.001, **arguments})


def conditions(answers: list[Answer]) -> list[str | None]:
    return [answer.condition for answer in answers]


def test_answers_come_in_the_order_of_the_requests(server: Any, says: Callable[..., Any], reply: Any) -> None:
    def slow_first(body: dict[str, Any], number: int) -> Any:
        answer = says(body["messages"][-1]["content"].upper())
        answer.delay = 0.2 if number == 0 else 0
        return answer

    server.answer = slow_first
    assert model(server, num_concurrent=4).generate_until(asks(*"abcdefgh")) == list("ABCDEFGH")


def test_a_request_without_a_chat_template_is_one_user_message(server: Any) -> None:
    model(server).generate_until(asks("Hi"))
    assert server.bodies == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "Hi"}],
            "max_tokens": 32,
            "temperature": 0.0,
            "seed": 1234,
        }
    ]
    assert server.paths == ["/v1/chat/completions"]


def test_a_conversation_from_the_chat_template_arrives_turn_by_turn(server: Any) -> None:
    turns = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "न"},
        {"role": "assistant", "content": "y"},
    ]
    chat = model(server)
    chat.generate_until(asks(chat.apply_chat_template(turns)))
    assert server.bodies[0]["messages"] == turns


def test_concurrency_is_what_was_asked_for(server: Any, says: Callable[..., Any]) -> None:
    answer = says()
    answer.delay = 0.05
    server.answer = lambda body, number: answer
    model(server, num_concurrent=5).generate_until(asks(*map(str, range(25))))
    assert server.most_in_flight == 5


def test_the_key_goes_into_the_header_and_nowhere_else(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    model(server).generate_until(asks("Hi"))
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in str(server.bodies)


def test_without_a_key_no_authorization_is_sent(server: Any) -> None:
    model(server).generate_until(asks("Hi"))
    assert "Authorization" not in server.headers[0]


def test_a_server_that_repeats_the_key_does_not_get_it_into_the_records(
    server: Any, reply: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    server.answer = lambda body, number: reply(b"blocked for sk-secret", status=403)
    (answer,) = model(server).generate_until(asks("Hi"))
    assert answer.detail == "HTTP 403: blocked for [key]"
    assert "sk-secret" not in caplog.text


def test_one_blocked_request_does_not_end_the_run(server: Any, says: Callable[..., Any], reply: Any) -> None:
    server.answer = lambda body, number: (
        reply({"error": {"code": "content_filter"}}, status=400) if "bad" in str(body["messages"]) else says()
    )
    answers = model(server).generate_until(asks("good", "bad", "good"))
    assert conditions(answers) == [None, "blocked", None]
    assert answers[1] == ""
    assert answers[1].detail == "HTTP 400: content_filter"
    assert len(server.bodies) == 3


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_failure_that_passes_leaves_no_trace(server: Any, says: Callable[..., Any], reply: Any, status: int) -> None:
    server.answer = lambda body, number: reply(b"busy", status=status) if number < 2 else says("At last.")
    (answer,) = model(server).generate_until(asks("Hi"))
    assert (answer, answer.condition, answer.detail) == ("At last.", None, None)


def test_a_failure_that_stays_is_recorded_and_the_run_goes_on(
    server: Any, says: Callable[..., Any], reply: Any
) -> None:
    server.answer = lambda body, number: reply(b"busy", status=503) if "bad" in str(body["messages"]) else says()
    answers = model(server, max_retries=2).generate_until(asks("bad", "good"))
    assert conditions(answers) == ["error", None]
    assert answers[0].detail == "HTTP 503: busy (3 attempts)"
    assert len(server.bodies) == 4


@pytest.mark.parametrize("body", [b"<html>login</html>", b'{"choices": ['])
def test_what_is_no_json_is_retried_and_then_recorded(server: Any, reply: Any, body: bytes) -> None:
    server.answer = lambda *_: reply(body, headers={"Content-Type": "text/html"})
    (answer,) = model(server, max_retries=1).generate_until(asks("Hi"))
    assert answer.condition == "error"
    assert "not JSON" in str(answer.detail)
    assert len(server.bodies) == 2


def test_a_broken_connection_is_retried_and_then_recorded(server: Any, reply: Any) -> None:
    server.answer = lambda *_: reply(drop=True)
    first = model(server).generate_until(asks("Hi"))
    assert conditions(first) == ["error"]
    assert "connection broke" in str(first[0].detail)


def test_an_answer_that_takes_too_long_is_retried_and_then_recorded(
    server: Any, says: Callable[..., Any], reply: Any
) -> None:
    late = says()
    late.delay = 1.0
    server.answer = lambda body, number: late if "slow" in str(body["messages"]) else says()
    answers = model(server, timeout=0.2, max_retries=1).generate_until(asks("slow", "quick"))
    assert conditions(answers) == ["error", None]
    assert answers[0].detail == "no answer within 0.2 s (2 attempts)"


def test_retry_after_is_honoured(
    server: Any, says: Callable[..., Any], reply: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    really_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await really_sleep(0)

    monkeypatch.setattr("refusalatlas.models.client.asyncio.sleep", sleep)
    server.answer = lambda body, number: reply(status=429, headers={"Retry-After": "17"}) if number == 0 else says()
    model(server).generate_until(asks("Hi"))
    assert 17.0 in waits


def test_waits_grow_where_the_server_does_not_say(server: Any, reply: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    really_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await really_sleep(0)

    monkeypatch.setattr("refusalatlas.models.client.asyncio.sleep", sleep)
    server.answer = lambda *_: reply(status=500)
    model(server, retry_wait=1, max_retries=8).generate_until(asks("Hi"))
    grown = [wait for wait in waits if wait > 0]
    assert all(2**n / 2 <= wait <= min(2**n, 30) for n, wait in enumerate(grown[:5]))
    assert len(grown) == 8
    assert max(grown) <= 30


@pytest.mark.parametrize(
    ("status", "says_what"),
    [(401, "OPENAI_API_KEY"), (402, "account"), (404, "base_url"), (301, "redirect")],
)
def test_what_no_request_can_survive_ends_the_run_at_once(server: Any, reply: Any, status: int, says_what: str) -> None:
    server.answer = lambda *_: reply(b"no", status=status, headers={"Location": "http://127.0.0.1:9/"})
    with pytest.raises(AtlasError, match=says_what) as caught:
        model(server, num_concurrent=2).generate_until(asks(*map(str, range(50))))
    assert "\n" not in str(caught.value)
    assert len(server.bodies) <= 4


def test_an_unknown_model_ends_the_run(server: Any, reply: Any) -> None:
    server.answer = lambda *_: reply({"error": {"message": "The model `m` does not exist"}}, status=400)
    with pytest.raises(AtlasError, match="does not exist"):
        model(server).generate_until(asks("Hi"))


def test_no_server_at_all_ends_the_run_in_one_line() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    chat = RefusalChat(model="m", base_url=url, max_retries=1, retry_wait=0)
    with pytest.raises(AtlasError, match="start the server") as caught:
        chat.generate_until(asks(*map(str, range(100))))
    assert "\n" not in str(caught.value)


def test_a_server_that_dies_in_mid_run_costs_only_what_is_missing(says: Callable[..., Any]) -> None:
    import json
    import threading

    listener = socket.create_server(("127.0.0.1", 0))

    def serve_once() -> None:
        connection, _ = listener.accept()
        listener.close()
        with connection:
            connection.recv(65536)
            data = json.dumps(says("One.").body).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode() + data)

    thread = threading.Thread(target=serve_once)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    chat = RefusalChat(model="m", base_url=url, num_concurrent=1, max_retries=1, retry_wait=0)
    answers = chat.generate_until(asks("a", "b", "c"))
    thread.join()
    assert conditions(answers) == [None, "error", "error"]
    assert "cannot connect" in str(answers[1].detail)


def test_a_form_that_is_rejected_from_the_start_ends_the_run(server: Any, reply: Any) -> None:
    server.answer = lambda *_: reply(
        {"error": {"message": "Unsupported parameter: 'seed'", "param": "seed"}}, status=400
    )
    with pytest.raises(AtlasError, match="omit=seed"):
        model(server).generate_until(asks("Hi"))


@pytest.mark.parametrize(
    ("status", "message", "mend"),
    [
        (400, "default chat template is no longer allowed, so you must provide a chat template", "--chat-template"),
        (400, "Conversation roles must alternate user/assistant/...", "leave out system prompt"),
        (400, "temperature must be in [0, 2]", "--gen_kwargs"),
        (403, "Your account has been flagged for review", "see to the account"),
        (403, "Access prohibited for this key", "set OPENAI_API_KEY"),
    ],
)
def test_a_request_that_is_wrong_in_itself_ends_the_run_and_says_what_to_do(
    server: Any, reply: Any, status: int, message: str, mend: str
) -> None:
    server.answer = lambda *_: reply({"error": {"message": message}}, status=status)
    with pytest.raises(AtlasError, match=mend) as caught:
        model(server, num_concurrent=1).generate_until(asks("a", "b"))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(server.bodies) == 1


def test_a_form_that_is_rejected_once_others_went_through_is_that_requests_error(
    server: Any, says: Callable[..., Any], reply: Any
) -> None:
    odd = {"detail": [{"loc": ["body", "messages", 0, "content"], "msg": "too long"}]}
    server.answer = lambda body, number: reply(odd, status=422) if "long" in str(body["messages"]) else says()
    answers = model(server, num_concurrent=1).generate_until(asks("short", "long", "short"))
    assert conditions(answers) == [None, "error", None]


def test_a_server_that_wants_the_newer_name_of_the_limit_gets_it(
    server: Any, says: Callable[..., Any], reply: Any
) -> None:
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    complaint = {"error": {"code": "unsupported_parameter", "param": "max_tokens", "message": message}}
    server.answer = lambda body, number: reply(complaint, status=400) if "max_tokens" in body else says()
    answers = model(server, num_concurrent=1, max_retries=0).generate_until(asks("a", "b", "c"))
    assert conditions(answers) == [None, None, None]
    assert [body.get("max_completion_tokens") for body in server.bodies] == [None, 32, 32, 32]


def test_repeats_are_sent_with_seeds_of_their_own(server: Any) -> None:
    (request,) = asks("Hi", generation={"do_sample": True, "temperature": 1.0})
    model(server, num_concurrent=1, seed=10).generate_until([request] * 3)
    assert [body["seed"] for body in server.bodies] == [10, 11, 12]


def test_stop_sequences_beyond_what_servers_take_still_hold(server: Any, says: Callable[..., Any]) -> None:
    server.answer = lambda *_: says("Sure.END of it")
    generation = {**GREEDY, "until": ["a1", "a2", "a3", "a4", "END"]}
    assert model(server).generate_until(asks("Hi", generation=generation)) == ["Sure."]


def test_images_are_sent_beside_the_text_of_their_own_request_only(server: Any) -> None:
    image_module = pytest.importorskip("PIL.Image")
    chat = model(server, num_concurrent=1)
    context = chat.apply_chat_template([{"role": "user", "content": "<image>What is it?"}])
    picture = image_module.new("RGB", (2, 3), "red")
    with_picture = SimpleNamespace(args=(context, GREEDY, {"visual": [picture]}))
    chat.generate_until([*asks("Hi"), with_picture])
    assert server.bodies[0]["messages"][0]["content"] == "Hi"
    image, text = server.bodies[1]["messages"][0]["content"]
    assert text == {"type": "text", "text": "What is it?"}
    data = base64.b64decode(image["image_url"]["url"].partition(",")[2])
    assert image_module.open(io.BytesIO(data)).size == (2, 3)


def test_it_runs_where_a_loop_runs_already_as_in_a_notebook(server: Any) -> None:
    async def cell() -> list[Answer]:
        return model(server).generate_until(asks("Hi"))

    assert asyncio.run(cell()) == ["Sure."]


def test_what_went_wrong_is_said_once(server: Any, reply: Any, caplog: pytest.LogCaptureFixture) -> None:
    server.answer = lambda *_: reply({"error": {"code": "content_filter"}}, status=400)
    with caplog.at_level(logging.WARNING):
        model(server).generate_until(asks("a", "b", "c"))
    assert [record.message for record in caplog.records] == ['3 of 3 answers: blocked, e.g. "HTTP 400: content_filter"']


def test_a_temperature_that_has_no_effect_is_mentioned(server: Any, caplog: pytest.LogCaptureFixture) -> None:
    model(server).generate_until(asks("a", generation={"do_sample": False, "temperature": 0.7}))
    assert "set do_sample=true" in caplog.text


def test_log_likelihoods_are_refused_clearly(server: Any) -> None:
    with pytest.raises(AtlasError, match="no log-likelihoods"):
        model(server).loglikelihood([])


def test_a_certificate_file_that_is_not_there_is_named(server: Any) -> None:
    with pytest.raises(AtlasError, match=r"/nowhere\.pem"):
        model(server, ca_cert_path="/nowhere.pem").generate_until(asks("Hi"))


def test_no_requests_are_no_answers(server: Any) -> None:
    assert model(server).generate_until([]) == []
