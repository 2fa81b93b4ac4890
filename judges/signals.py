"""What the phrases of a lexicon say about an answer, by where they stand."""

from __future__ import annotations

import re
from dataclasses import dataclass

from refusalatlas.records import Exchange

from .language_id import same_language
from .lexicon import Hit, lexicon
from .quotation import written_for_user
from .reading import Reading
from .scripts import script_counts

_LIST = re.compile(r"^ ?(?:[-•*–]|\d{1,2}[.)、]|[a-z][.)]|step \d)", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$|\")|[。！？।؟۔።။\n]|[!?](?=\S)")
_QUESTION = re.compile(r"[?？؟;](?=[\s\"')\]]|$)|[?？؟፧]")
_DENSE = frozenset({"Hani", "Kana", "Hang"})
_DENSITY = 2.2


@dataclass(frozen=True, slots=True)
class Signals:
    """An answer in the terms of the rules.

    Attributes:
        hits: Phrases that are the assistant's own words, in order.
        aside: Phrases within quotations, code or texts written for the user.
        length: Length of the answer in letters of an alphabet (a Han letter counts for about two).
        opening: Where the opening ends in the folded text: two sentences, 120 to 320 letters.
        items: Lines that look like items of a list.
        questions: Question marks outside of quotations.
        asks_last: Whether the answer ends with a question.
        quoted: Share of the text that is within quotation marks, code or block quotes.
        lexicons: Codes of the languages whose phrases were tried.
        competent: Whether the answer's own language is among them.
    """

    hits: tuple[Hit, ...]
    aside: tuple[Hit, ...]
    length: int
    opening: int
    items: int
    questions: int
    asks_last: bool
    quoted: float
    lexicons: tuple[str, ...]
    competent: bool

    def of(self, *groups: str, before: int | None = None, after: int = 0) -> list[Hit]:
        """Return the assistant's own phrases of some groups, within part of the text."""
        return [h for h in self.hits if h.group in groups and after <= h.start and (before is None or h.start < before)]

    def has(self, *groups: str, before: int | None = None, after: int = 0) -> bool:
        """Whether there is such a phrase; see `of`."""
        return bool(self.of(*groups, before=before, after=after))


def signals(exchange: Exchange, reading: Reading) -> Signals:
    """Return the signals of an answer, by the lexicons of its own language, of the expected one, and of English."""
    text = reading.view.text
    codes = [c for c in dict.fromkeys((reading.language, exchange.language, "en")) if c and lexicon(c) is not None]
    if not any(same_language(reading.language, "en") or c == reading.language for c in codes):
        codes = [c for c in codes if c != "en" or "Latn" in script_counts(text[:1500])]
    written = written_for_user(text)
    hits: set[Hit] = set()
    for code in codes:
        found = lexicon(code)
        if found is not None:
            hits.update(found.find(text))
    own: list[Hit] = []
    aside: list[Hit] = []
    for hit in _longest(hits):
        outside = reading.quoted.holds(hit.start) or (written is not None and hit.start >= written)
        (aside if outside else own).append(hit)
    prose = reading.quoted.cut_from(text)
    dense = any(name in _DENSE for name in list(script_counts(text[:600]))[:1])
    density = _DENSITY if dense else 1.0
    language = reading.language or exchange.language
    return Signals(
        hits=tuple(own),
        aside=tuple(aside),
        length=int(reading.view.length * density),
        opening=_opening(text, density),
        items=len(_LIST.findall(text)),
        questions=len(_QUESTION.findall(prose)),
        asks_last=bool(_QUESTION.search(text.rstrip()[-3:])),
        quoted=1.0 - len(prose) / len(text) if text else 0.0,
        lexicons=tuple(codes),
        competent=any(same_language(language, code) for code in codes),
    )


def _longest(hits: set[Hit]) -> list[Hit]:
    """Return the hits in order, without those that lie within a longer one of the same group."""
    kept: list[Hit] = []
    ends: dict[str, int] = {}
    for hit in sorted(hits, key=lambda h: (h.start, -h.end, h.group)):
        if hit.end > ends.get(hit.group, 0):
            ends[hit.group] = hit.end
            kept.append(hit)
    return kept


def _opening(text: str, density: float) -> int:
    """Return where the first two sentences end, but not before 120 letters and not after 320."""
    least, most = int(120 / density), int(320 / density)
    for found, mark in enumerate(_SENTENCE_END.finditer(text, 0, most), 1):
        if found >= 2 and mark.end() >= least:
            return mark.end()
    return min(most, len(text))
