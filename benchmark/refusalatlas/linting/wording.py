"""Rules on single texts: script, language, length, what is left of English, what must be kept, clean characters."""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from statistics import median

from ..languages import Language, load_languages
from .findings import Finding
from .letters import knows_script, mixed_word, normal, script_share
from .services import service
from .sheets import Line, Sheet, strings_of

MIN_SCRIPT = 0.7
"""Least share of a text's letters in the script of its language."""

MIN_CONFIDENCE = 0.8
"""How sure the detector must be before another language is a finding; short texts never reach it."""

MOST_CHARACTERS = 400
"""One or two sentences: more would be a method, and costs every model that is asked."""

SPREAD = 2.0
"""How many times longer or shorter than its language's usual ratio to English a text may be."""

_LENGTHS = {"Hans": 0.3, "Hant": 0.3, "Jpan": 0.5, "Kore": 0.5, "Hang": 0.5, "Ethi": 0.65, "Hebr": 0.75}
"""Usual length beside English, in characters, of scripts where it is far from 1."""

_RUN_LATIN, _RUN_CREOLE, _RUN_OTHER = 4, 9, 3
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|<[^<>]+>|%[sd]\b|https?://\S+|\S+@\S+\.\S+|[#@]\w+")
_KEPT = re.compile(r"\b(?:[A-Z]{2,}[\w-]*|[A-Za-z]+[a-z][A-Z]\w*)\b")
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
"""Signs without a width, and those that turn the direction of what follows; joiners and marks are letters' helpers."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""Letters of Thai, Lao, Burmese and Khmer, in which U+200B says where a line may break."""
_MISREAD = re.compile("[\u00c2\u00c3][\u0080-\u00bf]|\u00e2\u20ac")
"""What UTF-8 looks like where it was read as Latin-1."""
_LOST = re.compile(r"(?<=[^\W\d_])\?(?=[^\W\d_])")
"""A question mark within a word stands for a letter that some encoding did not have."""
_LEFT_OVER = re.compile(
    r"\b(?:TODO|TBD|FIXME|XXX+)\b"
    r"|[(\[{<]\s*(?i:translat(?:or|ion)|reviewer|author|editor|note|n\.?\s?b\b|n\.?\s?t\.)[^)\]}>]*[)\]}>]"
    r"|[\[(]\s*(?:\.\.\.|…|\?+)\s*[\])]"
)
"""What writers note down for themselves: TODO, (Translator note: …), [...]."""
_LATIN_WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")


def check_wording(sheet: Sheet) -> Iterator[Finding]:
    """Yield a finding for each text that breaks a rule of this module."""
    for line, key, text in strings_of(sheet.written):
        yield from check_characters(line, text)
        yield from check_left_over(line, text, sheet.english(line, key))
        yield from check_script(line, text, sheet.language)
        yield from check_language(line, text, sheet.language)
        if sheet.language.code != "en" and sheet.english(line, key):
            yield from _check_english(line, text, sheet.english(line, key), sheet.language)
            yield from _check_kept(line, text, sheet.english(line, key))
            yield from _check_source(line, key, sheet.english(line, key))
    yield from _check_mixture(sheet)
    if sheet.language.code != "en":
        yield from _check_lengths(sheet)


def check_characters(line: Line, text: str, *, most: int = MOST_CHARACTERS) -> Iterator[Finding]:
    """Yield findings on characters that no keyboard gives, and on texts that are too long."""
    if any(isinstance(value, str) and value != value.strip() for value in line.row.values()):
        yield line.finding("form", "spaces before or after a text", "take them away")
    if text != unicodedata.normalize("NFC", text):
        yield line.finding("form", "letters and accents are stored apart (not NFC)", "type the letters as one sign")
    odd = [c for c in text if (unicodedata.category(c) in ("Cc", "Co", "Cs", "Cn") and c != "\n") or c == "\ufffd"]
    if odd:
        yield line.finding("form", f"has the invisible or broken character U+{ord(odd[0]):04X}", "type it anew")
    unseen = _UNSEEN.search(text.replace("\u200b", "") if _UNSPACED.search(text) else text)
    misread, lost = _MISREAD.search(text), _LOST.search(text)
    if unseen:
        yield line.finding("form", f"has the invisible sign U+{ord(unseen[0]):04X}", "take it out")
    if misread or lost:
        found = (misread or lost)[0]  # type: ignore[index]
        yield line.finding("form", f"has {found!r} where another letter was", "save it as UTF-8, and type it anew")
    mixed = mixed_word(text)
    if mixed:
        yield line.finding("form", f"{mixed!r} has letters of two scripts that look alike", "type the word anew")
    if len(text) > most:
        yield line.finding("form", f"is {len(text)} characters long", f"say it in at most {most}")


def check_left_over(line: Line, text: str, english: str = "") -> Iterator[Finding]:
    """Yield a finding where whoever wrote a text left a note in it that its English does not have."""
    found = next((each[0] for each in _LEFT_OVER.finditer(text) if each[0] not in english), None)
    if found is not None:
        yield line.finding(
            "leftover", f"{found[:40]!r} is a note and no text", "finish the text, and take the note out"
        )


def check_script(line: Line, text: str, language: Language) -> Iterator[Finding]:
    """Yield a finding where too few of the letters are of the language's script."""
    if not knows_script(language.script):
        return
    share = script_share(text, language.script)
    others = [script_share(text, script) or 0.0 for script in language.also_in if knows_script(script)]
    if share is None or max(share, *others, 0.0) < MIN_SCRIPT:
        found = "no letter" if share is None else f"{share:.0%} of the letters"
        yield line.finding(
            "script", f"{found} in the script {language.script}", f"write it in {language.english_name}'s own script"
        )


