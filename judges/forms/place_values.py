"""What an object gives as a place: under the keys that models use, as its own members, or as its only numbers."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .objects import Number, Pairs, objects, said
from .place_patterns import BARE, BRACKETED, TAGGED, Shape, corners, decimal_points, number, shape

_PLACES = frozenset((
    "point", "points", "point2d", "points2d", "box", "boxes", "box2d", "boxes2d", "bbox", "bboxes", "bbox2d",
    "bboxes2d", "boundingbox", "boundingboxes", "coordinate", "coordinates", "coord", "coords", "location",
    "position", "center", "centre", "middle", "centerpoint",
))  # fmt: skip
"""Keys under which models put places, without what is neither letter nor digit."""

KEYS = "|".join(sorted(_PLACES | {"point_2d", "bbox_2d", "box_2d", "bounding_box"}))

_Y_FIRST = "box2d"
"""Key under which some models write ``[ymin, xmin, ymax, xmax]``, per mille."""

_SIZED = tuple((x, y, w, h) for x, y in (("x", "y"), ("left", "top"), ("xmin", "ymin"))
               for w, h in (("width", "height"), ("w", "h")))  # fmt: skip
_NAMED = (
    ("left", "top", "right", "bottom"), ("x1", "y1", "x2", "y2"), ("xmin", "ymin", "xmax", "ymax"),
    ("x0", "y0", "x1", "y1"), ("x", "y"), ("cx", "cy"), ("xcenter", "ycenter"), ("centerx", "centery"),
)  # fmt: skip
"""Members that together are a shape."""

_MEASURES = frozenset((
    "confidence", "score", "probability", "id", "code", "status", "index", "error", "http", "httpstatus",
    "statuscode", "scale", "count",
))  # fmt: skip
"""Keys of numbers that are no places."""

_LABELS = frozenset((
    "label", "type", "action", "name", "object", "thing", "class", "category", "role", "format", "unit", "units",
    "target", "element",
))  # fmt: skip
"""Keys of words that are no sentence, and are read only where they are one."""

BLANK = frozenset((
    "nan", "null", "nil", "none", "n/a", "na", "unknown", "undefined", "unavailable", "x", "y", "left", "top",
    "right", "bottom", "x1", "y1", "x2", "y2", "xmin", "ymin", "xmax", "ymax", "x_min", "y_min", "x_max", "y_max",
    "width", "height",
))  # fmt: skip
"""Words that leave a place open: no number, or the name of what was to be filled in."""

_MOST_SHAPES, _DEPTH = 40, 4
_FEW_WORDS, _FEW_LETTERS = 3, 8
_BETWEEN = re.compile(r"[\s,;()\[\]{}\"'`*.:?…<>|-]+")


@dataclass(slots=True)
class Seen:
    """What an object holds.

    Attributes:
        shapes: Its places, those that leave it open among them.
        asked: Whether it has a key for a place.
        loose: Whether numbers were taken for a place although no key says so, and words stand beside them.
        y_first: Whether they stand under a key where some models write y first, per mille.
        broken: Whether numbers were begun that are no place.
        instead: Words in the place of a place.
        words: Words elsewhere.
    """

    shapes: list[Shape] = field(default_factory=list)
    asked: bool = False
    loose: bool = False
    y_first: bool = False
    broken: bool = False
    instead: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def add(self, other: Seen) -> None:
        """Take over what another one holds."""
        self.shapes += other.shapes
        self.instead += other.instead
        self.words += other.words
        self.asked |= other.asked
        self.loose |= other.loose
        self.y_first |= other.y_first
        self.broken |= other.broken


def blank(text: str) -> bool:
    """Whether a text says nothing, or no more than that a place is none."""
    words = [word for word in _BETWEEN.split(text.lower()) if word]
    return all(word in BLANK for word in words)


def seen_in(members: Pairs, depth: int = 0) -> Seen:
    """Return what an object holds; no input raises."""
    seen, rest = _under_keys(members, depth)
    if not seen.asked:
        seen.add(_only_numbers(rest, depth))
    elif not seen.shapes and not seen.instead and not seen.broken:
        seen.add(_lists(rest, depth))
    return seen


def _under_keys(members: Pairs, depth: int) -> tuple[Seen, Pairs]:
    """Return what stands under the keys for places, and the members that are none and hold none."""
    seen, rest = Seen(), Pairs()
    own = _own(members)
    names, value = _together(own)
    if value is not None:
        _take(seen, value)
    for key, inner in members:
        plain = _plain(key)
        if plain in names:
            continue
        if plain in _PLACES and value is None:
            before = len(seen.shapes)
            _take(seen, inner)
            seen.y_first |= plain == _Y_FIRST and len(seen.shapes) > before
            continue
        nested = [one for one in _objects_in(inner) if depth < _DEPTH and value is None]
        if nested:
            for one in nested:
                seen.add(seen_in(one, depth + 1))
        else:
            rest.append((key, inner))
    seen.words += list(_words(rest, given=bool(seen.shapes)))
    return seen, rest


def _plain(key: str) -> str:
    return "".join(c for c in key.casefold() if c.isalnum())


def _own(members: Pairs) -> dict[str, Any]:
    return {_plain(key): value for key, value in members}


def _together(own: dict[str, Any]) -> tuple[tuple[str, ...], Any]:
    """Return the names of members that together are a place, and what they are; None where there are none."""
    for sized in _SIZED:
        if all(name in own for name in sized):
            numbers = [_number(own[name]) for name in sized]
            whole = [n for n in numbers if n is not None]
            return sized, list(corners(whole)) if len(whole) == len(sized) else [own[name] for name in sized]
    for names in _NAMED:
        if all(name in own for name in names):
            return names, [own[name] for name in names]
    return (), None


def _objects_in(value: Any) -> list[Pairs]:
    """Return the objects in a value: itself, in a list, or written out in a string."""
    if isinstance(value, Pairs):
        return [value]
    if isinstance(value, list):
        return [one for one in value if isinstance(one, Pairs)]
    if isinstance(value, str) and "{" in value:
        return [one.members for one in objects(value)]
    return []


def _take(seen: Seen, value: Any) -> None:
    seen.asked = True
    shapes = shapes_of(value)
    if shapes is not None:
        seen.shapes += shapes
        return
    said_there = " ".join(strings(value)) if isinstance(value, list) else "\n".join(strings(value))
    if any(c.isalpha() for c in said_there):
        seen.instead.append(said_there)
    seen.broken |= any(c.isdecimal() for c in "".join(leaf for leaf in _leaves(value)))


def _lists(rest: Pairs, depth: int) -> Seen:
    """Return the places in lists and strings of nothing but numbers, whatever their keys."""
    found = [shapes_of(value) for _, value in rest if isinstance(value, list) or _is_text(value)]
    shapes = [one for some in found if some for one in some]
    return Seen(shapes, bool(shapes), any(_sentence(text) for _, value in rest for text in strings(value)))


def _only_numbers(rest: Pairs, depth: int) -> Seen:
    """Return the place that an object without any key for it gives by two or four numbers."""
    listed = _lists(rest, depth)
    if listed.shapes:
        return listed
    scalars = [(key, n) for key, value in rest if _plain(key) not in _MEASURES and (n := _scalar(value)) is not None]
    spoken = any(_sentence(text) for _, value in rest for text in strings(value))
    if len(scalars) in (2, 4):
        return Seen([tuple(n for _, n in scalars)], True, spoken)
    return Seen(broken=bool(scalars) and not spoken)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, Number)


def _scalar(value: Any) -> float | None:
    return _number(value) if isinstance(value, str) and said(value) and not blank(value) else None


def shapes_of(value: Any) -> list[Shape] | None:
    """Return the shapes in a value: none where it leaves them open, None where it is no place at all."""
    if value is None or value in ([], ""):
        return []
    if isinstance(value, Pairs):
        return _of_members(value)
    if _is_text(value):
        text = decimal_points(value.strip())
        numbers = BARE.fullmatch(text) or BRACKETED.fullmatch(text) or TAGGED.fullmatch(text)
        return [shape(numbers)] if numbers else [] if blank(value) else None
    if not isinstance(value, list):
        return None
    if all(isinstance(inner, list) for inner in value):
        return _of_lists(value)
    if all(inner is None or (_is_text(inner) and blank(inner)) for inner in value):
        return []
    if len(value) not in (2, 4):
        return None
    read = [_number(inner) for inner in value]
    return None if None in read else [tuple(n for n in read if n is not None)]


def _of_lists(value: Sequence[Any]) -> list[Shape] | None:
    if len(value) == 2 and all(len(inner) == 2 and not isinstance(inner, Pairs) for inner in value):
        flat = [_number(n) for inner in value for n in inner]
        if None not in flat:
            return [tuple(n for n in flat if n is not None)]
    parts = [shapes_of(inner) for inner in value[:_MOST_SHAPES]]
    return None if None in parts else [one for part in parts if part for one in part]


def _of_members(value: Pairs) -> list[Shape] | None:
    _, together = _together(_own(value))
    if together is not None:
        return shapes_of(together)
    seen = seen_in(value, 1)
    return seen.shapes if seen.asked and not seen.instead and not seen.broken else None


def _number(value: Any) -> float | None:
    """Return a number, infinite where it is too large for one; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, str | float):
        return None
    try:
        return number(re.sub(r"^(\s*[-+]?\d{1,4}),(\d{1,2}\D{0,4})$", r"\1.\2", str(value)[:400]))
    except ValueError:
        return None


