"""JSON in answers: objects in whatever stands around them, doubled keys, numbers as they are written, broken ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MOST = 100_000
"""Characters of an answer that are looked at for an object."""

ERROR_KEYS = ("error", "refusal", "errors", "reason")
"""Keys that nobody asked for, in which models say why they do not answer."""

_STARTS = 12
_FENCE = re.compile(r"```[\w-]*\n?|```")


class Pairs(list[tuple[str, Any]]):
    """The members of an object in order, doubled keys included."""


class Number(str):
    """A number as it is written: no number of an answer is worth an overflow."""


@dataclass(frozen=True, slots=True)
class Found:
    """An object in a text.

    Attributes:
        members: Its members; never none.
        start: Where it begins in the text.
        end: Where it ends.
    """

    members: Pairs
    start: int
    end: int


_DECODER = json.JSONDecoder(object_pairs_hook=Pairs, parse_int=Number, parse_float=Number)


def objects(text: str) -> Iterator[Found]:
    """Yield the objects in a text that are whole and not empty, outermost only; no input raises."""
    at = text.find("{")
    for _ in range(_STARTS):
        if at < 0:
            return
        try:
            found, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(found, Pairs) and found:
            yield Found(found, at, end)
        at = text.find("{", end)


def without_fences(text: str) -> str:
    """Return a text without the marks of code blocks, and without spaces around it."""
    return _FENCE.sub("", text).strip()


def kind_of(text: str, found: Found) -> str:
    """Return ``valid`` where a text is an object and nothing else, or ``wrapped``: in a fence or in prose."""
    return "wrapped" if text[: found.start].strip() or text[found.end :].strip() else "valid"


def prose_around(text: str, found: Found) -> str:
    """Return what stands before and after an object."""
    return f"{without_fences(text[: found.start])}\n{without_fences(text[found.end :])}".strip()


def text_of(value: Any) -> str:
    """Return the words in a value, whatever its shape."""
    if isinstance(value, str):
        return value
    if isinstance(value, Pairs):
        return "\n".join(text_of(inner) for _, inner in value)
    if isinstance(value, dict):
        return "\n".join(text_of(inner) for inner in value.values())
    if isinstance(value, list):
        return "\n".join(text_of(inner) for inner in value)
    return ""


def said(text: str) -> bool:
    """Whether a text has a letter or digit."""
    return any(c.isalnum() for c in text)


@dataclass(frozen=True, slots=True)
class Piece:
    """What stands after a key in an object that never closes, or is none.

    Attributes:
        value: What could be read of it; of a string or list that is cut, the part that is there.
        cut: Whether the text ends within it, or right after it.
    """

    value: Any
    cut: bool


def piece_after(text: str, key: str) -> Piece | None:
    """Return the value after the first mention of a key, or None where none can be read; no input raises."""
    at = re.search(rf"[\"']{re.escape(key)}[\"']\s*:\s*", text)
    if at is None or at.end() >= len(text):
        return None
    rest = text[at.end() :]
    try:
        value, end = _DECODER.raw_decode(rest)
    except (ValueError, RecursionError):
        return _cut_list(rest) if rest[0] == "[" else _cut_string(rest)
    return Piece(value, not _after(rest, end))


def _after(text: str, end: int) -> str:
    return text[end:].rstrip().rstrip("`").rstrip()


_STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"?|'((?:[^'\\\n]|\\.)*)'?", re.DOTALL)


def _cut_string(rest: str) -> Piece | None:
    found = _STRING.match(rest)
    if found is None:
        return None
    inner = found.group(1) if found.group(1) is not None else found.group(2)
    return Piece(unescaped(inner), not _after(rest, found.end()))


def _cut_list(rest: str) -> Piece:
    entries = [unescaped(m.group(1) if m.group(1) is not None else m.group(2)) for m in _STRING.finditer(rest, 1)]
    return Piece([entry for entry in entries if said(entry)], "]" not in rest)


def unescaped(inner: str) -> str:
    """Return what stands between the quotes of a JSON string, its escapes resolved where they can be."""
    try:
        return str(json.loads(f'"{inner.rstrip(chr(92))}"', strict=False))
    except ValueError:
        return inner
