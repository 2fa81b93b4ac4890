"""Letters and pieces of texts: the script they are in, and how alike two texts are."""

from __future__ import annotations

import functools
import re
import unicodedata

DENSE = frozenset({"Hans", "Hant", "Jpan", "Kore", "Hang"})
"""Scripts that say much in one sign, so that two signs tell as much as four letters elsewhere."""

_NAMES: dict[str, tuple[str, ...]] = {
    "Hans": ("CJK",),
    "Hant": ("CJK",),
    "Jpan": ("CJK", "HIRAGANA", "KATAKANA"),
    "Kore": ("HANGUL", "CJK"),
    "Hang": ("HANGUL",),
    "Latn": ("LATIN",),
    "Cyrl": ("CYRILLIC",),
    "Arab": ("ARABIC",),
    "Deva": ("DEVANAGARI",),
    "Hebr": ("HEBREW",),
    "Ethi": ("ETHIOPIC",),
    "Beng": ("BENGALI",),
    "Grek": ("GREEK",),
    "Thai": ("THAI",),
    "Taml": ("TAMIL",),
    "Telu": ("TELUGU",),
    "Gujr": ("GUJARATI",),
    "Guru": ("GURMUKHI",),
    "Knda": ("KANNADA",),
    "Mlym": ("MALAYALAM",),
    "Orya": ("ORIYA",),
    "Geor": ("GEORGIAN",),
    "Armn": ("ARMENIAN",),
    "Mymr": ("MYANMAR",),
    "Khmr": ("KHMER",),
    "Laoo": ("LAO",),
    "Sinh": ("SINHALA",),
    "Tibt": ("TIBETAN",),
    "Mong": ("MONGOLIAN",),
    "Tfng": ("TIFINAGH",),
    "Nkoo": ("NKO",),
    "Adlm": ("ADLAM",),
    "Syrc": ("SYRIAC",),
    "Thaa": ("THAANA",),
    "Olck": ("OL",),
    "Cher": ("CHEROKEE",),
    "Cans": ("CANADIAN",),
    "Vaii": ("VAI",),
    "Mtei": ("MEETEI",),
    "Yiii": ("YI",),
}


def knows_script(script: str) -> bool:
    """Whether the letters of an ISO 15924 script can be told from others here."""
    return script in _NAMES


@functools.lru_cache(maxsize=8192)
def _script_word(letter: str) -> str:
    return unicodedata.name(letter, "").split(" ", 1)[0].split("-", 1)[0]


def script_share(text: str, script: str) -> float | None:
    """Return which share of a text's letters are of a script, 0 to 1; None where it has no letters."""
    letters = [c for c in text if c.isalpha()]
    if not letters:
        return None
    return sum(_script_word(c) in _NAMES[script] for c in letters) / len(letters)


_LOOKALIKES = frozenset({"LATIN", "CYRILLIC", "GREEK"})


def mixed_word(text: str) -> str | None:
    """Return a word that has letters of two scripts whose letters look alike, or None."""
    for word in re.findall(r"[^\W\d_]{2,}", text):
        if len({_script_word(letter) for letter in word} & _LOOKALIKES) > 1:
            return str(word)
    return None


def normal(text: str) -> str:
    """Return a text in lower case, with nothing but letters, marks, digits and single spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in folded).split())


def grams(text: str, size: int) -> frozenset[str]:
    """Return the runs of `size` characters in a text, spaces among them."""
    plain = normal(text)
    return frozenset(plain[i : i + size] for i in range(max(1, len(plain) - size + 1)))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how alike two sets of runs are, 0 to 1 (Jaccard 1901)."""
    both = len(one & other)
    return both / (len(one) + len(other) - both)


def containment(one: frozenset[str], other: frozenset[str]) -> float:
    """Return which share of the smaller set the other one has too, 0 to 1."""
    return len(one & other) / min(len(one), len(other))
