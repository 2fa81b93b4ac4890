"""Hashed character n-grams of the opening and the end of an answer, for many answers at once.

The hash is arithmetic on code points in 64 bits, the same in every process and on every platform.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .normalise import View
from .scripts import codepoints

BITS = 17
BUCKETS = 1 << BITS
OPENING, START, END = 300, 70, 200
"""Letters of the opening, of its first words (which count apart), and of the end."""

_LONGEST = (6, 4, 4, 5)
"""Longest n-gram of each zone; the shortest has two letters."""

_BASE = np.uint64(0x100000001B3)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_LENGTHS = (40, 90, 180, 350, 700, 1400, 2800)


def zones(view: View) -> tuple[str, str, str, str]:
    """Return the parts of an answer that the features are made of: first words, opening, end, form.

    Spaces stand around them, so that n-grams know where words begin. The form is a word of its own alphabet for the
    length and for what the answer looks like.
    """
    text = view.text.strip()
    flat = text.replace("\n", " ")
    end = flat[-END:] if len(flat) > OPENING else ""
    return f" {flat[:START]} ", f" {flat[:OPENING]} ", f" {end} ", _form(text, view.length)


def _form(text: str, length: int) -> str:
    marks = [f"l{sum(length >= step for step in _LENGTHS)}"]
    lines = text.split("\n")
    marks.append(f"p{min(len(lines), 6)}")
    listed = sum(line[:1] in "-•*" or line[:1].isdigit() for line in lines)
    marks.append(f"i{min(listed, 4)}")
    marks.append(f"q{int(text[-2:].strip()[-1:] in ('?', '؟'))}{min(text.count('?') + text.count('؟'), 3)}")
    marks.append(f"c{int('```' in text)}{int(text[:1] in {chr(34), '「', '«', '#'})}")
    return "".join(f"\x01{mark}\x02" for mark in marks)


def hashed(parts: Sequence[Sequence[str]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and buckets of the n-grams that each answer has, sorted, each once.

    Args:
        parts: For each answer the strings of its zones; each zone has n-grams of its own.
    """
    keys: list[NDArray[np.uint64]] = []
    for zone in range(len(parts[0]) if parts else 0):
        texts = [codepoints(answer[zone]) for answer in parts]
        sizes = np.array([len(text) for text in texts], dtype=np.intp)
        rows = np.repeat(np.arange(len(texts), dtype=np.uint64), sizes)
        points = np.concatenate(texts).astype(np.uint64) + np.uint64(1)
        rolling = points.copy()
        for order in range(2, _LONGEST[zone] + 1):
            if len(points) < order:
                break
            rolling = rolling[:-1] * _BASE + points[order - 1 :]
            same = rows[: len(rolling)] == rows[order - 1 :]
            salted = (rolling + np.uint64(zone * 8 + order)) * _MIX
            salted ^= salted >> np.uint64(29)
            buckets = (salted * _MIX) >> np.uint64(64 - BITS)
            keys.append(((rows[: len(rolling)] << np.uint64(BITS)) | buckets)[same])
    if not keys:
        empty = np.zeros(0, dtype=np.intp)
        return empty, empty
    # Sorting and comparing neighbours is what `np.unique` does, less its copies.
    found = np.sort(np.concatenate(keys))
    found = found[np.concatenate(([True], found[1:] != found[:-1]))] if len(found) else found
    return (found >> np.uint64(BITS)).astype(np.intp), (found & np.uint64(BUCKETS - 1)).astype(np.intp)


def scores(
    parts: Sequence[Sequence[str]], weights: NDArray[np.float32], bias: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the linear scores of answers, one row each; each answer is scaled to length one."""
    rows, buckets = hashed(parts)
    counts = np.bincount(rows, minlength=len(parts)).astype(np.float64)
    scale = 1.0 / np.sqrt(np.maximum(counts, 1.0))
    result = np.empty((len(parts), weights.shape[1]), dtype=np.float64)
    for label in range(weights.shape[1]):
        result[:, label] = np.bincount(rows, weights=weights[buckets, label], minlength=len(parts))
    return np.asarray(result * scale[:, None] + bias, dtype=np.float64)


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities, row by row."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True), dtype=np.float64)
