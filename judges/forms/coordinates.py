"""Points and boxes in answers: as JSON, in a list, in tags or in running text, in any digits, whole or cut off.

Nothing here knows where anything is: `parse` says which numbers an answer gives as a place, and which words are left.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..normalise import strip_thinking
from .objects import ERROR_KEYS, MOST, Found, Number, Pairs, kind_of, objects, said, text_of, without_fences

Shape = tuple[float, ...]
"""Two numbers, x and y, or four: left, top, right, bottom."""

_PLACES = ("point", "box", "bbox", "point_2d", "bbox_2d", "box_2d", "coordinates", "coords", "location", "position",
           "center", "centre", "middle")  # fmt: skip
"""Keys under which models put places."""

_NAMED = (
    ("x", "y"), ("left", "top", "right", "bottom"), ("x1", "y1", "x2", "y2"), ("xmin", "ymin", "xmax", "ymax"),
    ("x_min", "y_min", "x_max", "y_max"),
)  # fmt: skip
"""Members that together are a shape."""

_MOST_SHAPES = 40
_SIGNS = str.maketrans("，、،٫．（）［］【】＝：−", ",,,..()[][]=:-")  # each by one character, so that places stay
_S = r"\s{0,8}"  # bounded, as all that repeats here: an endless answer must not take endless time
_N = r"([-+]?\d{1,15}(?:\.\d{0,15})?)"
_GAP = rf"{_S}[,;\s]{_S}"
_PX = rf"(?:{_S}(?:px|pixels?|%|‰))?"
_PAIR = rf"{_N}{_PX}{_GAP}{_N}{_PX}"
_OPEN, _CLOSE = r"[\[(]{1,3}", r"[\])]{1,3}"
_BRACKETED = re.compile(rf"{_OPEN}{_S}{_PAIR}(?:{_S}[\])]?{_GAP}[\[(]?{_S}{_PAIR})?{_S}{_CLOSE}")
_AXES = re.compile(
    rf"\bx{_S}[=:]{_S}[\"']?{_N}{_PX}[\"']?{_S}(?:[,;]|and)?{_S}[\"']?\by[\"']?{_S}[=:]{_S}[\"']?{_N}{_PX}",
    re.IGNORECASE,
)
_CORNERS = re.compile(
    rf"\b(?:left|x1|xmin|x_min)\W{{0,4}}{_N}\D{{1,12}}?\b(?:top|y1|ymin|y_min)\W{{0,4}}{_N}"
    rf"\D{{1,12}}?\b(?:right|x2|xmax|x_max)\W{{0,4}}{_N}\D{{1,12}}?\b(?:bottom|y2|ymax|y_max)\W{{0,4}}{_N}",
    re.IGNORECASE,
)
_TAGGED = re.compile(rf"<(?:point|box)[^>\d]{{0,40}}>{_S}{_PAIR}(?:{_GAP}{_PAIR})?{_S}</(?:point|box)>", re.IGNORECASE)
_BARE = re.compile(rf"{_S}{_PAIR}(?:{_GAP}{_PAIR})?{_S}\.?{_S}")
_BEGUN = re.compile(rf"{_OPEN}{_S}[-+]?\d[\d.,\s]*")
_DECIMAL_COMMAS = re.compile(rf"(\d),(\d{{1,6}}{_S};{_S}\d{{1,4}}),(\d)")
_KEY = re.compile(rf"[\"'](?:{'|'.join(_PLACES)})[\"']{_S}:{_S}", re.IGNORECASE)
_AFTER_KEY = re.compile(rf"[\[(\s]{{0,8}}{_PAIR}(?:[\])]{{0,2}}{_GAP}[\[(]{{0,2}}{_S}{_PAIR})?(?={_S}[\])])")
_TAG = re.compile(r"</?(?:point|box|answer)\b[^>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What an answer gives as a place.

    Attributes:
        kind: ``valid`` (an object and nothing else), ``wrapped`` (in a fence or in prose), ``truncated``, ``malformed``
            or ``none`` (no object).
        shapes: The places that it gives: finite numbers only, none that is left open; doubled ones once.
        loose: Whether they stand in running text, and not in an object, or alone.
        broken: Whether a place was begun that cannot be read: cut off, of too few numbers.
        open: Whether an object leaves the place open: null, empty, not a number, the very corner, a box without area.
        texts: Words that are left by place: ``field``, ``error``, ``prose``; only those with a letter.
    """

    kind: str
    shapes: tuple[Shape, ...]
    loose: bool
    broken: bool
    open: bool
    texts: dict[str, str]


