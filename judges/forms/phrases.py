"""How a language says that an input does not hold the answer, and what it calls the months: data of its speakers."""

from __future__ import annotations

import functools
import re
import unicodedata

from refusalatlas.errors import AtlasError
from refusalatlas.languages import load_languages
from refusalatlas.strings import strings

from ..lexicon import Hit, Lexicon, compile_lexicon
from ..normalise import HEAD, TAIL, fold

READ = HEAD + TAIL
"""Characters of a text that are read, of its opening and its end."""

ABSENT = "phantom_absent"
"""Group of ``strings.yaml``: phrases, with ``*`` for a gap, that say so."""

BLANK = "phantom_blank"
"""Group of ``strings.yaml``: what says so standing in a field, where in a longer text it may mean other things."""

GUESS = "phantom_guess"
"""Group of ``strings.yaml``: words such as "maybe", after which a value may follow all the same."""

NOT = "phantom_not"
"""Group of ``strings.yaml``: words that turn a short value into its opposite."""

MONTHS = "phantom_months"
"""Group of ``strings.yaml``: the twelve months, as dates name them."""

_BARE = frozenset(
    (
        "n/a",
        "na",
        "n.a.",
        "none",
        "null",
        "nil",
        "unknown",
        "undefined",
        "unspecified",
        "unavailable",
        "missing",
        "absent",
        "nan",
        "tbd",
        "tba",
        "tbc",
        "n.n",
        "n.a",
        "nn",
    )
)
"""Answers that are nothing else, whatever the language."""


def plain(text: str) -> str:
    """Return text as it is compared: folded, on one line, digits as 0 to 9."""
    folded = " ".join(fold(text).split())
    return "".join(str(unicodedata.decimal(c)) if unicodedata.decimal(c, None) is not None else c for c in folded)


def says_absent(text: str, language: str | None) -> bool:
    """Whether a text says, in its language or in English, that something is not there to be known."""
    said = plain(text if len(text) <= READ else text[:HEAD] + "\n" + text[-TAIL:])
    bare = said.strip(" .!。！।\"'()[]<>*_")
    if bare in _BARE or bare in _blanks(language) or (said and not said.strip(" .!\"'()[]-–—_?…*/")):
        return True
    return any(lexicon.find(said) for lexicon in _lexicons(language))


def guesses(language: str | None, said: str) -> list[Hit]:
    """Return where a text, as `plain` has it, says "maybe" in its language or in English."""
    return [hit for lexicon in _lexicons(language, GUESS) for hit in lexicon.find(said)]


def negates(text: str, language: str) -> bool:
    """Whether a short text has a word in it that turns it into its opposite."""
    said = plain(text)
    words = {plain(word) for word in _group(language, NOT)}
    if language in load_languages() and _is_joined(language):
        return any(word in said for word in words)
    return bool(words & set(re.findall(r"[\w']+", said)))


def _is_joined(language: str) -> bool:
    """Whether words of a language stand within others, or take endings of a syllable."""
    return not load_languages()[language].spaced or load_languages()[language].script == "Hang"


def without_blanks(text: str, language: str) -> str | None:
    """Return what is left of a text, as `plain` has it, without words of `BLANK`; None where it has none."""
    said = plain(text[:HEAD])
    hits = [hit for lexicon in _lexicons(language, BLANK) for hit in lexicon.find(said) if hit.end - hit.start > 1]
    joined = language in load_languages() and _is_joined(language)
    whole = [hit for hit in hits if joined or not said[hit.end : hit.end + 1].isalnum()]
    for hit in whole:
        said = said[: hit.start] + " " * (hit.end - hit.start) + said[hit.end :]
    return said if whole else None


@functools.lru_cache(maxsize=256)
def _blanks(language: str | None) -> frozenset[str]:
    codes = [code for code in (language, "en") if code is not None]
    return frozenset(plain(phrase) for code in codes for phrase in _group(code, BLANK))


@functools.lru_cache(maxsize=256)
def _lexicons(language: str | None, group: str = ABSENT) -> tuple[Lexicon, ...]:
    found = []
    for code in dict.fromkeys(code for code in (language, "en") if code in load_languages()):
        phrases = _group(str(code), group)
        # Korean endings follow a stem of one syllable, which among words written apart would have to be a whole word.
        spaced = not _is_joined(str(code))
        if phrases:
            found.append(compile_lexicon(str(code), {group: phrases}, spaced=spaced))
    return tuple(found)


@functools.lru_cache(maxsize=256)
def months(language: str) -> tuple[tuple[str, int], ...]:
    """Return names of months, folded, each with its number from 1 on: a language's own and the English ones."""
    found: dict[str, int] = {}
    for code in dict.fromkeys((language, "en")):
        for index, names in enumerate(_group(code, MONTHS), 1):
            for name in names.split("|"):
                found.setdefault(plain(name), index)
    return tuple(sorted(found.items(), key=lambda pair: (-len(pair[0]), pair)))


def _group(language: str, name: str) -> list[str]:
    """Return a group of a language; nothing where it is not written, since any answer in any language is judged."""
    try:
        return strings(language).get(name, [])
    except AtlasError:
        return []