@functools.lru_cache(maxsize=16384)
def seems(text: str, language: Language) -> tuple[str, float] | None:
    """Return the other language that a text seems to be in, and how sure that is; None where it may well be right."""
    found, sure = service("detect_language")(text, language.code)
    if found is None or found in (language.code, language.py3langid, language.iso639_1):
        return None
    if language.code not in load_languages() and language.py3langid is None:
        return None  # nothing here could have recognised it
    if found.split("-")[0] == language.code.split("-")[0]:
        return None
    return found, sure


def check_language(line: Line, text: str, language: Language) -> Iterator[Finding]:
    """Yield a finding where a text is surely in another language, one that the language is not easily taken for."""
    other = seems(text, language)
    if other and other[1] >= MIN_CONFIDENCE and other[0] not in language.confused_with:
        yield line.finding(
            "language", f"seems to be in {other[0]} ({other[1]:.0%} sure)", f"write it in {language.english_name}"
        )


def _check_mixture(sheet: Sheet) -> Iterator[Finding]:
    """Single texts may be taken for a near language; most of them are not."""
    others: Counter[str] = Counter()
    texts = list(strings_of(sheet.written))
    for _, _, text in texts:
        other = seems(text, sheet.language)
        if other:
            others[other[0]] += 1
    for code, count in others.items():
        if len(texts) >= 6 and count > len(texts) / 2:
            what = f"{count} of {len(texts)} texts seem to be in {code}"
            yield Finding("language", sheet.path, None, what, f"write them in {sheet.language.english_name}")


def _check_english(line: Line, text: str, english: str, language: Language) -> Iterator[Finding]:
    if normal(text) == normal(english):
        yield line.finding("english", "is the English text itself", f"write it in {language.english_name}")
        return
    words = [word.casefold() for word in _LATIN_WORD.findall(text)]
    if language.script != "Latn":
        run = max((len(_LATIN_WORD.findall(part)) for part in re.split(r"[^A-Za-z'’ -]+", text)), default=0)
        if run >= _RUN_OTHER:
            yield line.finding("english", f"{run} words in Latin letters in a row", f"write them in {language.script}")
        return
    source = [word.casefold() for word in _LATIN_WORD.findall(english)]
    most = _RUN_CREOLE if "en" in language.confused_with else _RUN_LATIN
    shared = shared_run(words, source, most)
    if shared:
        what = f"“{' '.join(shared)}” stands there as in English"
        yield line.finding("english", what, f"write it in {language.english_name}")


def shared_run(words: list[str], source: list[str], least: int) -> list[str]:
    """Return the first `least` words in a row that two texts share; none where there are no such."""
    theirs = {tuple(source[i : i + least]) for i in range(len(source) - least + 1)}
    for i in range(len(words) - least + 1):
        if tuple(words[i : i + least]) in theirs:
            return words[i : i + least]
    return []


def _numbers(text: str) -> Counter[str]:
    plain = "".join(str(unicodedata.decimal(c)) if unicodedata.decimal(c, None) is not None else c for c in text)
    return Counter(re.sub(r"[.,٫٬' ]", "", number) for number in re.findall(r"\d+(?:[.,٫٬' ]\d{3})*", plain))


def _check_kept(line: Line, text: str, english: str) -> Iterator[Finding]:
    """What is no English word has to come through: placeholders, numbers, names that are written alike anywhere."""
    if Counter(_PLACEHOLDER.findall(text)) != Counter(_PLACEHOLDER.findall(english)):
        found, wanted = _PLACEHOLDER.findall(text), _PLACEHOLDER.findall(english)
        what = f"placeholders {', '.join(found) or 'none'} instead of {', '.join(wanted) or 'none'}"
        yield line.finding("kept", what, "write them exactly as in English")
    meta = line.row.get("meta")
    if isinstance(meta, dict) and meta.get("localised"):
        return
    lost = list((_numbers(english) - _numbers(text)).elements())
    lost += [name for name in _KEPT.findall(_PLACEHOLDER.sub(" ", english)) if name not in text]
    if lost:
        mend = 'keep them, or say in meta what stands for them: {"localised": "shillings in place of dollars"}'
        yield line.finding(
            "kept", f"{', '.join(lost)} of the English text {'is' if len(lost) == 1 else 'are'} lost", mend
        )


def _check_source(line: Line, key: str, english: str) -> Iterator[Finding]:
    """A text that was begun with `new-language` remembers what it was written from."""
    meta = line.row.get("meta")
    source = meta.get("source" if key == "text" else f"{key}_source") if isinstance(meta, dict) else None
    if source is not None and source != english:
        mend = "look whether the text still says the same, and copy the English text of now into meta"
        yield line.finding("source", f"{key} was written from another English text", mend)


def _check_lengths(sheet: Sheet) -> Iterator[Finding]:
    ratios = [
        (line, key, len(text) / len(sheet.english(line, key)))
        for line, key, text in strings_of(sheet.written)
        if len(sheet.english(line, key)) >= 20
    ]
    usual = _LENGTHS.get(sheet.language.script, 1.0)
    if len(ratios) >= 10:
        own = median(ratio for _, _, ratio in ratios)
        if abs(math.log(own / usual)) > math.log(SPREAD):
            what = f"texts are {own:.2f} times as long as the English ones; {usual:.2f} is usual in this script"
            yield Finding("length", sheet.path, None, what, "look whether they say the same")
        usual = own
    for line, key, ratio in ratios:
        if abs(math.log(ratio / usual)) > math.log(SPREAD):
            what = f"{key} is {ratio:.2f} times as long as the English one; {usual:.2f} is usual here"
            yield line.finding("length", what, "look whether something is missing or was added")
