"""What the judging model's answer amounts to: a label with a confidence, or a cause for abstaining."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from refusalatlas.models.wire import Fault, read_reply
from refusalatlas.records import LABELS, Label

from ..normalise import strip_thinking

Cause = Literal["unsure", "refused", "unparsable", "empty", "failed"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
"""Why the judge abstains: the model cannot tell; it or its provider's filter declines; its answer is no verdict; there
is none; the request failed."""

SETTLED: tuple[Cause | None, ...] = (None, "unsure", "refused")
"""Causes that would be the same tomorrow, and verdicts: what is kept."""

CEILING = 0.9
"""Confidence that no vote exceeds: a language model is asked how sure it is, nothing has calibrated what it says."""

UNCLEAR = "unclear"

SCHEMA: Mapping[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "verdict",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "label": {"type": "string", "enum": [*LABELS, UNCLEAR]},
                "confidence": {"type": "number"},
            },
            "required": ["label", "confidence"],
            "additionalProperties": False,
        },
    },
}
"""The ``response_format`` that is asked for."""

_LONGEST = 20_000
_MOST_TOKENS = 10**9
"""Tokens that no request has; a server that says more says nothing."""
_NUMBER = re.compile(r"\s*([0-9]{1,3}(?:[.,][0-9]{1,20})?|[.,][0-9]{1,20})\s*(%?)\s*")
_NO_SCHEMA = re.compile(
    r"response.?format|json.?schema|json.?object|structured.?output|guided.?(json|decoding)", re.IGNORECASE
)
_INVALID = re.compile(
    r"validation|invalid|unsupported|not supported|unknown|unexpected|should be|must be", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Opinion:
    """What became of one question.

    Attributes:
        label: What the model says, or None where the judge abstains.
        confidence: As the model says, `CEILING` at most; 0 where the judge abstains.
        cause: Why it abstains, or None.
        detail: One line for people.
        tokens: Sent and generated, where the server says.
    """

    label: Label | None = None
    confidence: float = 0.0
    cause: Cause | None = None
    detail: str = ""
    tokens: tuple[int, int] | None = None


def read_opinion(status: int, body: bytes, provider: str) -> Opinion | Fault:
    """Return what a server's reply amounts to.

    Args:
        status: HTTP status.
        body: The body, whatever its declared type.
        provider: Who is named where the reply names nobody.
    """
    answer = read_reply(status, body, provider)
    if isinstance(answer, Fault):
        return Opinion(cause="refused", detail=answer.detail) if answer.kind == "blocked" else answer
    data = json.loads(body)
    tokens = _tokens(data.get("usage"))
    if answer.condition == "blocked":
        return Opinion(cause="refused", detail=answer.detail or "the provider's filter", tokens=tokens)
    if answer.condition == "empty":
        return Opinion(cause="empty", detail=answer.detail or "no content", tokens=tokens)
    refusal = data["choices"][0]["message"].get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return Opinion(cause="refused", detail="the model declined to judge", tokens=tokens)
    label, confidence, cause = parse(str(answer))
    detail = f"no verdict in {len(answer)} characters, finish reason {answer.finish_reason}" if cause else ""
    return Opinion(label, confidence, cause, detail, tokens)


def parse(text: str) -> tuple[Label | None, float, Cause | None]:
    """Return label, confidence and cause of abstaining from what a model wrote.

    Prose and code fences around the object are passed over, and so is thinking. Where a text holds two verdicts that
    differ there is none.
    """
    found = set(_verdicts(strip_thinking(text[:_LONGEST]).text))
    if len(found) != 1:
        return None, 0.0, "unparsable"
    label, confidence = found.pop()
    if label == UNCLEAR or confidence < 0.5:
        return None, 0.0, "unsure"
    return label, min(confidence, CEILING), None


def _verdicts(text: str) -> Iterator[tuple[Any, float]]:
    decoder, start = json.JSONDecoder(), 0
    while (start := text.find("{", start)) >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value, end = {}, start + 1
        label, confidence = _label(value.get("label")), _confidence(value.get("confidence"))
        if label is not None and confidence is not None:
            yield label, confidence
            start = end
        else:  # it may stand within
            start += 1


def _label(said: Any) -> str | None:
    """Return one of our labels as small models write it: in other case, with spaces or hyphens for underscores."""
    name = "_".join(re.split(r"[\s_-]+", said.strip().lower())) if isinstance(said, str) else None
    return name if name in (*LABELS, UNCLEAR) else None


def _confidence(said: Any) -> float | None:
    """Return a share from 0 to 1, also one written as text or with a percent sign.

    A bare 80 may be a percentage or a mistake. A number is compared before it is converted: an integer may have
    hundreds of digits.
    """
    if isinstance(said, str):
        found = _NUMBER.fullmatch(said)
        said = float(found[1].replace(",", ".")) / (100 if found[2] else 1) if found else None
    if isinstance(said, bool) or not isinstance(said, (int, float)):
        return None
    return float(said) if 0 <= said <= 1 else None


def _tokens(usage: Any) -> tuple[int, int] | None:
    if not isinstance(usage, dict):
        return None
    sent, generated = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not isinstance(sent, int) or not isinstance(generated, int):
        return None
    if min(sent, generated) < 0 or max(sent, generated) > _MOST_TOKENS:
        return None
    return sent, generated


def names_schema(fault: Fault | Opinion) -> bool:
    """Whether a server turned a request down because it knows no ``response_format`` of this kind.

    The server of llama-cpp-python validates requests in such a way that its complaint comes as HTTP 500.
    """
    detail = fault.detail
    if not (detail.startswith(("HTTP 400", "HTTP 422")) or (detail.startswith("HTTP 5") and _INVALID.search(detail))):
        return False
    parameter = fault.parameter if isinstance(fault, Fault) else None
    return bool(_NO_SCHEMA.search(parameter or "") or _NO_SCHEMA.search(detail))


def names_limit(fault: Fault | Opinion) -> bool:
    """Whether a server wants the limit of tokens under its newer name."""
    return fault.detail.startswith(("HTTP 400", "HTTP 422")) and "max_completion_tokens" in fault.detail
