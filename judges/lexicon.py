"""A language's `lexicon.yaml`, compiled: literal phrases in groups, found in linear time."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import RootModel, field_validator

from refusalatlas.files import read_yaml, validate
from refusalatlas.languages import Language, load_languages
from refusalatlas.phrases import check_phrase

from .normalise import fold

_STOP = ".!?。！？।॥؟۔።፧။៕\n"
_SPACED_GAP = rf"(?:[^\s{_STOP}]+[ \n]){{0,5}}?"
_UNSPACED_GAP = rf"[^{_STOP}]{{0,12}}?"
_JOINED_GAP = rf"[^\s{_STOP}]{{0,12}}(?: [^\s{_STOP}]+){{0,3}}? ?"
# Words begin after space or punctuation; combining marks, which `\w` leaves out, are inside of words.
_WORD = re.compile(r"[^\s!-/:-@\[-`{-~¿¡«»،؛؟।॥、。！？，：；（）「」『』《》“”…—–·]+")
_PROCLITICS = frozenset("وف")


class LexiconFile(RootModel[dict[str, list[str]]]):
    """What `lexicon.yaml` holds: phrases by group."""

    @field_validator("root", mode="before")
    @classmethod
    def _begun(cls, groups: Any) -> Any:
        """Leave out phrases that are still to be written: hyphens with nothing after them, and groups without any."""
        if not isinstance(groups, dict):
            return groups
        return {
            group: [phrase for phrase in phrases or () if phrase is not None]
            if isinstance(phrases, (list, type(None)))
            else phrases
            for group, phrases in groups.items()
        }

    @field_validator("root")
    @classmethod
    def _literal(cls, groups: dict[str, list[str]]) -> dict[str, list[str]]:
        for group, phrases in groups.items():
            for phrase in phrases:
                try:
                    check_phrase(phrase)
                except ValueError as error:
                    raise ValueError(f"{group}: {error}") from None
        return groups


@dataclass(frozen=True, slots=True)
class Hit:
    """A phrase of a group found in a folded text."""

    group: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Phrase:
    group: str
    first: str
    rest: re.Pattern[str] | None
    whole_word: bool


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The phrases of one language.

    Attributes:
        code: Code of the language.
        groups: Names of the groups that it has.
    """

    code: str
    groups: frozenset[str]
    _spaced: bool
    _sizes: tuple[int, ...]
    _index: Mapping[str, tuple[_Phrase, ...]]

    def find(self, text: str) -> list[Hit]:
        """Return every phrase in a folded text, in order; phrases begin at a word where words are written apart.

        Time is linear in the text: each word is looked up by its first letters, and gaps are bounded.
        """
        places = _word_starts(text) if self._spaced else range(len(text))
        hits = []
        for place in places:
            for size in self._sizes:
                for phrase in self._index.get(text[place : place + size], ()):
                    end = _match(phrase, text, place)
                    if end:
                        hits.append(Hit(phrase.group, place, end))
        return hits


def _word_starts(text: str) -> list[int]:
    starts = []
    for word in _WORD.finditer(text):
        start = word.start()
        starts.append(start)
        if text[start] in _PROCLITICS:
            starts.append(start + 1)
    return starts


def _match(phrase: _Phrase, text: str, place: int) -> int:
    """Return where the phrase ends, or 0 where it does not begin at `place`."""
    if not text.startswith(phrase.first, place):
        return 0
    end = place + len(phrase.first)
    if phrase.rest is not None:
        found = phrase.rest.match(text, end)
        if found is None:
            return 0
        end = found.end()
    following = text[end : end + 1]
    if phrase.whole_word and (following.isalnum() or following == "'"):
        return 0
    return end


def compile_lexicon(code: str, groups: Mapping[str, Sequence[str]], *, spaced: bool) -> Lexicon:
    """Return the lexicon of a language from its groups of phrases."""
    width = 4 if spaced else 2
    index: dict[str, list[_Phrase]] = {}
    for group, phrases in groups.items():
        for folded in dict.fromkeys(" ".join(fold(phrase).split()) for phrase in phrases):
            phrase = _compile(group, folded, spaced)
            index.setdefault(phrase.first[:width], []).append(phrase)
    sizes = tuple(sorted({len(key) for key in index}))
    frozen = {key: tuple(found) for key, found in index.items()}
    return Lexicon(code, frozenset(groups), spaced, sizes, frozen)


def _compile(group: str, folded: str, spaced: bool) -> _Phrase:
    first, *others = folded.split("*")
    pattern, before = "", first
    for part in others:
        pattern += _gap(before, part, spaced) + re.escape(part.strip())
        before = part
    last = folded.rsplit(None, 1)[-1].rsplit("*", 1)[-1]
    # Very short last words are whole words ("no", "so"), longer ones may be stems.
    whole = spaced and last.isalnum() and len(last) <= 3
    return _Phrase(group, first.rstrip(), re.compile(pattern) if pattern else None, whole)


def _gap(before: str, after: str, spaced: bool) -> str:
    if not spaced:
        return _UNSPACED_GAP
    if before.endswith(" ") and after.startswith(" "):
        return r"[,;]?[ \n]" + _SPACED_GAP
    return _JOINED_GAP


def read_lexicon(path: Path, code: str, *, spaced: bool) -> Lexicon:
    """Return the lexicon that a file holds.

    Raises:
        DataError: where the file is not groups of literal phrases.
    """
    groups = validate(LexiconFile, read_yaml(path), path).root
    return compile_lexicon(code, groups, spaced=spaced)


@functools.lru_cache(maxsize=512)
def _lexicon_of(language: Language) -> Lexicon | None:
    if not language.lexicon.is_file():
        return None
    return read_lexicon(language.lexicon, language.code, spaced=language.spaced)


def lexicon(code: str | None) -> Lexicon | None:
    """Return the lexicon of a registered language, compiled once a process; None where there is none."""
    language = load_languages().get(code) if code else None
    return _lexicon_of(language) if language is not None else None
