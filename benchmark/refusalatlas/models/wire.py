"""What goes to an OpenAI-compatible server and what comes back: pure functions, no network.

A reply becomes an `Answer`, or a `Fault` that says what to do about it. Servers agree on little beyond the shape of
a good answer, so complaints are read from wherever they put them: ``error`` as object or string, ``message``,
``detail`` (FastAPI), plain text, HTML.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from refusalatlas.records import Answer

from .settings import ChatSettings

BLOCKING = frozenset(
    {
        "content_filter",
        "content_filtered",
        "safety",
        "prohibited_content",
        "blocklist",
        "spii",
        "sensitive",
        "guardrail_intervened",
        "image_safety",
        "error_toxic",
        "refusal",
    }
)
"""Finish reasons, in lower case, by which providers say that their filter stepped in."""

LONGEST_WAIT = 300.0
"""Seconds; a server that asks for more is not waited for any longer than this."""

MOST_STOPS = 4
"""Stop sequences that are sent: OpenAI takes no more."""

_CLIPPED = 300

_KEY_CODES = frozenset(
    {
        "invalid_api_key",
        "incorrect_api_key",
        "authentication_error",
        "permission_denied",
        "insufficient_permissions",
        "unsupported_country_region_territory",
        "account_deactivated",
    }
)
_PARAMETER_CODES = frozenset(
    {"unsupported_parameter", "unsupported_value", "unknown_parameter", "invalid_type", "missing_required_parameter"}
)
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})

_FILTER = re.compile(
    r"content.?(filter|management|polic|moderation|safety)|moderation|flagged|guardrail|responsible.?ai|"
    r"inspection|inappropriate|sensitive|usage polic|safety|harmful|prohibited|risky",
    re.IGNORECASE,
)
_NO_KEY = re.compile(r"api.?key|authenticat|unauthori[sz]ed|country.{0,60}not supported", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model_not_found|invalid_model|(unknown|invalid|no such|nonexistent) model\b|"
    r"\bmodel\b[^.]{0,120}?(not found|(does not|doesn.t|not) exist|is not a valid)",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context.?length|maximum context|context window|prompt is too long|reduce the length|above_max_length",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"(unsupported|unrecogni[sz]ed|unknown|unexpected|extra|missing)[^.]{0,30}(parameter|argument|field|propert)|"
    r"unsupported value|extra inputs are not permitted|not supported with this model",
    re.IGNORECASE,
)
_TAGS = re.compile(r"<(script|style).*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fault:
    """A reply, or a failure to get one, that is not an answer.

    Attributes:
        kind: ``retry`` (may pass), ``stop`` (no request can succeed: wrong key, address or model), ``blocked`` (the
            provider's filter), ``rejected`` (the form of the request: all will fail alike, unless some have
            succeeded) or ``failed`` (only this request, and for good).
        detail: One line for people.
        parameter: The parameter that a rejection is about, where the server says.
        wait: Seconds that the server asks to wait, or None.
        unreachable: Whether no connection came about.
    """

    kind: Literal["retry", "stop", "blocked", "rejected", "failed"]
    detail: str
    parameter: str | None = None
    wait: float | None = None
    unreachable: bool = False


def messages_of(context: Any) -> list[dict[str, Any]]:
    """Return the messages that a request's context stands for.

    Args:
        context: lm_eval's chat history (JSON in a named tuple, or since 0.5 a list), or plain text where the run
            applies no chat template; plain text is one message of the user's.
    """
    if isinstance(context, str):
        return [{"role": "user", "content": context}]
    if isinstance(context, tuple):
        context = json.loads(context[0])
    return [dict(message) for message in context]


def payload_of(
    messages: Sequence[Mapping[str, Any]], generation: Mapping[str, Any], settings: ChatSettings, repeat: int = 0
) -> dict[str, Any]:
    """Return the body of a request.

    ``do_sample: false`` means temperature 0, as lm_eval's other backends understand it. A task's ``seed`` goes before
    the model's; None sends none. What is not known here (``top_p``, ``reasoning_effort``, …) is passed on.

    Args:
        messages: The conversation.
        generation: The task's ``generation_kwargs``; not changed.
        settings: The model's.
        repeat: Which of a prompt's repeats this is; each has a seed of its own.
    """
    rest = dict(generation)
    sampling = rest.pop("do_sample", None)
    stop = stop_sequences(rest.pop("until", None))
    seed = rest.pop("seed", settings.seed)
    temperature = rest.pop("temperature", None)
    if not sampling and (sampling is False or temperature is None):
        temperature = 0.0
    limits = [rest.pop(name, None) for name in ("max_gen_toks", "max_new_tokens", "max_tokens")]
    body: dict[str, Any] = {"model": settings.model, "messages": list(messages)}
    if "max_completion_tokens" not in rest:
        body["max_tokens"] = next((int(limit) for limit in limits if limit is not None), settings.max_gen_toks)
    if temperature is not None:
        body["temperature"] = temperature
    if stop:
        body["stop"] = stop[:MOST_STOPS]
    if seed is not None:
        body["seed"] = int(seed) + repeat
    body.update(rest)
    return {name: value for name, value in body.items() if name not in settings.omit}


def stop_sequences(until: Any) -> list[str]:
    """Return a task's ``until`` as a list without empty entries."""
    given = [until] if isinstance(until, str) else list(until or ())
    return [text for text in given if isinstance(text, str) and text]


