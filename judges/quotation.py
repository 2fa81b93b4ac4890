"""What in an answer is somebody else's speech: quotations, block quotes, code, and texts written for the user."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

_LONGEST = 1500
_QUOTED = re.compile(
    rf'"[^"\n]{{2,{_LONGEST}}}"|«[^»]{{2,{_LONGEST}}}»|「[^」]{{2,{_LONGEST}}}」|『[^』]{{2,{_LONGEST}}}』'
    rf"|《[^》\n]{{2,80}}》|(?<![^\W\d_])'[^'\n]{{12,300}}'(?![^\W\d_])"
)
_FENCE = re.compile(r"^ ?(```|~~~)", re.MULTILINE)
_BLOCK = re.compile(r"^ ?>.*$", re.MULTILINE)
_INLINE_CODE = re.compile(r"`[^`\n]{1,200}`")
_DIVIDER = re.compile(r"^ ?(?:-{3,}|\*{3,}|={3,}) ?$", re.MULTILINE)
_INTRODUCTION = re.compile(r"[^\n]{3,400}[:：](?=\n)")
_LETTER = re.compile(
    r"\n[^\n]{2,60}[,，،:!！]\n[^\n]{20,}|\[[^\]\n]{2,40}\]|^[^\n:]{3,16}: [^\n]{3,120}\n", re.MULTILINE
)
_OPENERS = '"「『«'


@dataclass(frozen=True, slots=True)
class Spans:
    """Places in a text, in order and disjoint."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def holds(self, position: int) -> bool:
        """Whether a place of the text lies within one of the spans."""
        index = bisect_right(self.starts, position) - 1
        return index >= 0 and position < self.ends[index]

    def cut_from(self, text: str) -> str:
        """Return the text without the spans."""
        if not self.starts:
            return text
        kept, last = [], 0
        for start, end in zip(self.starts, self.ends, strict=True):
            kept.append(text[last:start])
            last = end
        kept.append(text[last:])
        return " ".join(kept)


def quoted_spans(text: str) -> Spans:
    """Return the spans of a folded text that are quotations, code or block quotes; linear, since all are bounded."""
    found = [(m.start(), m.end()) for m in _QUOTED.finditer(text)]
    if "`" in text:
        found += [(m.start(), m.end()) for m in _INLINE_CODE.finditer(text)]
        found += _fenced(text)
    elif "~~~" in text:
        found += _fenced(text)
    if ">" in text:
        found += [(m.start(), m.end()) for m in _BLOCK.finditer(text)]
    if text[:1] and text[0] in _OPENERS and (not found or min(found)[0] > 0):
        # A quotation of several paragraphs that fills the whole answer.
        closing = text.rfind({'"': '"', "「": "」", "『": "』", "«": "»"}[text[0]])
        if closing > 0.6 * len(text):
            found.append((0, closing + 1))
    return _merge(found)


def _fenced(text: str) -> list[tuple[int, int]]:
    marks = [m.start() for m in _FENCE.finditer(text)]
    spans = [(a, b + 3) for a, b in zip(marks[::2], marks[1::2], strict=False)]
    if len(marks) % 2:
        spans.append((marks[-1], len(text)))
    return spans


def _merge(found: list[tuple[int, int]]) -> Spans:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return Spans(tuple(s for s, _ in merged), tuple(e for _, e in merged))


def written_for_user(text: str) -> int | None:
    """Return where a text begins that was written for the user to send or use, or None.

    It is what follows a line that introduces it with a colon, or a dividing line, where it looks like a letter or a
    message; a refusal within is then the user's, not the assistant's.
    """
    divider = _DIVIDER.search(text, 0, 700)
    introduction = _INTRODUCTION.match(text)
    starts = [m.end() for m in (divider, introduction) if m]
    if not starts:
        return None
    start = min(starts)
    return start if divider or _LETTER.search(text, start) else None
