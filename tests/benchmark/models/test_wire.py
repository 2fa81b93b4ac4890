from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_eval.models.api_models import JsonChatStr

from refusalatlas.models.settings import ChatSettings
from refusalatlas.models.wire import (
    LONGEST_WAIT,
    MOST_STOPS,
    Fault,
    cut_at,
    messages_of,
    payload_of,
    read_reply,
    stop_sequences,
    wait_of,
)
from refusalatlas.records import Answer

SETTINGS = ChatSettings(model="m", base_url="http://h/v1")
ASK = [{"role": "user", "content": "Hi"}]


def reply(status: int, body: Any) -> Answer | Fault:
    return read_reply(status, body if isinstance(body, bytes) else json.dumps(body).encode(), "host:1")


def answer(message: dict[str, Any], finish: Any = "stop", **choice: Any) -> Answer:
    got = reply(200, {"model": "served", "choices": [{"message": message, "finish_reason": finish, **choice}]})
    assert isinstance(got, Answer)
    return got


# --- what is sent ---


def test_plain_text_is_one_user_message() -> None:
    assert messages_of("Hi") == ASK


def test_a_conversation_is_sent_turn_by_turn() -> None:
    turns = [{"role": "system", "content": "S"}, *ASK, {"role": "assistant", "content": "Yes?"}, *ASK]
    assert messages_of(JsonChatStr(json.dumps(turns))) == turns
    assert messages_of(turns) == turns


def test_a_greedy_task_is_sent_with_temperature_zero_its_limit_and_a_seed() -> None:
    generation = {"until": [], "max_gen_toks": 80, "do_sample": False, "temperature": 0.7}
    assert payload_of(ASK, generation, SETTINGS) == {
        "model": "m", "messages": ASK, "max_tokens": 80, "temperature": 0.0, "seed": 1234,
    }  # fmt: skip


def test_a_sampled_task_keeps_its_temperature_and_what_else_it_says() -> None:
    body = payload_of(ASK, {"do_sample": True, "temperature": 0.7, "top_p": 0.9}, SETTINGS)
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.7, 0.9, 512)
    assert "do_sample" not in body


def test_a_sampled_task_without_temperature_leaves_it_to_the_server() -> None:
    assert "temperature" not in payload_of(ASK, {"do_sample": True}, SETTINGS)


def test_each_repeat_has_its_own_seed() -> None:
    assert [payload_of(ASK, {}, SETTINGS, repeat)["seed"] for repeat in range(3)] == [1234, 1235, 1236]


@pytest.mark.parametrize(("generation", "seed"), [({"seed": 7}, 9), ({"seed": None}, None)])
def test_the_seed_of_a_task_goes_first(generation: dict[str, Any], seed: int | None) -> None:
    assert payload_of(ASK, generation, SETTINGS, 2).get("seed") == seed


def test_omitted_parameters_are_not_sent() -> None:
    settings = ChatSettings(model="m", base_url="http://h", omit=("temperature", "seed"))
    assert set(payload_of(ASK, {}, settings)) == {"model", "messages", "max_tokens"}


def test_the_newer_name_of_the_limit_is_left_alone() -> None:
    body = payload_of(ASK, {"max_completion_tokens": 9, "max_gen_toks": 80}, SETTINGS)
    assert body["max_completion_tokens"] == 9
    assert "max_tokens" not in body


def test_the_generation_settings_of_a_task_are_not_changed() -> None:
    generation = {"until": ["a", "b", "c", "d", "e"], "max_gen_toks": 5, "seed": 1}
    before = json.dumps(generation)
    payload_of(ASK, generation, SETTINGS)
    assert json.dumps(generation) == before


def test_stop_sequences_beyond_the_fourth_are_cut_here() -> None:
    until = ["1", "2", "3", "4", "END"]
    assert payload_of(ASK, {"until": until}, SETTINGS)["stop"] == until[:4]
    cut = cut_at(Answer("before END after 1", finish_reason="stop"), until[MOST_STOPS:])
    assert (cut, cut.finish_reason) == ("before ", "stop")


@pytest.mark.parametrize(("until", "sent"), [("x", ["x"]), (None, []), ([], []), (["", "y", None], ["y"])])
def test_until_may_be_written_in_many_ways(until: Any, sent: list[str]) -> None:
    assert stop_sequences(until) == sent


