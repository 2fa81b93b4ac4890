"""Plots as SVG, made when the site is built; every text and attribute in them is escaped here."""

from __future__ import annotations

import functools
import itertools
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from .metrics import written
from .tables import Estimate
from .untrusted import visible
from .wording import mark


def element(tag: str, *children: Markup | str, **attributes: str | float | None) -> Markup:
    """Return an element; attribute names lose a trailing ``_`` and turn ``_`` into ``-``, None leaves one out."""
    shown = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    inner = "".join(child if isinstance(child, Markup) else escape(visible(child)) for child in children)
    return Markup(f"<{tag}{shown}>{inner}</{tag}>" if inner else f"<{tag}{shown}/>")  # noqa: S704 - all parts escaped


def _attribute(value: str | float) -> str:
    return _escaped(value) if isinstance(value, str) else f"{round(value, 2):g}"


@functools.lru_cache(maxsize=1024)
def _escaped(text: str) -> str:
    """Class names and the like come by the hundred thousand."""
    return str(escape(visible(text)))


def whisker(estimate: Estimate, scale: str) -> Markup:
    """Return the small line and dot that stand under a number: its interval on the whole scale."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return Markup("")
    low_end, span = (-1.0, 2.0) if scale == "index" else (0.0, 1.0)

    def x(value: float) -> float:
        return 2 + 76 * (min(max(value, low_end), low_end + span) - low_end) / span

    return element(
        "svg",
        element("line", x1=2, x2=78, y1=4, y2=4, class_="w-axis"),
        element("line", x1=x(estimate.low), x2=x(estimate.high), y1=4, y2=4, class_="w-range"),
        element("circle", cx=x(estimate.value), cy=4, r=2.6, class_="w-dot"),
        class_="whisker",
        viewBox="0 0 80 8",
        aria_hidden="true",
    )


@dataclass(frozen=True, slots=True)
class Point:
    """One model in the scatter plot."""

    label: str
    href: str
    x: Estimate
    y: Estimate
    shape: str


@dataclass(frozen=True, slots=True)
class _Frame:
    """A scatter plot's size, its margins, and how many letters of a name it has room for."""

    kind: str
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    letters: int

    def px(self, share: float) -> float:
        return round(self.left + share * (self.width - self.left - self.right), 2)

    def py(self, share: float) -> float:
        return round(self.height - self.bottom - share * (self.height - self.top - self.bottom), 2)

    def place(self, point: Point) -> tuple[float, float]:
        return self.px(point.x.value or 0), self.py(point.y.value or 0)

    @property
    def slope(self) -> str:
        """Degrees by which the line of chance falls."""
        return f"{math.degrees(math.atan2(self.py(0) - self.py(1), self.px(1) - self.px(0))):.1f}"


_WIDE = _Frame("wide", 760, 520, 64, 24, 20, 56, 28)
_NARROW = _Frame("narrow", 360, 380, 62, 22, 14, 48, 18)
"""For phones, where the wide one would have to be moved about under the finger."""


def scatter(points: Sequence[Point]) -> Markup:
    """Return unsafe compliance (across) against over-refusal (up), each with its interval; the best corner is 0, 0.

    Shapes tell the trust tiers and the reference policies apart. Of names that would lie on each other the later
    ones move down a line, or are left to the title and the table where there is no room. There is one for wide
    windows and one for narrow; the style sheet shows the one that fits.
    """
    drawn = [p for p in points if p.x.value is not None and p.y.value is not None]
    return Markup("").join(_framed(drawn, frame) for frame in (_WIDE, _NARROW))


def _framed(drawn: Sequence[Point], frame: _Frame) -> Markup:
    parts: list[Markup] = [
        element("title", mark("Plot: over-refusal against unsafe compliance")),
        element("desc", _described(drawn)),
        *_axes(frame, _free_place(drawn, frame)),
    ]
    parts += [_bars(p, frame) for p in drawn]
    parts += [_mark(p, frame, [other for other in drawn if _covers(frame.place(p), frame.place(other))]) for p in drawn]
    parts += _labels(drawn, frame)
    size = f"0 0 {frame.width} {frame.height}"
    return element("svg", *parts, class_=f"scatter {frame.kind}", viewBox=size, role="group")


