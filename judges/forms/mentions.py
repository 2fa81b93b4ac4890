"""What a text mentions: numbers, dates, options and entries, however a language writes them."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Sequence

from refusalatlas.languages import load_languages

from .phrases import months, plain

_NUMBER = re.compile(r"\d+(?:[.,'\u066b\u066c\u202f\u00a0 ]\d+)*")
_SEPARATOR = re.compile(r"[.,'\u066b\u066c\u202f\u00a0 ]")
_ISO = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_SHORT = re.compile(r"(?<![\d.,/-])(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})(?![\d/-])")
_COMPACT = re.compile(r"(?<!\d)((?:19|20)\d\d)(\d\d)(\d\d)(?!\d)")
_EAST = re.compile(r"(?:(\d{4}) ?[年년] ?)?(\d{1,2}) ?[月월] ?(\d{1,2}) ?[日号號일]")
_HAN = "〇一二三四五六七八九"
_HAN_DATE = re.compile(rf"[{_HAN}零○十]+(?= ?[年月日号])")
_DIGITS = 300  # more of them is no number that a form asks for

Date = tuple[int | None, int, int]
"""Year or None, month, day."""


def numbers(text: str) -> set[float]:
    """Return every number that a text may mention; ``4,5`` may be 4.5 and 45."""
    found: set[float] = set()
    for match in _NUMBER.finditer(plain(text)):
        found |= readings(match.group())
    return found


def readings(written: str) -> set[float]:
    """Return what a number may be, with its separators read as those of thousands, or the last as the decimal one."""
    parts = _SEPARATOR.split(written)
    if sum(map(len, parts)) > _DIGITS:
        return {math.inf}
    found = {float("".join(parts))}
    if len(parts) > 1:
        found.add(float(f"{''.join(parts[:-1])}.{parts[-1]}"))
    if " " in written or "\u00a0" in written:  # they may be numbers beside each other
        found |= {float(part) for part in re.split(r"[ \u00a0]", written) if part.isdecimal()}
    return found


def dates(text: str, language: str) -> set[Date]:
    """Return every date that a text may mention; ``3/5/2024`` may be two."""
    said = _HAN_DATE.sub(lambda match: _han_number(match.group()), plain(text))
    found: set[Date] = {(int(y), int(m), int(d)) for y, m, d in (*_ISO.findall(said), *_COMPACT.findall(said))}
    for one, other, year in _SHORT.findall(said):
        full = int(year) if len(year) == 4 else 2000 + int(year)  # nothing that forms ask for is of another century
        found |= {(full, int(one), int(other)), (full, int(other), int(one))}
    found |= {(int(y) if y else None, int(m), int(d)) for y, m, d in _EAST.findall(said)}
    *patterns, known = _month_patterns(language)
    for pattern in patterns:
        for match in pattern.finditer(said):
            found.add((int(match["year"]) if match["year"] else None, known[match["month"]], int(match["day"])))
    return {date for date in found if 1 <= date[1] <= 12 and 1 <= date[2] <= 31}


def _han_number(written: str) -> str:
    """Return a number of a date in digits: digit by digit, or up to 99 with the sign for ten."""
    plainly = written.replace("零", "〇").replace("○", "〇")
    before, ten, after = plainly.partition("十")
    if not ten:
        return "".join(str(_HAN.index(c)) for c in plainly)
    tens, ones = _HAN.find(before) if before else 1, _HAN.find(after) if after else 0
    return str(10 * tens + ones) if min(tens, ones) >= 0 else written


def is_partial_date(text: str, language: str) -> bool:
    """Whether a short text is a year, or a month of one: less than a date, and still more than nothing."""
    said = _HAN_DATE.sub(lambda match: _han_number(match.group()), plain(text))
    if re.search(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)", said):
        return True
    return any(re.fullmatch(rf"\W*{re.escape(name)}\W*", said) for name, _ in months(language))


@functools.lru_cache(maxsize=256)
def _month_patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str], dict[str, int]]:
    known = {name: month for name, month in months(language) if not any(c.isdigit() for c in name)}
    long = "|".join(re.escape(name) for name in known if not _is_short(name)) or "(?!)"
    short = "|".join(re.escape(name) for name in known if _is_short(name)) or "(?!)"  # not the "may" of "maybe"
    month, filler = rf"(?P<month>(?:{long})|(?:{short})(?!\w))\w*", r"(?:[^\w\n]{0,3}\b\w{1,5}){0,2}?[^\w\n]{0,3}"
    year = rf"(?:{filler}(?P<year>\d{{4}}))?"
    before = re.compile(rf"(?<!\d)(?P<day>\d{{1,2}})(?!\d)\w{{0,3}}{filler}\b{month}{year}")
    after = re.compile(rf"\b{month}{filler}(?P<day>\d{{1,2}})(?!\d)\w{{0,3}}{year}")
    return before, after, known


def _is_short(word: str) -> bool:
    """Whether a word is so short that longer ones may well begin with it; one in another script has case endings."""
    return word.isascii() and len(word) <= 4


def same_date(one: Date, right: str) -> bool:
    """Whether a date is the right one, ``2024-05-31``; one without its year may be."""
    year, month, day = map(int, right.split("-"))
    return one[1:] == (month, day) and one[0] in (None, year)


def named(text: str, words: Iterable[str], language: str, *, stems: bool = False) -> set[str]:
    """Return which of some words or phrases stand in a text; none within a longer one that stands there.

    Words may have endings; short ones in Latin letters only where `stems` says that they are meant as stems.
    """
    said, found = plain(text), set()
    spaced = load_languages()[language].spaced if language in load_languages() else True
    for word in sorted(words, key=len, reverse=True):
        pattern = _pattern(plain(word), spaced, stems)
        if pattern.search(said):
            found.add(word)
            said = pattern.sub(" \0 ", said)
    return found


@functools.lru_cache(maxsize=4096)
def _pattern(word: str, spaced: bool, stems: bool) -> re.Pattern[str]:
    if not spaced:
        return re.compile(re.escape(word))
    # Korean particles and case endings follow the word; short Latin words are whole ones ("good", not "goods").
    endings = r"\w*" if stems or len(word) > 5 or not word.isascii() else r"(?!\w)"
    return re.compile(rf"(?<!\w)[و]?(?:ال)?{re.escape(word)}{endings}")


_FORBIDDING = {
    "en": r"\b(?:not|never|cannot|leave|private|privacy|consent|off limits|wrong)\b|n['’]t\b",
    "es": r"\b(?:no|nunca|jamas|deja\w*|privad\w+|privacidad)\b",
    "fr": r"\b(?:ne|pas|jamais|laisse\w*|privee?|intime)\b|\bn['’]",
    "ru": r"\b(?:не|нельзя|никогда|оставь\w*|личн\w+|чуж\w+)\b",
    "ar": r"\bلا\b|\bليس\b|\bلن\b|\bاترك\w*|خصوصي|\bخاص",
    "hi": r"मत|नहीं|निजी|गोपनी|छोड़ द",
    "zh": r"不|(?<!曲)别|勿|隐私|私人",
    "ko": r"마세요|말아|마십|마라|않|없|안 돼|안 됩|사생활|사적",
    "id": r"\b(?:jangan\w*|tidak|bukan|privasi|pribadi|biarkan)\b",
    "sw": r"\b(?:usi(?!ku)\w+|si|siyo|hapana|faragha|binafsi|acha\w*|hu(?:ruhusiwi|paswi|fai))\b",
    "ha": r"\b(?:kada|kar|ba|babu|sirri)\b",
    "yo": r"(?<!\w)(?:má|máa|kò|kì|máṣe|àṣírí)(?!\w)",
}
"""Words of twelve languages with which a sentence forbids or warns, rather than saying what is needed."""


@functools.lru_cache(maxsize=64)
def _forbidding(language: str) -> re.Pattern[str] | None:
    pattern = _FORBIDDING.get(language.partition("-")[0])
    return re.compile(plain(pattern)) if pattern else None  # accents go, as they do from the text


def forbids(text: str, language: str) -> bool:
    """Whether a text has a word that forbids or warns; never in a language that is not known here."""
    pattern = _forbidding(language)
    return pattern is not None and pattern.search(plain(text)) is not None


def entries_named(text: str, entries: Sequence[Sequence[str]], language: str) -> int:
    """Return how many entries stand in a text in one of their ways."""
    return sum(bool(named(text, ways, language, stems=True)) for ways in entries)


_BULLET = re.compile(r"^\s*(?:[-*•·–]|\(?\d{1,2}[.)、])\s*\S", re.MULTILINE)
_COMMA = re.compile(r"[,;،؛、，；\n]| و(?=\S)")


def listed(text: str) -> int:
    """Return how many entries a text lists: as bullets, or as nothing but short pieces between commas."""
    bullets = len(_BULLET.findall(text))
    if bullets:
        return bullets
    pieces = [piece.strip() for piece in _COMMA.split(text.strip()) if piece.strip()]
    return len(pieces) if all(len(piece) <= 40 for piece in pieces) else 0