def cut_at(answer: Answer, stop: Sequence[str]) -> Answer:
    """Return an answer cut at the first of the stop sequences, for those that were not sent."""
    text = str(answer)
    for mark in stop:
        text = text.partition(mark)[0]
    return answer if text == answer else Answer(text, **vars(answer))


def read_reply(status: int, body: bytes, provider: str) -> Answer | Fault:
    """Return what a server's reply amounts to.

    Args:
        status: HTTP status.
        body: The body, whatever its declared type.
        provider: Named in the answer where the reply names nobody.
    """
    if not 200 <= status < 300:
        return _read_error(status, _complaint(_json(body), body))
    data = _json(body)
    if not isinstance(data, dict):
        return Fault("retry", f"the reply is not JSON: {_clip(_plain(body)) or 'it is empty'}")
    choices = data.get("choices")
    if data.get("error") and not choices:
        return _read_error(_code_of(data["error"]), _complaint(data, body))
    if not isinstance(choices, list):
        return Fault("retry", f"the reply has no choices: {_clip(_plain(body))}")
    served_model, served_by = _string(data.get("model")), _string(data.get("provider")) or provider
    answer = functools.partial(Answer, served_model=served_model, provider=served_by)
    if not choices:
        if _filtered(data):
            return answer(condition="blocked", detail="the provider's filter stopped the prompt")
        return answer(condition="empty", detail="the reply has an empty list of choices")
    return _read_choice(choices[0], answer)


def _read_choice(choice: Any, answer: Callable[..., Answer]) -> Answer | Fault:
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return Fault("retry", "the reply's first choice has no message")
    if choice.get("error") or choice.get("finish_reason") == "error":
        return _read_error(_code_of(choice.get("error")), _complaint(choice, b""))
    content, refusal = _text(message.get("content")), _text(message.get("refusal"))
    if content is None or refusal is None:
        return Fault("retry", "the reply's message is neither text nor a list of parts")
    reason = _string(choice.get("finish_reason"))
    text = _writable("\n\n".join(part for part in (content, refusal) if part.strip()) or content)
    if (cause := _block(choice, reason, text, refusal)) is not None:
        return answer(text, condition="blocked", finish_reason=reason, detail=cause)
    if text.strip():
        return answer(text, finish_reason=reason)
    return answer(text, condition="empty", finish_reason=reason, detail=_why_empty(message, reason))


def _block(choice: Mapping[str, Any], reason: str | None, text: str, refusal: str) -> str | None:
    """Return how the provider says that its filter stepped in, or None."""
    said = (reason or "").lower()
    if said in BLOCKING and not (said == "refusal" and refusal.strip()):
        return f"finish reason {reason}"
    if text.strip():
        return None
    native = _string(choice.get("native_finish_reason"))
    if native and native.lower() in BLOCKING:
        return f"finish reason {native}"
    return "the provider's filter stopped the answer" if _filtered(choice) else None


def _why_empty(message: Mapping[str, Any], reason: str | None) -> str:
    for name in ("reasoning_content", "reasoning", "thinking"):
        if (thought := message.get(name)) and isinstance(thought, str):
            return f"reasoning only ({len(thought)} characters), finish reason {reason}"
    if message.get("tool_calls"):
        return "a tool call instead of an answer"
    return f"no content, finish reason {reason}"