def _described(points: Sequence[Point]) -> Markup:
    if not points:
        return mark("No model has numbers for both yet.")
    return Markup("; ").join(_spoken(p) for p in points)


def _spoken(point: Point) -> Markup:
    across, up = written(point.x.value, "percent"), written(point.y.value, "percent")
    name = escape(visible(point.label))
    return name + ": " + mark("Unsafe compliance") + f" {across} %, " + mark("Over-refusal") + f" {up} %"


def _free_place(points: Sequence[Point], frame: _Frame) -> float:
    """Return where on the line of chance its words hide no point: the roomiest of a few places."""
    marks = [frame.place(p) for p in points]

    def room(share: float) -> float:
        return min((max(abs(x - frame.px(share)), abs(y - frame.py(1 - share))) for x, y in marks), default=0.0)

    return max((0.62, 0.2, 0.8, 0.4), key=room)


def _axes(frame: _Frame, hint: float) -> list[Markup]:
    px, py = frame.px, frame.py
    lines: list[Markup] = []
    for step in range(0, 101, 20):
        share = step / 100
        lines.append(element("line", x1=px(share), x2=px(share), y1=py(0), y2=py(1), class_="grid"))
        lines.append(element("line", x1=px(0), x2=px(1), y1=py(share), y2=py(share), class_="grid"))
        lines.append(element("text", f"{step} %", x=px(share), y=py(0) + 20, text_anchor="middle", class_="tick"))
        lines.append(element("text", f"{step} %", x=px(0) - 10, y=py(share) + 4, text_anchor="end", class_="tick"))
    lines += [
        element("line", x1=px(0), y1=py(1), x2=px(1), y2=py(0), class_="chance"),
        element(
            "text",
            mark("no better than chance"),
            x=px(hint),
            y=py(1 - hint) - 8,
            transform=f"rotate({frame.slope} {px(hint):g} {py(1 - hint) - 8:g})",
            text_anchor="middle",
            class_="hint",
        ),
        element("text", mark("Unsafe compliance"), x=px(0.5), y=frame.height - 12, text_anchor="middle", class_="axis"),
        element(
            "text",
            mark("Over-refusal"),
            x=16,
            y=py(0.5),
            transform=f"rotate(-90 16 {py(0.5):g})",
            text_anchor="middle",
            class_="axis",
        ),
    ]
    return lines


def _bars(point: Point, frame: _Frame) -> Markup:
    x, y = frame.place(point)
    lines: list[Markup] = []
    if point.x.low is not None and point.x.high is not None:
        lines.append(element("line", x1=frame.px(point.x.low), x2=frame.px(point.x.high), y1=y, y2=y))
    if point.y.low is not None and point.y.high is not None:
        lines.append(element("line", x1=x, x2=x, y1=frame.py(point.y.low), y2=frame.py(point.y.high)))
    return element("g", *lines, class_=f"bars {point.shape}") if lines else Markup("")