# --- good replies ---


def test_an_answer_says_where_it_comes_from() -> None:
    got = answer({"content": "Sure."}, "length")
    assert got == "Sure."
    assert vars(got) == {
        "condition": None, "finish_reason": "length", "served_model": "served", "provider": "host:1", "detail": None,
    }  # fmt: skip


def test_a_provider_that_names_itself_is_recorded() -> None:
    got = reply(200, {"provider": "Acme", "choices": [{"message": {"content": "Sure."}}]})
    assert isinstance(got, Answer)
    assert (got.provider, got.served_model, got.finish_reason) == ("Acme", None, None)


def test_a_refusal_in_its_own_field_is_the_response() -> None:
    got = answer({"content": None, "refusal": "I can't help."})
    assert (got, got.condition, got.finish_reason) == ("I can't help.", None, "stop")


def test_content_and_refusal_are_both_kept() -> None:
    assert answer({"content": "First part.", "refusal": "But no more."}) == "First part.\n\nBut no more."


def test_content_in_parts_is_joined_without_the_thinking() -> None:
    parts = [{"type": "thinking", "thinking": [{"text": "hm"}]}, {"type": "text", "text": "A"}, {"refusal": "B"}, "C"]
    assert answer({"content": parts}) == "ABC"


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"content": None}, "no content"),
        ({"content": " \n"}, "no content"),
        ({}, "no content"),
        ({"content": None, "reasoning_content": "Let me think"}, r"reasoning only \(12 characters\)"),
        ({"content": "", "reasoning": "Hm"}, "reasoning only"),
        ({"content": None, "tool_calls": [{}]}, "tool call"),
    ],
)
def test_an_answer_without_content_is_empty_and_says_why(message: dict[str, Any], why: str) -> None:
    got = answer(message, "length")
    assert (got.condition, got.strip(), got.finish_reason) == ("empty", "", "length")
    assert re.search(why, got.detail or "")


def test_reasoning_beside_content_changes_nothing() -> None:
    got = answer({"content": "Sure.", "reasoning_content": "Let me think"})
    assert (got, got.condition) == ("Sure.", None)


def test_no_choices_are_an_empty_answer() -> None:
    got = reply(200, {"model": "served", "choices": []})
    assert isinstance(got, Answer)
    assert (got.condition, got.served_model) == ("empty", "served")


def test_lone_surrogates_do_not_reach_the_files_of_lm_eval() -> None:
    got = reply(200, rb'{"choices":[{"message":{"content":"a\ud83d\ude00b\ud83d"}}]}')
    assert got == "a\U0001f600b�"


# --- filters ---


@pytest.mark.parametrize("finish", ["content_filter", "SAFETY", "prohibited_content"])
def test_a_finish_reason_of_a_filter_is_a_block(finish: str) -> None:
    got = answer({"content": "It beg"}, finish)
    assert (got, got.condition, got.finish_reason) == ("It beg", "blocked", finish)


def test_a_finish_reason_of_refusal_is_a_block_unless_the_refusal_is_there_to_read() -> None:
    assert answer({"content": None}, "refusal").condition == "blocked"
    assert answer({"content": None, "refusal": "No."}, "refusal").condition is None


def test_what_the_provider_behind_a_router_says_counts_where_there_is_no_text() -> None:
    assert answer({"content": ""}, "stop", native_finish_reason="SAFETY").condition == "blocked"
    assert answer({"content": "Sure."}, "stop", native_finish_reason="SAFETY").condition is None


def test_azures_categories_count_where_there_is_no_text() -> None:
    results = {"hate": {"filtered": True, "severity": "high"}}
    assert answer({"content": None}, content_filter_results=results).condition == "blocked"
    got = reply(200, {"choices": [], "prompt_filter_results": [{"content_filter_results": results}]})
    assert isinstance(got, Answer)
    assert got.condition == "blocked"


