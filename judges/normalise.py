"""What a judge reads: the answer without its thinking, folded for matching, with a way back to the verbatim text.

Every step is linear, and only the opening and the end of a long answer are looked at, so that no answer, however
long or broken, costs more than a few milliseconds.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

HEAD = 4000
"""Characters of the opening that judges read."""

TAIL = 2000
"""Characters of the end that judges read, where the answer is longer than both together."""

_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning|reflection)>", re.IGNORECASE)
_HARMONY = re.compile(r"<\|channel\|>(\w+)[^<]{0,40}<\|message\|>")
_SPECIAL = re.compile(r"<\|[a-z_]{1,24}\|>|</?s>|<(?:start|end)_of_turn>", re.IGNORECASE)
_BARE_HARMONY = re.compile(r"\Aanalysis(?=[A-Z\"'])")
_RULE = re.compile(r"\n[ \n]*\n")
_BLANK = re.compile(r"[^\S\n]+")
_MARKS = re.compile(r"\*\*+|__+|(?m:^ *#{1,6} +)")
_LATIN_MARKS = re.compile("[\u0300-\u036f]+")

_DROPPED = "".join(
    [chr(c) for c in range(0x20) if chr(c) not in "\t\n\r\x0b\x0c"]
    + [chr(c) for c in range(0x7F, 0xA0) if c != 0x85]
    # Soft hyphen, zero-width and bidirectional controls, variation selectors, byte order mark; Arabic vowel signs
    # and the tatweel, which nobody is obliged to write.
    + [chr(c) for c in (0xAD, 0x34F, 0x61C, 0x180E, 0xFEFF, 0x640, 0x670)]
    + [chr(c) for start, end in ((0x200B, 0x2010), (0x202A, 0x202F), (0x2060, 0x2070)) for c in range(start, end)]
    + [chr(c) for start, end in ((0xFE00, 0xFE10), (0x64B, 0x653), (0x610, 0x61B)) for c in range(start, end)]
)
_FOLD: dict[int, str | None] = {ord(c): None for c in _DROPPED}
_FOLD |= dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_FOLD |= dict.fromkeys(map(ord, "‘’‚‛′´ʼʻʹꞌ"), "'")
_FOLD |= dict.fromkeys(map(ord, "“”„‟″"), '"')
_FOLD |= dict.fromkeys(map(ord, "‐‑‒−"), "-")
_FOLD |= {0x2028: "\n", 0x2029: "\n", 0x85: "\n", 0x0D: "\n", 0x0B: "\n", 0x0C: "\n"}
# Letters that people write without their marks when the keyboard lacks them.
_FOLD |= {ord(a): b for a, b in zip("أإآٱىɓɗƙƴ", "اااايbdky", strict=True)}


@dataclass(frozen=True, slots=True)
class Answer:
    """The part of a response that the user was meant to read.

    Attributes:
        text: Verbatim; where thinking stood between two parts, the last part.
        thought: Whether thinking was taken away.
        unclosed: Whether the response ends inside its thinking.
    """

    text: str
    thought: bool = False
    unclosed: bool = False


def strip_thinking(response: str) -> Answer:
    """Return what follows a model's thinking.

    Known are ``<think>`` and its kin, OpenAI's harmony channels, and templates that swallow the opening tag: before an
    orphan closing tag everything is thinking. A tag that is opened and never closed leaves nothing. A tag within
    an answer that is about such tags (in backticks) is text.
    """
    harmony = list(_HARMONY.finditer(response[: 2 * HEAD])) or (
        list(_HARMONY.finditer(response)) if "<|channel|>" in response else []
    )
    if harmony:
        return _last_channel(response, harmony)
    if _BARE_HARMONY.match(response):
        _, found, final = response.partition("assistantfinal")
        if found:
            return Answer(_clean_edges(final), True)
    start, depth, seen = 0, 0, False
    for tag in _TAG.finditer(response):
        if response[tag.start() - 1 : tag.start()] == "`" or response[tag.end() : tag.end() + 1] == "`":
            continue
        if tag.group(1):
            start, depth, seen = tag.end(), 0, True
        elif depth == 0 and _opens(response[start : tag.start()]):
            depth, seen = 1, True
    if depth:
        return Answer("", True, unclosed=True)
    return Answer(_clean_edges(response[start:]), seen)


def _opens(before: str) -> bool:
    """Whether an opening tag stands where thinking starts, rather than within an answer that mentions it."""
    return not before or not _SPECIAL.sub("", before).strip() or before.rstrip(" ").endswith("\n")


def _last_channel(response: str, channels: list[re.Match[str]]) -> Answer:
    last = channels[-1]
    if last.group(1).lower() != "final":
        return Answer("", True, unclosed=True)
    return Answer(_clean_edges(response[last.end() :]), len(channels) > 1)


def _clean_edges(text: str) -> str:
    """Take away whitespace and a template's special tokens at both ends."""
    text = text.strip()
    while text[:1] == "<" and (special := _SPECIAL.match(text)):
        text = text[special.end() :].lstrip()
    while text[-1:] == ">" and (specials := [m for m in _SPECIAL.finditer(text, max(0, len(text) - 30))]):
        if specials[-1].end() != len(text):
            break
        text = text[: specials[-1].start()].rstrip()
    return text


