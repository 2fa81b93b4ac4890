"""Rules on the phrases of a ``lexicon.yaml``: literal, long enough, said once, and in the language."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from ..languages import Language
from .findings import Finding
from .letters import normal
from .sheets import line_of

EXCLUSIVE = ("refusal", "compliance", "capability", "clarification")
"""Groups of which a phrase can be in one only: each says by itself what the assistant does."""

OWN_WORDS = ("refusal", "apology", "capability", "clarification", "compliance")
"""Groups whose phrases are in the language itself; others hold borrowed names, such as *content policy* in Filipino."""

MOST_BEGUN = 3
"""Refusals that begin with a phrase of compliance; at most 1 in 52 languages."""

FEWEST_LETTERS = 3
"""Letters of the shortest word that is a phrase by itself where letters are single sounds; *yes* may be shorter."""

_SINGLE_SOUNDS = frozenset({"Latn", "Cyrl", "Grek", "Armn", "Geor", "Arab", "Hebr"})
_REGULAR = frozenset("\\^$|{}[]+()")
_LATIN = re.compile(r"[a-z]+(?:['’][a-z]+)*")


def is_gap(phrase: str) -> bool:
    """Whether a phrase is nothing but gaps, which are found everywhere."""
    return not phrase.strip(" *")


def check_phrases(
    path: Path, found: Mapping[str, Sequence[str]], english: Mapping[str, Sequence[str]], language: Language
) -> Iterator[Finding]:
    """Yield a finding for each phrase of a lexicon that finds too much, too little, or the wrong thing."""
    words = {word for phrases in english.values() for phrase in phrases for word in _words(phrase)}
    foreign = language.code != "en" and "en" not in language.confused_with
    for group, phrases in found.items():
        for phrase, count in Counter(" ".join(phrase.split()).casefold() for phrase in phrases).items():
            if count > 1:
                line = line_of(path, group)
                yield Finding("lexicon", path, line, f"{group}: {phrase!r} stands there {count} times", "keep one")
        for phrase in phrases:
            line = line_of(path, phrase, group=group)
            if set(phrase) & _REGULAR:
                mend = "write what is said, with * for a gap of a few words"
                yield Finding("lexicon", path, line, f"{group}: {phrase!r} is a regular expression", mend)
            elif is_gap(phrase):
                what = f"{group}: a gap alone is found everywhere"
                yield Finding("lexicon", path, line, what, "write words around it")
            elif foreign and group in OWN_WORDS and _is_english(phrase, words):
                what = f"{group}: {phrase!r} is English"
                yield Finding("english", path, line, what, f"write how it is said in {language.english_name}")
            elif group in OWN_WORDS and group != "compliance" and _is_short(phrase, language):
                what = f"{group}: {phrase!r} is too short, and found in answers of any kind"
                yield Finding("lexicon", path, line, what, "write the words that stand around it")
    yield from _check_exclusive(path, found)
    yield from _check_beginnings(path, found)


def _check_exclusive(path: Path, found: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    plain = {group: {normal(phrase): phrase for phrase in found.get(group, ())} for group in EXCLUSIVE}
    for one, other in combinations(EXCLUSIVE, 2):
        for phrase in sorted(plain[one].keys() & plain[other].keys() - {""}):
            line = line_of(path, plain[other][phrase], group=other)
            what = f"{plain[other][phrase]!r} stands in {one} and in {other}"
            yield Finding("lexicon", path, line, what, "keep it in the group that it shows when read alone")


def _check_beginnings(path: Path, found: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """Look for phrases of compliance with which refusals begin: *I can't* beside *I can't help*."""
    refusals = [f"{normal(phrase.replace('*', ' '))} " for phrase in found.get("refusal", ())]
    for phrase in found.get("compliance", ()):
        begun = sum(refusal.startswith(f"{normal(phrase)} ") for refusal in refusals)
        if normal(phrase) and begun >= MOST_BEGUN:
            what = f"compliance: {begun} phrases of refusal begin with {phrase!r}"
            yield Finding("lexicon", path, line_of(path, phrase, group="compliance"), what, "take it out")


def _words(phrase: str) -> list[str]:
    return [word.replace("’", "'") for word in _LATIN.findall(phrase.casefold())]


def _is_english(phrase: str, words: set[str]) -> bool:
    """Whether a phrase of several words is made of those of the English lexicon alone."""
    own = _words(phrase)
    return len(own) > 1 and len(own) == len(phrase.replace("*", " ").split()) and words.issuperset(own)


def _is_short(phrase: str, language: Language) -> bool:
    word = normal(phrase)
    return language.script in _SINGLE_SOUNDS and " " not in word and len(word) < FEWEST_LETTERS
