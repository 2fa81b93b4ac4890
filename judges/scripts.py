"""Which scripts a text is written in, by the Unicode blocks of its letters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

_BLOCKS: tuple[tuple[int, int, str], ...] = (
    (0x41, 0x5B, "Latn"), (0x61, 0x7B, "Latn"), (0xC0, 0x250, "Latn"), (0x250, 0x2B0, "Latn"), (0x370, 0x400, "Grek"),
    (0x400, 0x530, "Cyrl"), (0x531, 0x590, "Armn"), (0x5D0, 0x5F5, "Hebr"), (0x620, 0x700, "Arab"),
    (0x750, 0x780, "Arab"), (0x780, 0x7C0, "Thaa"), (0x7C0, 0x800, "Nkoo"), (0x8A0, 0x900, "Arab"),
    (0x900, 0x980, "Deva"), (0x980, 0xA00, "Beng"), (0xA00, 0xA80, "Guru"), (0xA80, 0xB00, "Gujr"),
    (0xB00, 0xB80, "Orya"), (0xB80, 0xC00, "Taml"), (0xC00, 0xC80, "Telu"), (0xC80, 0xD00, "Knda"),
    (0xD00, 0xD80, "Mlym"), (0xD80, 0xE00, "Sinh"), (0xE00, 0xE80, "Thai"), (0xE80, 0xF00, "Laoo"),
    (0xF00, 0x1000, "Tibt"), (0x1000, 0x10A0, "Mymr"), (0x10A0, 0x1100, "Geor"), (0x1100, 0x1200, "Hang"),
    (0x1200, 0x13A0, "Ethi"), (0x1780, 0x1800, "Khmr"), (0x1800, 0x18B0, "Mong"), (0x1C80, 0x1C90, "Cyrl"),
    (0x1E00, 0x1F00, "Latn"), (0x1F00, 0x2000, "Grek"), (0x2D30, 0x2D80, "Tfng"), (0x2D80, 0x2DE0, "Ethi"),
    (0x3041, 0x3100, "Kana"), (0x3130, 0x3190, "Hang"), (0x31F0, 0x3200, "Kana"), (0x3400, 0x4DC0, "Hani"),
    (0x4E00, 0xA000, "Hani"), (0xAC00, 0xD7B0, "Hang"), (0xF900, 0xFB00, "Hani"), (0xFB50, 0xFE00, "Arab"),
    (0xFE70, 0xFEFF, "Arab"), (0x1E900, 0x1E960, "Adlm"), (0x20000, 0x32000, "Hani"),
)  # fmt: skip
_STARTS = np.array([b[0] for b in _BLOCKS], dtype=np.uint32)
_ENDS = np.array([b[1] for b in _BLOCKS], dtype=np.uint32)
_NAMES = sorted({b[2] for b in _BLOCKS})
_INDEX = np.array([_NAMES.index(b[2]) for b in _BLOCKS], dtype=np.intp)

OF_LANGUAGE: Mapping[str, frozenset[str]] = {
    "Hans": frozenset({"Hani"}),
    "Hant": frozenset({"Hani"}),
    "Jpan": frozenset({"Kana", "Hani"}),
    "Kore": frozenset({"Hang"}),
}
"""ISO 15924 codes that stand for several of the scripts told apart here, or for one by another name."""


def codepoints(text: str) -> NDArray[np.uint32]:
    """Return the code points of a text; lone surrogates are kept as they are."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint32)


def script_counts(text: str) -> dict[str, int]:
    """Return how many letters of each script a text has, most first."""
    points = codepoints(text)
    if not len(points):
        return {}
    block = np.searchsorted(_STARTS, points, side="right") - 1
    inside = (block >= 0) & (points < _ENDS[block])
    counts = np.bincount(_INDEX[block[inside]], minlength=len(_NAMES))
    return {_NAMES[i]: int(counts[i]) for i in np.argsort(-counts, kind="stable") if counts[i]}


def scripts_of(script: str) -> frozenset[str]:
    """Return the scripts, as told apart here, that a language with this ISO 15924 code is written in."""
    return OF_LANGUAGE.get(script, frozenset({script}))