def fold(text: str) -> str:
    """Return text as it is matched: compatible forms, plain quotes, no marks, small letters, single spaces.

    Line breaks stay, runs of them as one. Accents of Latin and Greek letters go, since they are often left out.
    """
    text = text.translate(_FOLD)
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = unicodedata.normalize("NFKC", _LATIN_MARKS.sub("", text)).translate(_FOLD)
    text = _MARKS.sub("", text).casefold()
    text = _BLANK.sub(" ", text)
    return _RULE.sub("\n", text).replace("\n ", "\n").replace(" \n", "\n")


@dataclass(frozen=True, slots=True)
class View:
    """An answer as judges read it.

    Attributes:
        answer: The verbatim answer, thinking stripped.
        pieces: `(start in text, start in answer, end in answer)` of the one or two pieces that are read.
        text: The pieces, folded; between two of them stands a line with an ellipsis.
        length: Length of the whole answer in characters.
    """

    answer: str
    pieces: tuple[tuple[int, int, int], ...]
    text: str
    length: int

    @property
    def tail_start(self) -> int:
        """Where in `text` the end of a long answer begins; the length of `text` where all of it is there."""
        return self.pieces[1][0] if len(self.pieces) > 1 else len(self.text)

    def verbatim(self, start: int, end: int) -> str:
        """Return the piece of the answer that `text[start:end]` was folded from.

        Folding is not letter by letter, so the ends are found by folding prefixes: about 24 of them, none longer
        than what judges read.
        """
        offset, first, last = next((p for p in reversed(self.pieces) if p[0] <= start), self.pieces[0])
        # Folding seldom changes lengths much: most often the piece lies within the part of the answer tried first.
        size = min(last - first, 2 * (end - offset) + 80)
        source = self.answer[first : first + size]
        if len(fold(source)) <= end - offset:
            source = self.answer[first:last]
        left = _prefix(source, start - offset, longest=True)
        right = max(_prefix(source, end - offset, longest=False), left)
        return source[left:right].strip()

    def sentence(self, start: int, end: int, limit: int = 160) -> str:
        """Return the verbatim sentence around `text[start:end]`, at most `limit` characters of it from its start on."""
        left = max((self.text.rfind(mark, 0, start) for mark in _ENDS), default=-1) + 1
        right = min((i for mark in _ENDS if (i := self.text.find(mark, end)) >= 0), default=len(self.text) - 1) + 1
        if end - left > limit:
            left = start
        return self.verbatim(left, min(right, max(left + limit, end)))


_ENDS = (". ", "! ", "? ", "\n", "。", "！", "？", "।", "؟", "۔", "።", "။", "។")


def _prefix(source: str, length: int, *, longest: bool) -> int:
    """Return where a prefix of `source` ends that folds to `length` characters: the longest such, or the shortest."""
    low, high = 0, len(source)
    while low < high:
        middle = (low + high + longest) // 2
        size = len(fold(source[:middle]))
        if longest:
            low, high = (middle, high) if size <= length else (low, middle - 1)
        else:
            low, high = (low, middle) if size >= length else (middle + 1, high)
    return low


def view(answer: str) -> View:
    """Return what judges read of an answer whose thinking is stripped."""
    if len(answer) <= HEAD + TAIL:
        return View(answer, ((0, 0, len(answer)),), fold(answer), len(answer))
    opening, end = fold(answer[:HEAD]), fold(answer[-TAIL:])
    gap = "\n…\n"
    pieces = ((0, 0, HEAD), (len(opening) + len(gap), len(answer) - TAIL, len(answer)))
    return View(answer, pieces, opening + gap + end, len(answer))