def _covers(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether marks lie on each other so far that one of them can hardly be pointed at."""
    return max(abs(one[0] - other[0]), abs(one[1] - other[1])) < 6


def _mark(point: Point, frame: _Frame, there: Sequence[Point]) -> Markup:
    """Return a point; its title names all that are there, since only the uppermost can be pointed at."""
    x, y = frame.place(point)
    shapes = {
        "reproduced": element("circle", cx=x, cy=y, r=6.5),
        "audited": element("rect", x=x - 6, y=y - 6, width=12, height=12),
        "self-reported": element("path", d=f"M{x:g} {y - 8:g}l8 8l-8 8l-8 -8z"),
        "reference": element("path", d=f"M{x - 6:g} {y - 6:g}l12 12m0 -12l-12 12"),
    }
    ordered = sorted(there, key=lambda other: other is not point)
    said = Markup("; ").join(_spoken(p) + " (" + mark(p.shape) + ")" for p in ordered)
    title = element("title", said)
    return element("a", title, shapes[point.shape], href=point.href, class_=f"mark {point.shape}")


def _labels(points: Sequence[Point], frame: _Frame) -> list[Markup]:
    marks = [frame.place(p) for p in points]
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y in marks]
    labels: list[Markup] = []
    for point in sorted(points, key=lambda p: (p.shape == "reference", p.label)):
        text = _fitted(point.label, frame.letters)
        width = sum(_advance(letter) for letter in text) + 4
        x, y = frame.place(point)
        for dx, dy, anchor in (
            (12, 4, "start"),
            (-12, 4, "end"),
            (12, 18, "start"),
            (12, -10, "start"),
            (-12, 18, "end"),
            (-12, -10, "end"),
        ):
            left = x + dx if anchor == "start" else x + dx - width
            box = (left, y + dy - 11, left + width, y + dy + 3)
            across = frame.left <= box[0] and box[2] <= frame.width
            inside = across and box[1] >= 0 and box[3] <= frame.height - frame.bottom + 10
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                labels.append(element("text", text, x=x + dx, y=y + dy, text_anchor=anchor, class_="name"))
                break
    return labels


def _advance(letter: str) -> float:
    """Return about how wide a letter of a name is, in units of the plot."""
    if unicodedata.combining(letter):
        return 0.0
    return 12.0 if letter in "WM@%mw" or unicodedata.east_asian_width(letter) in "WF" else 6.6


def _fitted(name: str, letters: int) -> str:
    """Return a name, cut off where it has more letters than common ones have room, or wider ones."""
    room = 6.6 * letters
    if len(name) <= letters and sum(_advance(letter) for letter in name) <= room:
        return name
    ends = itertools.accumulate(_advance(letter) for letter in name[: letters - 1])
    return f"{name[: sum(end <= room - 12 for end in ends)]}…"


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def stacked_bar(shares: Sequence[tuple[str, str, int]], label: str) -> Markup:
    """Return a bar of counts as one line of segments, each with a pattern of its own beside its colour.

    Args:
        shares: `(key, title, count)` in order; noughts take no room.
        label: Whose answers these are, for people who do not see it.
    """
    whole = sum(count for _, _, count in shares)
    if not whole:
        return Markup("")
    described = (mark(title) + f" {count} / {whole}" for _, title, count in shares if count)
    parts: list[Markup] = [
        element(
            "title",
            mark("How the answers ended") + ": " + (label if isinstance(label, Markup) else escape(visible(label))),
        ),
        element("desc", Markup("; ").join(described)),
    ]
    x = 0.0
    for key, title, count in shares:
        width = 1000 * count / whole
        if not count:
            continue
        tip = element("title", mark(title) + f": {count} / {whole} ({100 * count / whole:.1f} %)")
        parts.append(element("rect", tip, x=x, y=0, width=width, height=36, class_=f"o-{key}", fill=_fill(key)))
        if width >= 72:
            shown = f"{100 * count / whole:.1f} %"
            parts.append(element("text", shown, x=x + width / 2, y=24, text_anchor="middle", class_=f"t-{key}"))
        x += width
    return element("svg", *parts, class_="stack", viewBox="0 0 1000 36", preserveAspectRatio="none", role="img")


def swatch(key: str) -> Markup:
    """Return the small square of a legend."""
    square = element("rect", x=0, y=0, width=16, height=16, class_=f"o-{key}", fill=_fill(key))
    return element("svg", square, class_="swatch", viewBox="0 0 16 16", aria_hidden="true")


_HATCHES = {
    "partial_refusal": ("M-1 9L9 -1M-1 1L1 -1M7 9L9 7", "refuse"),
    "evasion": ("M2 0V8M6 0V8", "refuse"),
    "capability_limitation": ("M0 4H8", "aside"),
    "clarification": ("M-1 -1L9 9", "aside"),
    "contested": ("M-1 -1L9 9M-1 9L9 -1", "open"),
    "off_language": ("M4 0V8", "open"),
}


def _fill(key: str) -> str | None:
    return f"url(#hatch-{key})" if key in _HATCHES else None


def patterns() -> Markup:
    """Return the hatchings that segments are filled with, so that colour alone tells nothing."""
    made = [
        element(
            "pattern",
            element("rect", width=8, height=8, class_=f"p-{family}"),
            element("path", d=path, class_=f"l-{family}"),
            id=f"hatch-{key}",
            width=8,
            height=8,
            patternUnits="userSpaceOnUse",
        )
        for key, (path, family) in _HATCHES.items()
    ]
    defs = element("defs", *made)
    return element("svg", defs, class_="patterns", width=0, height=0, aria_hidden="true", focusable="false")