def _text(content: Any) -> str | None:
    """Return the text of a content, be it null, text or a list of parts; None where it is something else."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    parts = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict):
            parts += [part[key] for key in ("text", "refusal") if isinstance(part.get(key), str)]
    return "".join(parts)


def _writable(text: str) -> str:
    """Replace lone surrogates, which would make lm_eval lose the whole file of samples when it writes UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _filtered(data: Any, depth: int = 6) -> bool:
    """Whether a reply says ``filtered: true`` anywhere, as Azure does for each of its categories."""
    if depth == 0:
        return False
    if isinstance(data, dict):
        return data.get("filtered") is True or any(_filtered(value, depth - 1) for value in data.values())
    return isinstance(data, list) and any(_filtered(value, depth - 1) for value in data)


@dataclass(frozen=True, slots=True)
class _Complaint:
    """What a server says is wrong."""

    message: str
    codes: frozenset[str]
    parameter: str | None = None
    schema: bool = False

    def matches(self, pattern: re.Pattern[str]) -> bool:
        return any(pattern.search(text) for text in (self.message, *self.codes))


def _complaint(data: Any, body: bytes) -> _Complaint:
    if not isinstance(data, dict):
        return _Complaint(_clip(_plain(body)), frozenset())
    error = data.get("error") or data.get("detail") or data
    if isinstance(error, list):  # FastAPI says where in the request something does not fit its schema
        fields = [entry for entry in error if isinstance(entry, dict) and "loc" in entry]
        if fields:
            where = [".".join(map(str, f["loc"])) if isinstance(f["loc"], list) else str(f["loc"]) for f in fields]
            texts = [f"{place}: {field.get('msg')}" for place, field in zip(where, fields, strict=True)]
            return _Complaint(_clip("; ".join(texts)), frozenset(), where[0].rpartition(".")[2], schema=True)
    if not isinstance(error, dict):
        return _Complaint(_clip(str(error)), frozenset())
    inner = error.get("innererror")
    sources = [error, inner if isinstance(inner, dict) else {}]
    codes = {str(source[key]).lower() for source in sources for key in ("code", "type", "status") if source.get(key)}
    message = error.get("message") or error.get("msg") or data.get("message") or ", ".join(sorted(codes))
    return _Complaint(_clip(str(message) or _plain(body)), frozenset(codes), _string(error.get("param")))


def _read_error(status: int | None, said: _Complaint) -> Fault:
    """Return what an HTTP status (None where the error came without one) and a complaint amount to."""
    place = f"HTTP {status}" if status else "the server reports an error"
    detail = f"{place}: {said.message}" if said.message else place
    if status in (401, 402, 404, 405, 410, 415) or said.codes & (_QUOTA_CODES | _KEY_CODES):
        return Fault("stop", detail)
    if status is not None and 300 <= status < 400:
        return Fault("stop", f"{detail} (a redirect)")
    if status in (400, 403, 422, 451):
        return Fault(_kind_of(status, said), detail, said.parameter)
    if status is None:
        return Fault("blocked" if said.matches(_FILTER) else "retry", detail)
    return Fault("retry" if status in (408, 409, 425, 429) or status >= 500 else "failed", detail)


def _kind_of(status: int, said: _Complaint) -> Literal["stop", "blocked", "rejected", "failed"]:
    """Tell the filter of a provider, which is the datum here, from requests that are wrong in themselves."""
    if said.schema:
        return "rejected"
    if status == 451 or said.matches(_FILTER):
        return "blocked"
    if said.matches(_NO_MODEL) or said.matches(_NO_KEY):
        return "stop"
    if said.matches(_TOO_LONG):
        return "failed"
    if said.codes & _PARAMETER_CODES or said.matches(_PARAMETER):
        return "rejected"
    return "blocked"


def wait_of(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a server asks to wait (``Retry-After``, seconds or a date), `LONGEST_WAIT` at most.

    Args:
        headers: Of the reply.
        now: Seconds since the epoch.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("Retry-After", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / unit
        except ValueError:
            try:
                seconds = parsedate_to_datetime(value).timestamp() - now
            except (TypeError, ValueError, OverflowError):
                continue
        if seconds == seconds:  # not NaN
            return min(max(seconds, 0.0), LONGEST_WAIT)
    return None


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _plain(body: bytes) -> str:
    return _TAGS.sub(" ", body[:20_000].decode("utf-8", "replace"))


def _clip(text: str) -> str:
    line = " ".join(_writable(text).split())
    return line if len(line) <= _CLIPPED else line[: _CLIPPED - 1] + "…"


def _string(value: Any) -> str | None:
    return _writable(value) if isinstance(value, str) and value else None


def _code_of(error: Any) -> int | None:
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str) and code.isdecimal():
        code = int(code)
    return code if isinstance(code, int) and 300 <= code < 600 else None