def parse(response: str) -> Parsed:
    """Return what an answer gives as a place; no input raises."""
    answer = strip_thinking(response[:MOST]).text
    text = plain_digits(answer)
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


def _objects(text: str) -> list[Found]:
    """Return the objects that give a place or leave one open; without such, the first of all."""
    found = list(objects(text))
    having = [one for one in found if any(True for _ in _values(one.members))]
    return having or found[:1]


def _whole(answer: str, text: str, found: Sequence[Found]) -> Parsed:
    values = [value for one in found for value in _values(one.members)]
    read = [_shapes(value) for value in values]
    shapes = [shape for some in read if some for shape in some]
    words, rest = [], answer
    for one in reversed(found):
        rest = f"{rest[: one.start]}\n{rest[one.end :]}"
    for value, some in zip(values, read, strict=True):
        if some is None:
            words.append(text_of(value))
    errors = [text_of(value) for one in found for key, value in one.members if key.lower() in _SAYING]
    texts = _lettered({"field": "\n".join(words), "error": "\n".join(errors), "prose": without_fences(rest)})
    kind = kind_of(answer, found[0])
    broken = any(some is None and any(c.isdecimal() for c in text_of(v)) for v, some in zip(values, read, strict=True))
    given = _given(shapes)
    if not given and not broken and (loose := _in_prose(plain_digits(texts.get("prose", "")))):
        return Parsed(kind, loose, True, False, False, texts)
    return Parsed(kind, given, False, broken and not given, not given and not broken, texts)


_SAYING = frozenset({*ERROR_KEYS, "message", "note", "explanation", "comment", "answer", "response"})


def _values(members: Pairs) -> Iterator[Any]:
    """Yield what stands for places in an object: under the keys for them, doubled ones too, or as its own members."""
    lowered = [(key.lower(), value) for key, value in members]
    own = dict(lowered)
    if {"x", "y", "width", "height"} <= own.keys():
        yield members
        return
    for names in _NAMED:
        if all(name in own for name in names):
            yield [own[name] for name in names]
            return
    for key, value in lowered:
        if key in _PLACES:
            yield value
    if not any(key in _PLACES for key, _ in lowered):
        for _, value in lowered:
            inner = value if isinstance(value, list) and not isinstance(value, Pairs) else [value]
            for one in inner:
                if isinstance(one, Pairs):
                    yield from _values(one)


def _shapes(value: Any) -> list[Shape] | None:
    """Return the shapes in a value: none where it leaves them open, None where it is no place at all."""
    if value is None or value in ([], ""):
        return []
    if isinstance(value, Pairs):
        return _of_members(value)
    if isinstance(value, str) and not isinstance(value, Number):
        numbers = _BARE.fullmatch(value) or _BRACKETED.fullmatch(value.strip())
        return [_shape(numbers)] if numbers else [] if not said(value) else None
    if not isinstance(value, list):
        return None
    if value and all(isinstance(inner, list) for inner in value):
        flat = [n for inner in value for n in inner] if len(value) == 2 and all(len(i) == 2 for i in value) else None
        if flat is not None and not any(isinstance(inner, Pairs) for inner in value):
            return _shapes(flat)
        parts = [_shapes(inner) for inner in value[:_MOST_SHAPES]]
        return None if None in parts else [shape for part in parts if part for shape in part]
    if len(value) not in (2, 4):
        return None if value else []
    numbers_read = [_number(inner) for inner in value]
    if any(number is None for number in numbers_read):
        return [] if all(inner is None for inner in value) else None
    return [tuple(number for number in numbers_read if number is not None)]


