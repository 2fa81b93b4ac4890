"""Objects that are no JSON: a Python dict, curly quotes, keys without quotes, comments, an end that is missing.

What a person would read of them is read; nothing is evaluated, and no input raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .objects import Number, Pairs, unescaped

_CLOSING = {
    '"': '"', "'": "'", "`": "`", "＂": "＂", "“": "”“\"", "”": "”\"", "„": "”“\"", "‟": "”\"",
    "‘": "’‘'", "’": "’'", "‚": "’‘'", "«": "»", "»": "«»", "「": "」", "『": "』",
}  # fmt: skip
"""By the mark that opens a string those that may close it; many writers and keyboards mix them."""

_MARKS = re.escape("".join(sorted({mark for pair in _CLOSING.items() for mark in "".join(pair)})))
_BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.{0,500}?\*/)*", re.DOTALL)
_BARE_KEY = re.compile(r"[\w$-]{1,60}")
_QUOTED_KEY = re.compile(rf"[{_MARKS}][^{_MARKS}\n]{{1,60}}(?:[{_MARKS}]\s{{0,9}}(?:[:：]|$)|$)")
_NEXT_KEY = re.compile(rf"{_QUOTED_KEY.pattern}|[\w$-]{{1,60}}\s{{0,9}}(?:[:：]|$)")
_COMMAS = ",،，;"
_WORD = re.compile(r"[^\s,،，;{}\[\]]*")
_NAMES: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None, "undefined": None, "nan": None}
_DEPTH = 6
_MEMBERS = 60
_ENDS_LOOKED_AT = 400


@dataclass(frozen=True, slots=True)
class Loose:
    """An object as it could be read.

    Attributes:
        members: Its members; none where there are none, or none could be read.
        start: Where it begins in the text.
        end: Where it ends, or where the reading gave up.
        cut: Whether the text ends within it.
    """

    members: Pairs
    start: int
    end: int
    cut: bool


def loose_object(text: str) -> Loose | None:
    """Return the first object in a text with a member, however it is written; without one the first brace."""
    first, at = None, text.find("{")
    for _ in range(_DEPTH):
        if at < 0:
            break
        reader = _Reader(text, at)
        members = reader.members(0)
        found = Loose(members, at, reader.at, reader.cut)
        if members:
            return found
        first, at = first or found, text.find("{", at + 1)
    return first


class _Reader:
    """Reads on from a place in a text; `cut` is set where the text ends too early."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at, self.cut = text, at, False

    def members(self, depth: int) -> Pairs:
        """Read an object, its brace first; what is no member ends it."""
        found = Pairs()
        self.at += 1
        for _ in range(_MEMBERS):
            if self._ends("}"):
                break
            key = self._key()
            if key is None:
                break
            found.append((key, self._value(depth, listed=False)))
        return found

    def _ends(self, closing: str) -> bool:
        """Pass over commas; True behind the closing bracket, and where the text ends before it."""
        self._skip(_COMMAS)
        if self.at >= len(self.text):
            self.cut = True
            return True
        if self.text[self.at] == closing:
            self.at += 1
            return True
        return False

    def _key(self) -> str | None:
        sign = self.text[self.at]
        if sign in _CLOSING:
            closed = re.compile(rf"[^{re.escape(_CLOSING[sign])}\n]{{0,60}}").match(self.text, self.at + 1)
            end = closed.end() if closed else self.at + 1
            key, end = self.text[self.at + 1 : end], end + 1
        else:
            bare = _BARE_KEY.match(self.text, self.at)
            if bare is None:
                return None
            key, end = bare[0], bare.end()
        end = self._blank(min(end, len(self.text)))
        if self.text[end : end + 1] not in (":", "："):  # "" where the text ends in or after the key
            self.cut = end >= len(self.text)
            return None
        self.at = end + 1
        return key

    def _value(self, depth: int, *, listed: bool) -> Any:
        self._skip("")
        if self.at >= len(self.text):
            self.cut = True
            return None
        sign = self.text[self.at]
        if sign in _CLOSING:
            return self._string(sign, listed)
        if sign in "{[" and depth < _DEPTH:
            return self.members(depth + 1) if sign == "{" else self._entries(depth + 1)
        word = _WORD.match(self.text, self.at)[0] or sign  # type: ignore[index]
        self.at += len(word)
        self.cut = self.cut or self.at >= len(self.text)
        return _NAMES.get(word.casefold(), Number(word) if word[0] in "-+.0123456789" else None)

    def _entries(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self.at += 1
        for _ in range(_MEMBERS):
            if self._ends("]") or self.text[self.at] == "}":
                break
            found.append(self._value(depth, listed=True))
        return found

    def _string(self, sign: str, listed: bool) -> str:
        start, end = self.at + 1, self.at + 1
        closing = re.compile(rf"\\.|[{re.escape(_CLOSING[sign])}]", re.DOTALL)
        for _ in range(_ENDS_LOOKED_AT):
            mark = closing.search(self.text, end)
            if mark is None:
                break
            end = mark.end()
            if mark[0][0] != "\\" and self._goes_on(end, listed):
                self.at = end
                return unescaped(self.text[start : mark.start()])
        self.at, self.cut = len(self.text), True
        return unescaped(self.text[start:])

    def _goes_on(self, end: int, listed: bool) -> bool:
        """Whether what follows a mark is what follows a string: an apostrophe within a word is no end."""
        at = self._blank(end)
        comma = self.text[at : at + 1] in tuple(_COMMAS)
        if comma and not listed:
            at = self._blank(at + 1)
        if at >= len(self.text) or self.text[at] in "}]" or (comma and listed):
            return True
        return not listed and (_NEXT_KEY if comma else _QUOTED_KEY).match(self.text, at) is not None

    def _skip(self, signs: str) -> None:
        """Go over spaces, comments and some signs."""
        self.at = self._blank(self.at)
        while self.at < len(self.text) and self.text[self.at] in signs:
            self.at = self._blank(self.at + 1)

    def _blank(self, at: int) -> int:
        """Return where the spaces and comments from a place on end."""
        found = _BLANK.match(self.text, at)
        return found.end() if found else at
