"""What goes to an OpenAI-compatible server and what comes back: pure functions, no network.

A reply becomes an `Answer`, or a `Fault` that says what to do about it; what a complaint means is read in
`complaints`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from refusalatlas.records import Answer

from .complaints import BLOCKING, clip, complaint_of, plain, read_error, string_of, writable
from .complaints import Fault as Fault  # part of what this module gives
from .settings import ChatSettings

LONGEST_WAIT = 300.0
"""Seconds; a server that asks for more is not waited for any longer than this."""

MOST_STOPS = 4
"""Stop sequences that are sent: OpenAI takes no more."""


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
        return read_error(status, complaint_of(_json(body), body))
    data = _json(body)
    if not isinstance(data, dict):
        return Fault("retry", f"the reply is not JSON: {clip(plain(body)) or 'it is empty'}")
    choices = data.get("choices")
    if data.get("error") and not choices:
        return read_error(_code_of(data["error"]), complaint_of(data, body))
    if not isinstance(choices, list):
        return Fault("retry", f"the reply has no choices: {clip(plain(body))}")
    served_model, served_by = string_of(data.get("model")), string_of(data.get("provider")) or provider
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
        return read_error(_code_of(choice.get("error")), complaint_of(choice, b""))
    content, refusal = _text(message.get("content")), _text(message.get("refusal"))
    if content is None or refusal is None:
        return Fault("retry", "the reply's message is neither text nor a list of parts")
    reason = string_of(choice.get("finish_reason"))
    text = writable("\n\n".join(part for part in (content, refusal) if part.strip()) or content)
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
    native = string_of(choice.get("native_finish_reason"))
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


def _filtered(data: Any, depth: int = 6) -> bool:
    """Whether a reply says ``filtered: true`` anywhere, as Azure does for each of its categories."""
    if depth == 0:
        return False
    if isinstance(data, dict):
        return data.get("filtered") is True or any(_filtered(value, depth - 1) for value in data.values())
    return isinstance(data, list) and any(_filtered(value, depth - 1) for value in data)


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


def _code_of(error: Any) -> int | None:
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str) and code.isdecimal():
        code = int(code)
    return code if isinstance(code, int) and 300 <= code < 600 else None
