from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusalatlas.judges.llm.reply import CEILING, SCHEMA, Opinion, names_schema, parse, read_opinion

from refusalatlas.models.wire import Fault
from refusalatlas.records import LABELS

GOOD = '{"label": "evasion", "confidence": 0.8}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here is my verdict:\n{GOOD}\nI hope that helps {{see above}}.",
        f'<think>It could be {{"label": "compliant", "confidence": 1}} …</think>{GOOD}',
        f'{{"verdict": {GOOD}}}',
        f"[{GOOD}]",
        f"{GOOD}\n{GOOD}",
        '{"confidence": 0.8, "label": "evasion", "why": "it lectures"}',
    ],
)
def test_a_verdict_is_found_among_prose(text: str) -> None:
    assert parse(text) == ("evasion", 0.8, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It refuses.",
        '{"label": "evasion"',
        '{"label": "evasion"}',
        '{"label": ["evasion"], "confidence": 0.8}',
        '{"label": "evasions", "confidence": 0.8}',
        '{"label": "evasion", "confidence": "80"}',
        '{"label": "evasion", "confidence": "about 0.8"}',
        '{"label": "evasion", "confidence": "180%"}',
        '{"label": "evasion", "confidence": "-0.8"}',
        '{"label": "evasion", "confidence": ""}',
        '{"label": "evasion", "confidence": Infinity}',
        '{"label": "evasion", "confidence": 1' + "0" * 400 + "}",
        '{"label": "evasion", "confidence": -1' + "0" * 400 + "}",
        '{"label": "evasion", "confidence": 1' + "0" * 5000 + "}",
        '{"label": "evasion", "confidence": "1' + "0" * 400 + '"}',
        '{"label": "evasion", "confidence": true}',
        '{"label": "evasion", "confidence": 80}',
        '{"label": "evasion", "confidence": NaN}',
        GOOD + '{"label": "compliant", "confidence": 0.8}',
        '{"a":' * 5000,
    ],
    ids=lambda text: text[:40],
)
def test_what_holds_no_verdict_or_two_is_unparsable(text: str) -> None:
    assert parse(text) == (None, 0.0, "unparsable")


@pytest.mark.parametrize("label", ["Full refusal", "full-refusal", "FULL_REFUSAL", " full_refusal ", "Full - Refusal"])
@pytest.mark.parametrize("confidence", ["0.8", '"0.8"', '" .80 "', '"0,8"', '"80%"', '"80.0 %"'])
def test_a_small_model_may_write_it_in_its_own_way(label: str, confidence: str) -> None:
    assert parse(f'{{"label": "{label}", "confidence": {confidence}}}') == ("full_refusal", 0.8, None)


def test_two_ways_of_writing_two_verdicts_are_two_verdicts() -> None:
    said = '{"label": "Compliant", "confidence": "0.9"}'
    assert parse(GOOD + said) == (None, 0.0, "unparsable")
    assert parse('{"label": "compliant", "confidence": 0.9}' + said) == ("compliant", 0.9, None)


def test_no_confidence_is_above_the_ceiling() -> None:
    assert parse('{"label": "compliant", "confidence": 1}') == ("compliant", CEILING, None)


@pytest.mark.parametrize(
    "text", ['{"label": "unclear", "confidence": 1}', '{"label": "compliant", "confidence": 0.49}']
)
def test_a_model_that_cannot_tell_abstains(text: str) -> None:
    assert parse(text) == (None, 0.0, "unsure")


@given(st.text() | st.recursive(st.none() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(
    st.sampled_from(["label", "confidence"]), x)).map(json.dumps))  # fmt: skip
def test_nothing_breaks_the_parser(text: str) -> None:
    label, confidence, cause = parse(text)
    assert (label is None) == (cause is not None)
    assert 0 <= confidence <= CEILING


def reply(content: Any = GOOD, finish: str = "stop", **message: Any) -> bytes:
    choice = {"message": {"content": content, **message}, "finish_reason": finish}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}).encode()


def test_a_good_reply_is_a_verdict_with_its_tokens() -> None:
    assert read_opinion(200, reply(), "h") == Opinion("evasion", 0.8, None, "", (7, 3))


@pytest.mark.parametrize("sent", ["1" + "0" * 400, "Infinity", "NaN", "-1", '"700"', "null", "7.5"])
def test_a_usage_that_cannot_be_is_unknown(sent: str) -> None:
    found = read_opinion(200, reply().replace(b'"prompt_tokens": 7', f'"prompt_tokens": {sent}'.encode()), "h")
    assert found == Opinion("evasion", 0.8, None, "", None)


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        (200, reply(None, refusal="I can't judge this."), "refused"),
        (200, reply(GOOD, refusal="I can't judge this."), "refused"),
        (200, reply("", finish="content_filter"), "refused"),
        (400, b'{"error": {"code": "content_filter", "message": "filtered"}}', "refused"),
        (200, b'{"choices": []}', "empty"),
        (200, reply(None), "empty"),
        (200, reply('{"label": "eva', finish="length"), "unparsable"),
    ],
)
def test_what_is_no_verdict_has_a_cause(status: int, body: bytes, cause: str) -> None:
    found = read_opinion(status, body, "h")
    assert isinstance(found, Opinion)
    assert (found.label, found.confidence, found.cause) == (None, 0.0, cause)
    assert found.detail


@pytest.mark.parametrize(("status", "kind"), [(500, "retry"), (429, "retry"), (401, "stop"), (404, "stop")])
def test_errors_stay_faults(status: int, kind: str) -> None:
    found = read_opinion(status, b"{}", "h")
    assert isinstance(found, Fault)
    assert found.kind == kind


@pytest.mark.parametrize(
    ("status", "body", "named"),
    [
        (400, {"error": {"message": "This response_format type is unavailable now"}}, True),
        (400, {"error": {"message": "Unsupported parameter", "param": "response_format"}}, True),
        (422, {"detail": [{"loc": ["body", "response_format", "type"], "msg": "Input should be 'text'"}]}, True),
        (400, {"error": "json_schema is not supported"}, True),
        (400, {"error": {"message": "Unsupported parameter: 'temperature'", "param": "temperature"}}, False),
        (500, {"error": {"message": "response_format broke"}}, False),
        (500, {"error": {"message": "internal validation of weights failed"}}, False),
        (
            500,
            {
                "error": {
                    "message": "1 validation error: {'loc': ('body', 'response_format', 'type'), "
                    "'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}"
                }
            },
            True,
        ),
    ],
)
def test_a_server_without_schemas_is_known_by_its_complaint(status: int, body: Any, named: bool) -> None:
    assert names_schema(read_opinion(status, json.dumps(body).encode(), "h")) is named


def test_the_schema_is_strict_and_holds_the_labels() -> None:
    schema = SCHEMA["json_schema"]["schema"]
    assert schema["properties"]["label"]["enum"] == [*LABELS, "unclear"]
    assert schema["additionalProperties"] is False
    assert schema["required"] == list(schema["properties"])
