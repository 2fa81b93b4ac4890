"""How a language says that an input does not hold the answer, and what it calls the months: data of its speakers."""

from __future__ import annotations

import functools
import unicodedata

from refusalatlas.errors import AtlasError
from refusalatlas.languages import load_languages
from refusalatlas.strings import strings

from ..lexicon import Lexicon, compile_lexicon
from ..normalise import HEAD, TAIL, fold

READ = HEAD + TAIL
"""Characters of a text that are read, of its opening and its end."""

ABSENT = "phantom_absent"
"""Group of ``strings.yaml``: phrases, with ``*`` for a gap, that say so."""

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
    if said.strip(" .!\"'()[]") in _BARE or (said and not said.strip(" .!\"'()[]-_?…")):
        return True
    return any(lexicon.find(said) for lexicon in _lexicons(language))


@functools.lru_cache(maxsize=256)
def _lexicons(language: str | None) -> tuple[Lexicon, ...]:
    found = []
    for code in dict.fromkeys(code for code in (language, "en") if code in load_languages()):
        language_of, phrases = load_languages()[str(code)], _group(str(code), ABSENT)
        # Korean endings follow a stem of one syllable, which among words written apart would have to be a whole word.
        spaced = language_of.spaced and language_of.script != "Hang"
        if phrases:
            found.append(compile_lexicon(str(code), {"absent": phrases}, spaced=spaced))
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
