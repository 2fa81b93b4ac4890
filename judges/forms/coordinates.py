"""Points and boxes in answers: as JSON, in a list, in tags or in running text, in any digits, whole or cut off.

Nothing here knows where anything is: `parse` says which numbers an answer gives as a place, and which words are left.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from ..normalise import strip_thinking
from .objects import MOST, Found, kind_of, objects, without_fences
from .place_patterns import (
    AFTER_KEY,
    AT_THE_END,
    BARE,
    BEGUN,
    BRACKETED,
    TAGGED,
    Shape,
    decimal_points,
    in_prose,
    last_answer,
    shape,
)
from .place_values import KEYS, Seen, blank, given, seen_in

_SIGNS = str.maketrans("，、،٫．（）［］【】＝：−；", ",,,..()[][]=:-;")  # each by one character, so that places stay
_KEY = re.compile(rf"[\"'](?:{KEYS})[\"']\s{{0,8}}:\s{{0,8}}", re.IGNORECASE)
_TAG = re.compile(r"</?(?:points?|box|bbox|answer)\b[^>]*>|<\|?/?\w+\|?>", re.IGNORECASE)
_ENTRY = re.compile(r"[^.\n:;,。\[\](){}]{1,40}:\s{0,8}(?=[\[(]\s{0,8}\d)")
_LEAD = re.compile(r"[^.!?。\n:]{1,80}:(?=[\s,;.]{0,80}(?:\n|$))")
_HAS_TAG = re.compile(r"<(?:points?|box|bbox|loc\d{4})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What an answer gives as a place.

    Attributes:
        kind: ``valid`` (an object and nothing else), ``wrapped`` (in a fence or in prose), ``truncated``, ``malformed``
            or ``none`` (no object).
        shapes: The places that it gives: finite numbers only, none that is left open; doubled ones once.
        loose: Whether they stand in running text, and not in an object, or alone.
        broken: Whether a place was begun that cannot be read: cut off, of too few numbers.
        open: Whether a place is left open: null, empty, not a number, the very corner, a box without area.
        texts: Words that are left by place: ``field``, ``error``, ``prose``; only those with a letter.
        final: Whether a word for an answer stands before them, and others before that were passed over.
        y_first: Whether they stand under a key where some models write y first, per mille.
        unfinished: A place of enough numbers of which the last stands at the very end, and may be cut off.
    """

    kind: str
    shapes: tuple[Shape, ...]
    loose: bool
    broken: bool
    open: bool
    texts: dict[str, str]
    final: bool = False
    y_first: bool = False
    unfinished: Shape | None = None


def parse(response: str) -> Parsed:
    """Return what an answer gives as a place; no input raises."""
    answer = strip_thinking(response[:MOST]).text
    text = decimal_points(plain_digits(answer))
    found = _objects(text)
    if found:
        return _whole(answer, text, found)
    if "{" in text and _KEY.search(text):
        return _cut(answer, text)
    return _words(answer, text)


def plain_digits(text: str) -> str:
    """Return a text with the digits of every script as 0 to 9, and the commas and brackets of ours, place by place."""
    return "".join(
        str(unicodedata.decimal(c)) if not c.isascii() and unicodedata.decimal(c, None) is not None else c for c in text
    ).translate(_SIGNS)


def _objects(text: str) -> list[tuple[Found, Seen]]:
    """Return the objects that give a place or leave one open, with what they hold; without such, the first of all."""
    found = [(one, seen_in(one.members)) for one in objects(text)]
    return [pair for pair in found if pair[1].asked] or found[:1]


def _whole(answer: str, text: str, found: Sequence[tuple[Found, Seen]]) -> Parsed:
    seen, rest = Seen(), answer
    for _, held in found:
        seen.add(held)
    for one, _ in reversed(found):
        rest = f"{rest[: one.start]}\n{rest[one.end :]}"
    texts = _lettered({"field": "\n".join(seen.instead), "error": "\n".join(seen.words), "prose": without_fences(rest)})
    kind, shapes = kind_of(answer, found[0][0]), given(seen.shapes)
    if not shapes and not seen.broken:
        loose = [some for said in texts.values() for some in in_prose(decimal_points(plain_digits(said)))[0]]
        if given(loose):
            return Parsed(kind, given(loose), True, False, False, texts)
    broken = seen.broken and not shapes
    return Parsed(kind, shapes, seen.loose, broken, not shapes and not broken, texts, y_first=seen.y_first)


def _cut(answer: str, text: str) -> Parsed:
    """Read what can be read of an object that never closes, or is none: numbers at the very end may be cut off."""
    matches = list(_KEY.finditer(text))
    shapes, last = [], matches[0].end()
    for match in matches:
        rest = AFTER_KEY.match(text, match.end())
        if rest is not None:
            shapes.append(shape(rest))
            last = rest.end()
    there = given(shapes)
    tail = text[matches[-1].end() :]
    kind = "malformed" if "}" in tail else "truncated"
    before, after = without_fences(answer[: text.index("{")]), answer[last:] if there else tail
    words = re.sub(r"[^\w\s.,!?'’-]", " ", after).strip()
    begun = bool(re.match(r"[\[({\s]*[-+]?\d", tail)) and not shapes
    texts = _lettered({"prose": before, "field": "" if blank(words) else words})
    end = AT_THE_END.fullmatch(tail) if begun else None
    return Parsed(kind, there, False, begun, not begun and not there, texts, unfinished=end and shape(end))


def _words(answer: str, text: str) -> Parsed:
    """Read an answer without an object: a list, tags, or running text."""
    kind = "malformed" if "{" in text else "none"
    bare = without_fences(text).strip("*_`$ \n")
    whole = BARE.fullmatch(bare) or BRACKETED.fullmatch(bare) or TAGGED.fullmatch(bare)
    if whole is not None:
        there = given([shape(whole)])
        return Parsed(kind, there, False, False, not there, {})
    if BEGUN.fullmatch(bare):
        end = AT_THE_END.fullmatch(bare)
        return Parsed("truncated", (), False, True, False, {}, unfinished=end and shape(end))
    if bare and blank(bare):
        return Parsed(kind, (), False, False, True, {})
    found, rest = in_prose(text)
    last = given(last_answer(text)) if len(found) > 1 else ()
    shapes = last or given(found)
    if len(found) > 1:  # what a list of things calls them is no part of what it is said to
        rest = _LEAD.sub(" ", in_prose(_ENTRY.sub(" ", text))[1])
    texts = _lettered({"prose": without_fences(_TAG.sub(" ", " ".join(rest.split())) if shapes else answer)})
    loose = bool(texts) and not _HAS_TAG.search(text)
    return Parsed(kind, shapes, loose, False, False, texts, final=bool(last))


def _lettered(texts: dict[str, str]) -> dict[str, str]:
    return {place: text.strip() for place, text in texts.items() if any(c.isalpha() for c in text)}
