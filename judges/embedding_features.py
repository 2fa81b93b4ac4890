"""What the embedding judge reads of an answer: one window of text, and a few marks of its form. Never the prompt."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from .normalise import strip_thinking

OPENING, END = 280, 120
"""Width of the opening and of the end of a long answer, which make up the window; a shorter answer is read whole."""

_LOOKED_AT = 1500
_SPACE = re.compile(r"\s+")
_ITEM = re.compile(r"[-•*–]|\d{1,2}[.)、]")
_QUOTED = re.compile(r'["“«「].{20,}')
_STEPS = (40, 80, 120, 180, 260, 400, 700, 1200, 2500)
_QUESTIONS = "?？؟፧"
_CLEAN: dict[int, str | None] = {
    c: None for c in [*range(0x09), *range(0x0E, 0x20), 0x7F, 0xAD, 0xFEFF, *range(0x200B, 0x2010)]
}
_CLEAN |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2060, 0x2070)])
_CLEAN |= dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_WIDE = re.compile("[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff]+")

FORM = len(_STEPS) + 10
"""How many marks of form there are."""


def clean(text: str) -> str:
    """Return text as the engine can take it: no lone surrogates, NUL or invisible characters, single spaces."""
    return _SPACE.sub(" ", text.translate(_CLEAN)).strip()


def width(text: str) -> int:
    """Return the length of a text in letters of an alphabet; a letter of Han, Kana or Hangul counts for two."""
    return len(text) + sum(map(len, _WIDE.findall(text)))


def head(text: str, limit: int) -> str:
    """Return the longest beginning of a text that is no wider than `limit`."""
    text = text[:limit]
    while width(text) > limit:
        text = text[: len(text) - (width(text) - limit + 1) // 2]
    return text


def tail(text: str, limit: int) -> str:
    """Return the longest end of a text that is no wider than `limit`."""
    return head(text[: -limit - 1 : -1], limit)[::-1]


def window(response: str) -> str:
    """Return what is embedded of a response: its opening and its end, without thinking; at most some 300 letters."""
    answer = strip_thinking(response).text
    if len(answer) <= 2 * _LOOKED_AT:
        text = clean(answer)
        if width(text) <= OPENING + END:
            return text
        return f"{head(text, OPENING)} … {tail(text, END)}"
    return f"{head(clean(answer[:_LOOKED_AT]), OPENING)} … {tail(clean(answer[-_LOOKED_AT:]), END)}"


def form(response: str) -> NDArray[np.float32]:
    """Return the marks of a response's form, `FORM` numbers of about one: length, questions, lists, code, quotes."""
    answer = strip_thinking(response).text
    opening = clean(answer[: 2 * _LOOKED_AT])
    end = clean(answer[-_LOOKED_AT:])
    size = width(opening) + max(0, len(answer) - 2 * _LOOKED_AT)
    lines = [line.strip() for line in answer[: 4 * _LOOKED_AT].split("\n") if line.strip()]
    items = sum(1 for line in lines if _ITEM.match(line))
    asked = sum(end.count(mark) for mark in _QUESTIONS)
    marks = [
        np.log1p(size) / 3 - 1.7,
        *(float(size > step) for step in _STEPS),
        float(end[-1:] in _QUESTIONS and bool(end)),
        min(asked, 3) / 3,
        min(items, 5) / 5,
        float(items >= 2),
        float("```" in answer[: 4 * _LOOKED_AT]),
        min(len(lines), 8) / 8,
        float(opening[:1] in '"「«#“' and bool(opening)),
        float(bool(_QUOTED.search(opening))),
        float(":" in opening[:200] or "：" in opening[:200]),
    ]
    return np.array(marks, dtype=np.float32)