FILTERS: list[Any] = [
    {"error": {"message": "The response was filtered due to the prompt triggering Azure OpenAI's content management "
               "policy.", "type": None, "param": "prompt", "code": "content_filter",
               "innererror": {"code": "ResponsibleAIPolicyViolation"}}},
    {"error": {"message": "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
               "type": "invalid_request_error", "code": "invalid_prompt"}},
    {"error": {"code": 403, "message": "Your chosen model requires moderation and your input was flagged",
               "metadata": {"reasons": ["violence"]}}},
    {"error": {"code": "data_inspection_failed", "message": "Input data may contain inappropriate content."}},
    {"detail": "Blocked."},
    {"error": {"code": "content_policy_violation", "message": "Your request was rejected as a result of our safety "
               "system."}},
    {"error": {"message": "Output blocked by content filtering policy", "type": "invalid_request_error"}},
    {"error": {"message": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_VIOLENCE"}},
    {"error": {"message": "Content Exists Risk", "type": "invalid_request_error", "code": "invalid_request_error"}},
    {"error": {"message": "The request was rejected because it was considered high risk", "type": "content_filter"}},
    {"error": {"code": "SensitiveContentDetected", "message": "The input text may contain sensitive information."}},
    {"error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"}},
    {"error": {"code": "prohibited_content", "message": "No."}},
    {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "content_filter: filtered"}}},
    [{"error": {"code": 400, "message": "The prompt was blocked", "status": "PROHIBITED_CONTENT"}}],
    b"<html><head><style>x{}</style></head><body><h1>Your prompt was flagged</h1></body></html>",
]  # fmt: skip


@pytest.mark.parametrize("status", [400, 403, 422, 451])
@pytest.mark.parametrize("body", FILTERS, ids=str)
def test_what_names_a_filter_is_a_block_wherever_it_says_so(status: int, body: Any) -> None:
    got = reply(status, body)
    assert isinstance(got, Fault)
    assert got.kind == "blocked"
    assert got.detail.startswith(f"HTTP {status}")
    assert "\n" not in got.detail
    assert "<" not in got.detail


UNKNOWN: list[Any] = [
    {"error": "request refused"}, {"message": "Not this."}, ["odd"], b"<html><h1>Forbidden</h1></html>", b"",
    b"\xff\xfe", {"object": "error", "message": "Bad Request", "type": "BadRequestError", "code": 400},
    {"error": {"message": "Your request was blocked."}},
]  # fmt: skip


@pytest.mark.parametrize("status", [400, 403, 422])
@pytest.mark.parametrize("body", UNKNOWN, ids=str)
def test_what_is_turned_down_and_names_no_filter_is_no_block(status: int, body: Any) -> None:
    got = reply(status, body)
    assert isinstance(got, Fault)
    assert got.kind == "unknown"
    assert got.detail.startswith(f"HTTP {status}")
    assert "\n" not in got.detail
    assert "<" not in got.detail


def test_legal_reasons_are_a_block_even_where_the_words_sound_like_a_wrong_key() -> None:
    got = reply(451, {"error": {"message": "Unauthorized in your region for legal reasons"}})
    assert isinstance(got, Fault)
    assert got.kind == "blocked"


def test_an_error_in_a_good_reply_counts_by_its_code() -> None:
    flagged = reply(200, {"error": {"code": 403, "message": "flagged"}})
    busy = reply(200, {"error": {"code": 429, "message": "busy"}})
    gone = reply(200, {"error": {"code": "404", "message": "no such model"}})
    odd = reply(200, {"error": "overloaded"})
    kinds = [got.kind for got in (flagged, busy, gone, odd) if isinstance(got, Fault)]
    assert kinds == ["blocked", "retry", "stop", "retry"]


def test_an_error_in_a_choice_counts_by_its_code() -> None:
    choice = {"message": {"content": ""}, "finish_reason": "error", "error": {"code": 502, "message": "upstream"}}
    got = reply(200, {"choices": [choice]})
    assert got == Fault("retry", "HTTP 502: upstream")


# --- requests that are wrong in themselves ---

