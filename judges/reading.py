"""One answer, read once for all judges: thinking stripped, folded, language found, quotations marked."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from refusalatlas.records import Exchange

from .language_id import detect, romanised
from .normalise import Answer, View, strip_thinking, view
from .quotation import Spans, quoted_spans

VERSION = 4
"""Raised whenever an answer is read otherwise: thinking, folding, quotations, language, condition. Panels hash it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What judges share about one answer.

    Attributes:
        answer: The verbatim answer without thinking.
        view: What is read of it, folded.
        quoted: Quotations, code and block quotes in the folded text.
        language: Detected language, or None.
        confidence: How sure that is.
        romanised: Whether it seems to be in the language asked for, but in Latin letters that are not that language's.
    """

    answer: Answer
    view: View
    quoted: Spans
    language: str | None
    confidence: float
    romanised: bool


@functools.lru_cache(maxsize=256)
def _read(response: str, expected: str | None) -> Reading:
    answer = strip_thinking(response)
    seen = view(answer.text)
    quoted = quoted_spans(seen.text)
    prose = quoted.cut_from(seen.text)
    enough = len(prose.strip()) >= 30
    sample = prose if enough else seen.text
    language, sure = detect(sample, expected)
    sure = sure if enough or not quoted.starts else sure / 2
    return Reading(answer, seen, quoted, language, sure, romanised(sample, expected, language, sure))


def read(exchange: Exchange) -> Reading:
    """Return the reading of an exchange's answer; judges of one panel share it."""
    return _read(exchange.response, exchange.language)
