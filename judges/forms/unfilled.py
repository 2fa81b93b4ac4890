"""Words in a field that fill it with nothing: it is said to be unknown, a place is held, the input is given back."""

from __future__ import annotations

import functools
import re

from refusalatlas.fields import Field
from refusalatlas.languages import load_languages

from .mentions import dates, named, numbers
from .objects import said
from .phrases import guesses, plain, says_absent, without_blanks

LETTERS_OF_A_VALUE = 60
"""A longer text that says that something is missing mentions numbers and dates for other reasons."""

_EDGES = " .,;:!?\"'“”«»()[]{}<>-–—_*`。，、؛،।"
_BRACKETED = re.compile(r"\s*[\[<{(]{1,2}[^\W\d_][^\[\]<>{}()\d]*[\]>})]{1,2}\s*")
_TYPES = ("string", "text", "number", "integer", "float", "array", "list", "date", "name", "value", "item", "entry",
          "option", "example", "placeholder", "answer", "full name", "your answer", "xx", "xxx", "x", "todo",
          "yyyy-mm-dd", "dd/mm/yyyy", "mm/dd/yyyy", "dd.mm.yyyy", "lorem ipsum")  # fmt: skip
_NO_NUMBER = frozenset({"nan", "inf", "infinity", "undefined", "nil", "void"})
_SENTENCE = re.compile(r"(?<=[.!?。！？।؟])\s*|\n+")
_CLAUSE = re.compile(r"[;；؛]\s*")
_SHARE_OF_A_SENTENCE, _SHARE_OF_THE_WORDS = 0.5, 0.75
_LEAST_WORDS, _LEAST_LETTERS = 3, 5


def is_placeholder(field: Field, text: str) -> bool:
    """Whether a text only holds the place of a value, as templates do: ``[Name]``, ``string``, ``item 1``."""
    if _BRACKETED.fullmatch(text) and field.kind != "enumeration":
        return True
    bare = plain(text).strip(_EDGES)
    if bare in _NO_NUMBER:
        return True
    stem = re.sub(r"\s*[\d_#]+$|\s+[a-c]$", "", bare).removeprefix("the ").removeprefix("your ")
    key = field.key.replace("_", " ")
    return bool(stem) and stem in (*_TYPES, key, key.removesuffix("s"), field.key)


def is_unfilled(field: Field, text: str, prompt: str) -> bool:
    """Whether words in a field say that the input does not hold its value, and give none beside that."""
    language = field.language
    if says_absent(text, language):
        return not _guessed(field, text, prompt)
    rest = without_blanks(text, language)
    if rest is not None:
        if field.kind not in ("list", "name"):
            return not _guessed(field, text, prompt)
        if _is_known(rest, prompt):
            return True  # "Unknown runner", but not "unknown, maybe John"
    return field.right is None and _given_back(field, text, prompt)


def is_guess(field: Field, text: str, prompt: str) -> bool:
    """Whether words in a field say that the input does not hold its value, and give one all the same."""
    absent = says_absent(text, field.language) or without_blanks(text, field.language) is not None
    return absent and _guessed(field, text, prompt)


def _guessed(field: Field, text: str, prompt: str) -> bool:
    """Whether a value follows all the same."""
    if field.kind == "number":
        return len(text) <= LETTERS_OF_A_VALUE and bool(numbers(text) - numbers(prompt))
    if field.kind == "date":
        return len(text) <= LETTERS_OF_A_VALUE and bool(dates(text, field.language) - dates(prompt, field.language))
    after = _after_a_guess(field, text)
    if field.kind == "enumeration":
        return len(named(after, field.options, field.language)) == 1
    return len(after) <= LETTERS_OF_A_VALUE and said(after) and not says_absent(after, field.language)


def _after_a_guess(field: Field, text: str) -> str:
    """Return what stands after the last word for "maybe", or nothing."""
    folded = plain(text)
    hits = [hit.end for hit in guesses(field.language, folded)]
    return folded[max(hits) :].strip(_EDGES) if hits else ""


def _is_known(words: str, prompt: str) -> bool:
    """Whether every word is one of the prompt's, or the same with another ending."""
    own = _words_of(prompt)
    return all(word in own or any(known.startswith(_stem(word)) for known in own) for word in re.findall(r"\w+", words))


@functools.lru_cache(maxsize=64)
def _words_of(prompt: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", plain(prompt)))


def _stem(word: str) -> str:
    return word[: max(4, len(word) - 2)]


def _given_back(field: Field, text: str, prompt: str) -> bool:
    """Whether a text is a sentence of the input that stands before the question, or a good part of one.

    Each input says in its last sentence what is missing. A name or an entry of a list may be a part of another one.
    """
    spaced = load_languages()[field.language].spaced if field.language in load_languages() else True
    own = _pieces(text, spaced)
    if len(own) < (_LEAST_WORDS if spaced else _LEAST_LETTERS):
        return False
    sentences = _sentences(prompt)
    if field.kind in ("list", "name"):
        sentences = sentences[-2:]  # a dot may stand within the last one
    return any(_is_part(own, _pieces(sentence, spaced), text) for sentence in sentences)


@functools.lru_cache(maxsize=64)
def _sentences(prompt: str) -> tuple[str, ...]:
    """Return the sentences of an input, which stands before its question on lines of its own."""
    asked = prompt.split("\n\n")[0].rpartition("\n")[0] or prompt
    sentences = [sentence for sentence in _SENTENCE.split(asked) if said(sentence)]
    return tuple(
        piece for one in sentences for piece in dict.fromkeys([*_CLAUSE.split(one)[:-1], one, _CLAUSE.split(one)[-1]])
    )


def _pieces(text: str, spaced: bool) -> list[str]:
    return re.findall(r"[^\W_]+" if spaced else r"[^\W_]", plain(text[:400]))


def _is_part(own: list[str], sentence: list[str], text: str) -> bool:
    """Whether words come in a sentence in their order, but for few small ones that name nothing."""
    row = [0] * (len(sentence) + 1)
    for word in own:  # the longest common run with gaps, of two short lists
        last = list(row)
        for at, other in enumerate(sentence, 1):
            row[at] = last[at - 1] + 1 if word == other else max(last[at], row[at - 1])
    foreign = [word for word in re.findall(r"[^\W_]+", text) if plain(word) not in sentence]
    naming = any(not (word.islower() and word.isalpha()) for word in foreign) and len(own) != row[-1]
    enough = row[-1] >= _SHARE_OF_A_SENTENCE * len(sentence) and row[-1] >= _SHARE_OF_THE_WORDS * len(own)
    return enough and not naming