def strings(value: Any) -> Iterator[str]:
    """Yield the strings in a value, whatever its shape; no numbers."""
    return (leaf for leaf in _leaves(value) if not isinstance(leaf, Number))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Pairs):
        yield from itertools.chain.from_iterable(_leaves(inner) for _, inner in value)
    elif isinstance(value, list):
        yield from itertools.chain.from_iterable(_leaves(inner) for inner in value)


def _words(members: Pairs, given: bool) -> Iterator[str]:
    """Yield the words of members: all that could say why there is no place, and beside one those that are sentences."""
    for key, value in members:
        for text in strings(value):
            if _sentence(text) or not (given or _plain(key) in _LABELS or blank(text)):
                yield text


def _sentence(text: str) -> bool:
    """Whether a text is more than a label."""
    words = text.split()
    unspaced = len(words) <= 2 and not text.isascii() and len(text) > _FEW_LETTERS and _dense(text)
    return len(words) > _FEW_WORDS or unspaced


def _dense(text: str) -> bool:
    """Whether a text is in a script that writes words together, by its letters being far beyond the alphabets."""
    return any("\u3040" <= c <= "\u9fff" or "\u0e00" <= c <= "\u0eff" for c in text)


def given(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Return the shapes that say where something is, each once.

    Left out are those that leave it open: not a number, the very corner or beyond it, the first pixel, a box without
    any area.
    """
    kept = []
    for one in shapes:
        if any(math.isnan(n) for n in one) or all(n <= 0 for n in one):
            continue
        flat = len(one) == 4 and (one[0] == one[2] or one[1] == one[3])
        if (flat and not any(map(math.isinf, one))) or (len(one) == 4 and all(n in (-1, 0, 1) for n in one)):
            continue
        kept.append(one)
    return tuple(dict.fromkeys(kept[:_MOST_SHAPES]))
