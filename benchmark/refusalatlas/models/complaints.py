"""What a server means that turns a request down: its filter, which is a datum here, or a request that is wrong.

Servers put complaints wherever they like: ``error`` as object or string, ``message``, ``detail`` (FastAPI), plain text,
HTML. Only what names a filter is a block; a server without a chat template turns everything down and filters nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

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

Kind = Literal["retry", "stop", "blocked", "rejected", "unknown", "failed"]

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


def _words(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)


_ABOUT = r"(prompt|content|input|output|response|message|completion|answer|text|query|question|generation|data)s?\b"
_FILTER = _words(
    r"content.?(filter|management|polic|moderation|safety|inspection|exists.risk|risk|violat)",
    r"moderat(ion|ed)|guard.?rail|responsible.?ai|data.?inspection|censor|harmful|inappropriate|risky|high.risk|unsafe",
    r"prohibited.?(content|use)|content.{0,40}prohibited",
    r"(usage|use|safety|community|platform).?(polic|guideline)|violat\w+.{0,60}(polic|guideline|terms of|rules)",
    r"safety.?(system|filter|check|reason|guideline|concern|violation|classifier|measure|block)",
    r"\b(by|for|due to|because of|triggered) (our |the |its )?safety\b",
    r"new_sensitive|sensitive.?(content|information|topic|word|material)",
    _ABOUT + r".{0,60}(?<!case.)\bsensitive\b",
    _ABOUT + r".{0,60}\b(blocked|flagged|filtered out|filtered due)\b|\b(blocked|flagged)\b.{0,60}\b" + _ABOUT,
    r"\A\W*(blocked|flagged)\W*\Z",
    "敏感|违规|不安全|风险|审核",
)
_ACCOUNT = _words(
    r"\b(account|organi[sz]ation|project|workspace|team|subscription|ip|address)\b"
    r"( has been| have been| was| is)?( temporarily| permanently)? "
    r"(flagged|suspended|disabled|deactivated|banned|blocked|restricted|locked|on hold|under review)"
)
_NO_KEY = _words(
    r"api.?key|\b(this|your|the|invalid|provided) key\b|authenticat|unauthori[sz]ed|you have been blocked",
    r"(country|region|location).{0,60}not (supported|available|allowed)",
)
_NO_MODEL = _words(
    r"model_not_found|invalid_model|(unknown|invalid|no such|nonexistent) model\b",
    r"\bmodel\b[^.]{0,120}?(not found|(does not|doesn.t|not) exist|is not a valid)",
)
_TOO_LONG = _words(
    r"context.?length|maximum context|context window|(prompt|input) is too long|reduce the length|above_max_length",
    r"maximum (model|input|sequence) length|too many (input )?tokens",
)
_TEMPLATE = _words(r"chat.?template")
_ROLES = _words(r"roles? must|must alternate|role.{0,40}not supported|(unsupported|invalid|unknown|unexpected) role")
_FORM = _words(
    r"\bjson\b.{0,30}(body|pars|decod|invalid|valid|malformed)|(invalid|malformed|parse|decode|valid).{0,30}\bjson\b",
    r"(invalid|malformed) (request )?body",
    r"must be (\[|\(|in [\[(]|between|at (least|most)|one of|an? |less|greater|[<>≤≥])",
    r"should be (\[|between|one of|an? (valid|number|integer|string|list)|less|greater)|out of range|outside the range",
)
_PARAMETER = _words(
    r"(unsupported|unrecogni[sz]ed|unknown|unexpected|extra|missing)[^.]{0,30}(parameter|argument|field|propert)",
    r"unsupported value|extra inputs are not permitted|not supported with this model",
)
_BUSY = _words(r"out of memory|overloaded|temporarily unavailable")
_TAGS = re.compile(r"<(script|style).*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fault:
    """A reply, or a failure to get one, that is not an answer.

    Attributes:
        kind: ``retry`` (may pass), ``stop`` (no request can succeed: wrong key, address or model), ``blocked`` (the
            provider's filter), ``rejected`` (the form of the request: all will fail alike, unless some have
            succeeded), ``unknown`` (turned down, and nothing says why) or ``failed`` (only this request, and for good).
        detail: One line for people.
        parameter: The parameter that a rejection is about, where the server says.
        wait: Seconds that the server asks to wait, or None.
        unreachable: Whether no connection came about.
        mend: What to do about it, where the complaint tells.
    """

    kind: Kind
    detail: str
    parameter: str | None = None
    wait: float | None = None
    unreachable: bool = False
    mend: str | None = None


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a server says is wrong.

    Attributes:
        message: In words, one line.
        codes: What it gives as code, type or status, in lower case.
        parameter: The parameter that it is about, or None.
        schema: Whether it says where the request does not fit its schema.
    """

    message: str
    codes: frozenset[str]
    parameter: str | None = None
    schema: bool = False

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern is in its words or in one of its codes."""
        return any(pattern.search(text) for text in (self.message, *self.codes))


def complaint_of(data: Any, body: bytes) -> Complaint:
    """Return what an error's body says.

    Args:
        data: The body as JSON, or None.
        body: As it came.
    """
    if not isinstance(data, dict):
        return Complaint(clip(plain(body)), frozenset())
    error = data.get("error") or data.get("detail") or data
    if isinstance(error, list):  # FastAPI says where in the request something does not fit its schema
        fields = [entry for entry in error if isinstance(entry, dict) and "loc" in entry]
        if fields:
            where = [".".join(map(str, f["loc"])) if isinstance(f["loc"], list) else str(f["loc"]) for f in fields]
            texts = [f"{place}: {field.get('msg')}" for place, field in zip(where, fields, strict=True)]
            return Complaint(clip("; ".join(texts)), frozenset(), where[0].rpartition(".")[2], schema=True)
    if not isinstance(error, dict):
        return Complaint(clip(str(error)), frozenset())
    inner = error.get("innererror")
    sources = [error, inner if isinstance(inner, dict) else {}]
    codes = {str(source[key]).lower() for source in sources for key in ("code", "type", "status") if source.get(key)}
    message = str(error.get("message") or error.get("msg") or data.get("message") or ", ".join(sorted(codes)))
    behind = error.get("metadata")
    if isinstance(behind, dict) and isinstance(behind.get("raw"), str):  # a router passes on what it was told
        message = f"{message}: {behind['raw']}"
    return Complaint(clip(message or plain(body)), frozenset(codes), string_of(error.get("param")))


def read_error(status: int | None, said: Complaint) -> Fault:
    """Return what an HTTP status (None where the error came without one) and a complaint amount to."""
    place = f"HTTP {status}" if status else "the server reports an error"
    detail = f"{place}: {said.message}" if said.message else place
    if status in (401, 402, 404, 405, 410, 415) or said.codes & (_QUOTA_CODES | _KEY_CODES):
        return Fault("stop", detail)
    if status is not None and 300 <= status < 400:
        return Fault("stop", f"{detail} (a redirect)")
    if status in (400, 403, 422, 451):
        kind, mend = _kind_of(status, said)
        return Fault(kind, detail, said.parameter, mend=mend)
    if status is None:
        return Fault("blocked" if _kind_of(status, said)[0] == "blocked" else "retry", detail)
    return Fault("retry" if status in (408, 409, 425, 429) or status >= 500 else "failed", detail)


def _kind_of(status: int | None, said: Complaint) -> tuple[Kind, str | None]:
    """Tell the filter of a provider from requests that are wrong in themselves, and say what to do about these.

    The codes of filters go first; then what is wrong with account, model and request, since the words of filters
    (*safety*, *sensitive*, *flagged*) stand in such complaints, too; then the words of filters.
    """
    if said.schema:
        return "rejected", None
    if status == 451 or any(code in BLOCKING or _FILTER.search(code) for code in said.codes):
        return "blocked", None
    if said.matches(_ACCOUNT):
        return "stop", "see to the account that the key belongs to"
    rules: list[tuple[re.Pattern[str], Kind, str | None]] = [
        (_NO_MODEL, "stop", None),
        (_NO_KEY, "stop", None),
        (_TOO_LONG, "failed", None),
        (_TEMPLATE, "rejected", "give the server the model's chat template (vLLM: --chat-template), and start again"),
        (
            _ROLES,
            "rejected",
            "leave out system prompt and few-shot turns: the chat template takes none of these",
        ),
        (_PARAMETER, "rejected", None),
        (_FORM, "rejected", "give what the server takes, with --gen_kwargs or omit=NAME in --model_args"),
        (_FILTER, "blocked", None),
        (_BUSY, "retry", None),
    ]
    if said.codes & _PARAMETER_CODES:
        return "rejected", None
    return next(((kind, mend) for pattern, kind, mend in rules if said.matches(pattern)), ("unknown", None))


def plain(body: bytes) -> str:
    """Return the text of a body, without the tags of HTML."""
    return _TAGS.sub(" ", body[:20_000].decode("utf-8", "replace"))


def clip(text: str) -> str:
    """Return a text as one short line."""
    line = " ".join(writable(text).split())
    return line if len(line) <= _CLIPPED else line[: _CLIPPED - 1] + "…"


def writable(text: str) -> str:
    """Replace lone surrogates, which would make lm_eval lose the whole file of samples when it writes UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def string_of(value: Any) -> str | None:
    """Return a value that is a text and not empty, or None."""
    return writable(value) if isinstance(value, str) and value else None
