"""How places are written in running text: brackets, axes, corners, labels, tags, the dialects of single models.

Shares come out as shares, whatever sign they have: ``11.9%`` as 0.119. What a dialect writes with y first comes out
with x first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Shape = tuple[float, ...]
"""Two numbers, x and y, or four: left, top, right, bottom."""

_S = r"\s{0,8}"  # bounded, as all that repeats here: an endless answer must not take endless time
_UNIT = rf"(?:{_S}(?:px|pixels?|%|‰))?"
_N = rf"([-+]?\d{{1,15}}(?:\.\d{{0,15}})?{_UNIT})"
_GAP = rf"{_S}[,;\s]{_S}"
_PAIR = rf"{_N}{_GAP}{_N}"
_OPEN, _CLOSE = r"[\[(]{1,3}", r"[\])}]{1,3}"
_IS = r"[\"'*_]{0,3}\s{0,3}[=:]\s{0,3}[\"'*_]{0,3}"
_X, _Y = r"(?<![^\W\d_])[xхس]", r"(?<![a-z])[yуص]"  # Cyrillic and Arabic too

BRACKETED = re.compile(rf"{_OPEN}{_S}{_PAIR}(?:{_S}[\])]?{_GAP}[\[(]?{_S}{_PAIR})?{_S}{_CLOSE}")
TAGGED = re.compile(
    rf"<[a-z][\w-]{{0,20}}[^<>\d]{{0,40}}>{_S}(?:{_OPEN}{_S})?{_PAIR}(?:{_GAP}{_PAIR})?{_S}(?:{_CLOSE}{_S})?"
    r"</[a-z][\w-]{0,20}>",
    re.IGNORECASE,
)
BARE = re.compile(rf"{_S}{_PAIR}(?:{_GAP}{_PAIR})?{_S}\.?{_S}")
BEGUN = re.compile(rf"{_OPEN}{_S}[-+]?\d[\d.,\s]*")
AFTER_KEY = re.compile(rf"[\[(\s]{{0,8}}{_PAIR}(?:[\])]{{0,2}}{_GAP}[\[(]{{0,2}}{_S}{_PAIR})?(?={_S}[\])}}])")
AT_THE_END = re.compile(rf"[\[(\s]{{0,8}}{_PAIR}(?:[\])]{{0,2}}{_GAP}[\[(]{{0,2}}{_S}{_PAIR})?\s*")
"""Numbers with nothing behind them, of which the last may be cut."""

_AXES = re.compile(rf"{_X}{_IS}{_N}[^\d\n]{{0,12}}?(?:\n\W{{0,6}})?{_Y}{_IS}{_N}", re.IGNORECASE)
_CORNERS = re.compile(
    rf"\b(?:left|x1|xmin|x_min)\W{{0,4}}{_N}\D{{1,12}}?\b(?:top|y1|ymin|y_min)\W{{0,4}}{_N}"
    rf"\D{{1,12}}?\b(?:right|x2|xmax|x_max)\W{{0,4}}{_N}\D{{1,12}}?\b(?:bottom|y2|ymax|y_max)\W{{0,4}}{_N}",
    re.IGNORECASE,
)
_WORD = rf"([^\s\d:=,;.]{{1,20}}){_IS}{_N}"
_LABELLED = re.compile(rf"{_WORD}\W{{1,6}}{_WORD}\W{{1,6}}{_WORD}\W{{1,6}}{_WORD}")
_LINE = re.compile(
    rf"^[^\w\n]{{0,6}}[^\d\n:=]{{1,40}}[:=][\s*_`]{{0,4}}{_PAIR}(?:{_GAP}{_PAIR})?[*_`.]{{0,4}}[ \t]{{0,8}}$",
    re.MULTILINE,
)
_ROW = re.compile(rf"^[ \t]{{0,4}}\|{_S}{_N}{_S}\|{_S}{_N}{_S}(?:\|{_S}{_N}{_S}\|{_S}{_N}{_S})?\|", re.MULTILINE)
_PATTERNS = (TAGGED, _CORNERS, _LABELLED, _AXES, BRACKETED, _LINE, _ROW)

_POINTS = re.compile(r"<points?\b([^<>]{1,400})>", re.IGNORECASE)
_POINTED = re.compile(rf"\bx\d{{0,2}}\s?=\s?[\"']?{_N}[\"']?[\s,]{{1,4}}y\d{{0,2}}\s?=\s?[\"']?{_N}", re.IGNORECASE)
_LOCATED = re.compile(r"<loc(\d{4})><loc(\d{4})>(?:<loc(\d{4})><loc(\d{4})>)?")

_MOST_LOCATED, _PERCENT = 1024, 100

_ANSWER = re.compile(
    r"answer|respuesta|r[ée]ponse|ответ|الإجابة|الجواب|उत्तर|जवाब|答案|答え|정답|답변?|jawaban|jibu|amsa|ìdáhùn|idahun|\\boxed",
    re.IGNORECASE,
)
"""The word before what a working-out comes to."""

_COMMENT = re.compile(r"/\*[^*]{0,80}\*/")
_RUN = re.compile(r"(?<![\w.,])[-+]?\d[\d.,;%+ \t-]{1,80}")
_DECIMAL = re.compile(r"(?<![\d.,])(\d{1,4}),(\d{1,6})(?![\d.]|,\d)")


def number(written: str) -> float:
    """Return a number with its unit, those in hundredths and thousandths as shares.

    Raises:
        ValueError: where it is none.
    """
    text = written.strip().lower()[:400]
    for unit, share in (("pixels", 1), ("pixel", 1), ("px", 1), ("%", _PERCENT), ("‰", 1000)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) / share
    return float(text)


def shape(match: re.Match[str]) -> Shape:
    """Return the numbers of a match."""
    return tuple(number(group) for group in match.groups() if group is not None)


def decimal_points(text: str) -> str:
    """Return a text with decimal commas as points, and without comments, place by place.

    A comma is a decimal one between numbers that semicolons part, or where the others have a space behind and the
    numbers would else be no two or four: ``[76,5, 222]``.
    """
    uncommented = _COMMENT.sub(lambda match: " " * len(match.group()), text)
    return _RUN.sub(_pointed, uncommented)


def _pointed(match: re.Match[str]) -> str:
    run = match.group()
    if ";" in run:
        return _DECIMAL.sub(_point, run)
    count = len([part for part in run.split(",") if part.strip()])
    tight = any(len(decimals) <= 2 for _, decimals in _DECIMAL.findall(run))
    loose = re.search(r",\s", run) is not None
    return _DECIMAL.sub(_point, run) if tight and loose and count not in (2, 4) else run


def _point(match: re.Match[str]) -> str:
    whole, decimals = match.groups()
    return f"{whole}.{decimals}" if len(decimals) <= 2 or not int(whole) else match.group()


def in_prose(text: str) -> tuple[list[Shape], str]:
    """Return the places in running text, dialects first, and the text without them."""
    shapes: list[Shape] = []
    for match in _LOCATED.finditer(text):
        y, x, *more = (int(group) / _MOST_LOCATED for group in match.groups() if group is not None)
        shapes.append((x, y, *reversed(more)))
    rest = _LOCATED.sub(" ", text)
    for tag in _POINTS.finditer(rest):
        shapes += [_percent(pointed) for pointed in _POINTED.finditer(tag.group(1))]
    rest = _POINTS.sub(lambda tag: " " if _POINTED.search(tag.group(1)) else tag.group(), rest)
    for pattern in _PATTERNS:
        found = [_labelled(match) if pattern is _LABELLED else shape(match) for match in pattern.finditer(rest)]
        if found:
            shapes += found
            rest = pattern.sub(" ", rest)
    return shapes, rest


def last_answer(text: str) -> list[Shape]:
    """Return the places behind the last word for an answer; none where there is no such word, or no place behind it."""
    for match in reversed(list(_ANSWER.finditer(text))[-20:]):
        shapes, _ = in_prose(text[match.end() :])
        if shapes:
            return shapes
    return []


def _percent(match: re.Match[str]) -> Shape:
    """Return a point in the attributes of a tag: with decimals and not over 100 they are percent, as Molmo has them."""
    x, y = shape(match)
    written = "".join(match.groups())
    percent = "." in written and "%" not in written and 0 <= x <= _PERCENT and 0 <= y <= _PERCENT and max(x, y) > 1
    return (x / _PERCENT, y / _PERCENT) if percent else (x, y)


def _labelled(match: re.Match[str]) -> Shape:
    """Return four numbers with a word before each, in any language; of width and height only in ours."""
    labels, numbers = match.groups()[::2], [number(group) for group in match.groups()[1::2]]
    return corners(numbers) if labels[2].strip("\"'*_").lower() in ("w", "width") else tuple(numbers)


def corners(numbers: Sequence[float]) -> Shape:
    """Return left, top, right and bottom of left, top, width and height."""
    left, top, width, height = numbers
    return left, top, left + width, top + height