WRONG: list[tuple[int, Any, str]] = [
    (401, {"error": {"message": "Incorrect API key provided"}}, "stop"),
    (402, {"error": {"message": "Insufficient credits"}}, "stop"),
    (404, b"Not Found", "stop"),
    (405, b"", "stop"),
    (307, b"", "stop"),
    (403, {"error": {"message": "Country, region, or territory not supported"}}, "stop"),
    (403, {"error": {"code": "invalid_api_key", "message": "flagged"}}, "stop"),
    (400, {"error": {"message": "API key not valid. Please pass a valid API key."}}, "stop"),
    (400, {"error": {"message": "The model `gpt-9` does not exist", "code": "model_not_found"}}, "stop"),
    (400, {"error": {"message": "gpt-9 is not a valid model ID. Unknown model."}}, "stop"),
    (429, {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}, "stop"),
    (400, {"error": {"message": "This model's maximum context length is 8192 tokens"}}, "failed"),
    (413, b"", "failed"),
    (400, {"error": {"message": "Unsupported parameter: 'seed'", "param": "seed"}}, "rejected"),
    (400, {"error": {"message": "Unrecognized request argument supplied: seed"}}, "rejected"),
    (
        400,
        {
            "object": "error",
            "message": "As of transformers v4.44, default chat template is no longer allowed, so "
            "you must provide a chat template if the tokenizer does not define one.",
        },
        "rejected",
    ),
    (400, {"message": "Conversation roles must alternate user/assistant/user/assistant/..."}, "rejected"),
    (400, {"message": "System role not supported"}, "rejected"),
    (400, {"message": "temperature must be in [0, 2]"}, "rejected"),
    (400, {"message": "Invalid JSON body"}, "rejected"),
    (400, {"message": "Unknown parameter: 'safety_identifier'"}, "rejected"),
    (400, {"message": "Unknown parameter: 'content_filter'"}, "rejected"),
    (400, {"message": "CUDA out of memory"}, "retry"),
    (400, {"message": "Model names are case-sensitive: 'gpt' was not found here"}, "stop"),
    (403, {"error": {"message": "Access prohibited for this key"}}, "stop"),
    (403, {"error": {"message": "Your account has been flagged for review"}}, "stop"),
    (400, {"error": {"message": "User location is not supported for the API use."}}, "stop"),
    (
        400,
        {"error": {"message": "Your input is too long for the sensitive content filter: maximum input length"}},
        "failed",
    ),
    (422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}, "rejected"),
]


@pytest.mark.parametrize(("status", "body", "kind"), WRONG, ids=str)
def test_requests_that_are_wrong_are_not_taken_for_blocks(status: int, body: Any, kind: str) -> None:
    got = reply(status, body)
    assert isinstance(got, Fault)
    assert got.kind == kind


def test_a_rejected_parameter_is_named() -> None:
    by_param = reply(400, {"error": {"message": "Unsupported parameter", "param": "seed"}})
    by_place = reply(422, {"detail": [{"loc": ["body", "top_p"], "msg": "no"}]})
    assert [got.parameter for got in (by_param, by_place) if isinstance(got, Fault)] == ["seed", "top_p"]


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_retried(status: int) -> None:
    assert reply(status, b"busy") == Fault("retry", f"HTTP {status}: busy")


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Welcome to the hotel's network</html>",
        b"",
        b'{"choices": [{"mess',
        b"\xff\xff",
        b"[" * 100_000,
        [],
        "text",
        {},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"message": "Sure."}]},
        {"choices": [{"message": {"content": 7}}]},
    ],
    ids=lambda body: repr(body)[:40],
)
def test_what_is_no_chat_completion_is_retried(body: Any) -> None:
    got = reply(200, body)
    assert isinstance(got, Fault)
    assert got.kind == "retry"


def test_a_declared_content_type_does_not_matter_where_the_body_is_an_answer() -> None:
    assert reply(200, b' {"choices":[{"message":{"content":"Sure."}}]}') == "Sure."


def test_details_are_one_short_line() -> None:
    got = reply(500, ("word\n" * 5000).encode())
    assert isinstance(got, Fault)
    assert len(got.detail) < 400
    assert "\n" not in got.detail


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "choices", "message", "content", "refusal", "detail", "code", "loc", "finish_reason"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(status=st.integers(200, 599), body=JSON.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=60))
def test_no_reply_whatever_breaks_the_reader(status: int, body: bytes) -> None:
    got = read_reply(status, body, "h")
    assert isinstance(got, (Answer, Fault))
    (got if isinstance(got, Answer) else got.detail).encode("utf-8")


# --- waiting ---


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "2.5"}, 2.5),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
        ({"Retry-After": "Thu, 01 Jan 1970 00:00:12 GMT"}, 2.0),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "86400"}, LONGEST_WAIT),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
    ],
)
def test_the_wait_that_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_of(headers, 10.0) == seconds