def _of_members(value: Pairs) -> list[Shape] | None:
    own = {key.lower(): inner for key, inner in value}
    if {"x", "y", "width", "height"} <= own.keys():
        read = [_number(own[name]) for name in ("x", "y", "width", "height")]
        x, y, width, height = (math.nan if number is None else number for number in read)
        return None if None in read else [(x, y, x + width, y + height)]
    for names in _NAMED:
        if all(name in own for name in names):
            return _shapes([own[name] for name in names])
    inner_values = [_shapes(inner) for inner in _values(value)]
    return None if not inner_values or None in inner_values else [s for some in inner_values if some for s in some]


def _number(value: Any) -> float | None:
    """Return a number, infinite where it is too large for one; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, str | float):
        return None
    try:
        return float(str(value).strip().removesuffix("px").removesuffix("%")[:400])
    except ValueError:
        return None


def _shape(match: re.Match[str]) -> Shape:
    return tuple(float(group) for group in match.groups() if group is not None)


def _given(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Return the shapes that say where something is, each once.

    Left out are those that leave it open: not a number, the very corner, a box without any area.
    """
    kept = []
    for shape in shapes:
        if any(math.isnan(n) for n in shape) or not any(shape):
            continue
        flat = len(shape) == 4 and (shape[0] == shape[2] or shape[1] == shape[3])
        if flat and not any(map(math.isinf, shape)):
            continue
        kept.append(shape)
    return tuple(dict.fromkeys(kept[:_MOST_SHAPES]))


def _cut(answer: str, text: str) -> Parsed:
    """Read what can be read of an object that never closes, or is none: numbers at the very end may be cut off."""
    matches = list(_KEY.finditer(text))
    shapes, last = [], matches[0].end()
    for match in matches:
        rest = _AFTER_KEY.match(text, match.end())
        if rest is not None:
            shapes.append(_shape(rest))
            last = rest.end()
    given = _given(shapes)
    tail = text[matches[-1].end() :]
    kind = "malformed" if "}" in tail else "truncated"
    before, after = without_fences(answer[: text.index("{")]), answer[last:] if given else tail
    texts = {"prose": before, "field": re.sub(r"[^\w\s.,!?'’-]", " ", after).strip()}
    begun = bool(re.match(r"[\[({\s]*[-+]?\d", tail))
    return Parsed(kind, given, False, begun and not given, not begun and not given, _lettered(texts))


def _words(answer: str, text: str) -> Parsed:
    """Read an answer without an object: a list, tags, or running text."""
    kind = "malformed" if "{" in text else "none"
    joined = _DECIMAL_COMMAS.sub(r"\1.\2.\3", text)
    bare = without_fences(joined)
    whole = _BARE.fullmatch(bare) or _BRACKETED.fullmatch(bare) or _TAGGED.fullmatch(bare)
    if whole is not None:
        given = _given([_shape(whole)])
        return Parsed(kind, given, False, False, not given, {})
    if _BEGUN.fullmatch(bare):
        return Parsed("truncated", (), False, True, False, {})
    shapes = _in_prose(joined)
    rest = _without_places(joined) if shapes else answer
    texts = _lettered({"prose": without_fences(_TAG.sub(" ", rest) if shapes else answer)})
    tagged = bool(_TAGGED.search(joined)) or bool(re.search(r"<(?:point|box)\b", joined, re.IGNORECASE))
    return Parsed(kind, shapes, bool(texts) and not tagged, False, False, texts)


_PATTERNS = (_TAGGED, _CORNERS, _AXES, _BRACKETED)


def _in_prose(text: str) -> tuple[Shape, ...]:
    shapes, rest = [], text
    for pattern in _PATTERNS:
        shapes += [_shape(match) for match in pattern.finditer(rest)]
        rest = pattern.sub(" ", rest)
    return _given(shapes)


def _without_places(text: str) -> str:
    for pattern in _PATTERNS:
        text = pattern.sub(" ", text)
    return " ".join(text.split())


def _lettered(texts: dict[str, str]) -> dict[str, str]:
    return {place: text.strip() for place, text in texts.items() if any(c.isalpha() for c in text)}
