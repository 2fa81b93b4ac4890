"""Taking secrets out of what is said about a run: in submissions, in messages, in what a command printed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

HIDDEN = "[hidden]"

_WORKING_FOLDERS = frozenset({"PWD", "OLDPWD"})  # not the passwords that such a name stands for elsewhere
_SHORTEST_SECRET = 8  # a shorter value, such as "1" or "none", is no key and stands in many an answer

_NAMES = (
    r"(?:api[_-]?key|access[_-]?key|auth(?:orization)?|auth[_-]?token|token|secret|password|passwd|pwd"
    r"|bearer|cookie|credentials?|headers?)"
)
_SECRET_NAME = re.compile(rf"(?i)(?:^|[_.-]){_NAMES}(?:$|[_.-])")
_HARMLESS_NAME = re.compile(
    r"(?i)max.*tok|tokenizer|tokens|_toks|add_.*_token|pad_token|eos_token|bos_token|prefix_token"
)
# A named value: to the next comma or blank, or to the closing bracket or quotation mark where it opens with one.
_NAMED = re.compile(
    rf"(?i)((?<![a-z])(?:[a-z0-9]+[_-])*{_NAMES}(?:[_-][a-z0-9]+)*[\"']?\s*[=:]\s*)"
    r"(\{[^}]*\}?|\"[^\"]*\"?|'[^']*'?|(?:bearer|basic)\s+[^\s,;'\"]+|[^\s,;'\"]+)"
)
# The value of an option in a command line or in a list of its arguments: --api-key VALUE, '--api-key', 'VALUE'.
_OPTION = re.compile(
    rf"(?i)((?<![\w-])--?(?!no-)(?:[a-z0-9]+[_-])*{_NAMES}(?:[\"'],\s*[\"']|[\"']?\s+[\"']?))(?![-{{\[])([^\s,'\"\]]+)"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_TOKENS = re.compile(
    r"\b(?:sk|pk|rk|hf|gh[pousr]|glpat|xox[abpr]|gsk|nvapi|r8|AKIA|ASIA|AIza|ya29|key)[-_.]?[A-Za-z0-9_-]{16,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?"
)
_USERINFO = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s@]+@")
_QUERY = re.compile(r"(?i)([?&](?:[a-z0-9_-]*(?:key|token|sig|signature|secret|auth|code)[a-z0-9_-]*)=)[^&\s,'\"]+")
_HOMES = re.compile(r"(?i)(?:/home|/users|/export/home|[a-z]:\\users)[/\\][^/\\\s,'\":]+|/root(?=/|\b)")


def scrub(text: str) -> str:
    """Return `text` without API keys, auth headers, tokens, userinfo in addresses and names of home folders."""
    return _HOMES.sub("~", without_secrets(text))


def without_secrets(text: str) -> str:
    """Return `text` without API keys, auth headers, tokens and userinfo in addresses."""
    text = _USERINFO.sub(rf"\1{HIDDEN}@", text)
    text = _QUERY.sub(rf"\1{HIDDEN}", text)
    text = _NAMED.sub(_hide_named, text)
    text = _OPTION.sub(_hide_named, text)
    text = _BEARER.sub(rf"\1 {HIDDEN}", text)
    return _TOKENS.sub(HIDDEN, text)


def secret_values(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the values of environment variables whose names say that they are secret, longest first.

    Args:
        environment: Names and values; by default the process's own.
    """
    given = os.environ if environment is None else environment
    named = {n: v.strip() for n, v in given.items() if _SECRET_NAME.search(n) and n not in _WORKING_FOLDERS}
    found = {value for name, value in named.items() if not _HARMLESS_NAME.search(name)}
    return tuple(sorted((value for value in found if len(value) >= _SHORTEST_SECRET), key=len, reverse=True))


def without_values(text: str, secrets: Sequence[str]) -> str:
    """Return `text` with each of the given secrets hidden wherever it stands."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def _hide_named(match: re.Match[str]) -> str:
    return match[0] if _HARMLESS_NAME.search(match[1]) else f"{match[1]}{HIDDEN}"


def scrub_mapping(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without secrets: a value under a telling name goes whole, strings are scrubbed, lists joined."""
    clean: dict[str, Any] = {}
    for key, value in values.items():
        if _SECRET_NAME.search(str(key)) and not _HARMLESS_NAME.search(str(key)) and value is not None:
            clean[str(key)] = HIDDEN
        elif value is None or isinstance(value, bool | int | float):
            clean[str(key)] = value
        else:
            clean[str(key)] = scrub(value if isinstance(value, str) else repr(value))
    return clean
