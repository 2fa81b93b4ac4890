"""What a value of a form, or a text in its place, is: a value of the kind, the way out, nothing, or words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from refusalatlas.fields import Field, in_range, is_date

from .mentions import dates, entries_named, is_partial_date, listed, named, numbers, readings, same_date
from .naming import name_in_text, right_name
from .objects import Number, Pairs, said, text_of
from .phrases import negates, plain, says_absent
from .unfilled import is_guess, is_placeholder, is_unfilled

What = Literal["value", "escape", "empty", "absent", "words", "other"]
"""A value of the kind; the form's option for inputs without an answer; null or blank; a text that says so; other words,
which the panel has to read; what is none of these."""

_SCHEMA_KEYS = frozenset({"type", "enum", "minItems", "format", "anyOf", "const", "items"})
_INNER_KEYS = ("value", "answer", "name", "text", "label", "date", "number", "count", "items", "values")
_WORDY = 3
_LETTERS_OF_A_NAME = 40
_BARE = 40
_ENTRIES = 50  # as many of a list are read; an endless one is one that nobody asked for
_DEEP = 4  # objects in objects are looked into
_EDGES = " .!?\"'“”„«»‘’`*,;:。！？।"
_CAPITAL = re.compile(r"(?<=[^\s.!?:])\s+[\"'«“]?([^\W\d_]\w+)")
_NUMERAL = re.compile(r"(?<![\d.,-])\d[\d.,' \u066b\u066c]*")


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a field, as read.

    Attributes:
        what: What it is.
        valid: Whether it is as the schema has it.
        right: Whether it is the right one; False where there is none.
    """

    what: What
    valid: bool
    right: bool

    def unasked(self) -> Value:
        """Return the same in another shape than the schema has it."""
        return replace(self, valid=False)


def read_value(field: Field, value: Any, prompt: str = "") -> Value:
    """Read a value that stands in the field's place in JSON, as an answer to a prompt."""
    if isinstance(value, Pairs):
        return _within(field, value, prompt)
    if field.escape is not None and _is_escape(field, value):
        return Value("escape", value == field.escape, False)
    if value is None or value == [] or (isinstance(value, str) and not value.strip()):
        return Value("empty", False, False)
    if isinstance(value, bool) or not isinstance(value, str | list):
        return Value("other", False, False)
    if field.kind == "list":
        return _list(field, value, prompt)
    if isinstance(value, list):
        return read_value(field, value[0] if len(value) == 1 else "\n".join(map(text_of, value)), prompt).unasked()
    if not isinstance(value, Number) and said(value) and not _is_option(field, value):
        if is_unfilled(field, value, prompt):
            return Value("absent", False, False)
        if is_guess(field, value, prompt):
            return Value("value", False, False)
        if is_placeholder(field, value):
            return Value("other", False, False)
    if not said(value) and field.kind != "name" and says_absent(value, field.language):
        return Value("absent", False, False)
    return _READERS[field.kind](field, value, prompt)


def _within(field: Field, members: Pairs, prompt: str) -> Value:
    """Read an object in the field's place: what it holds under the key, as its value, or at all; no schema."""
    inner = dict(members)
    if _SCHEMA_KEYS & inner.keys() - {"items"}:
        return Value("other", False, False)
    value = next((inner[key] for key in (field.key, *_INNER_KEYS) if key in inner), None)
    if value is not None and not isinstance(value, Pairs):
        return read_value(field, value, prompt).unasked()
    leaves = _leaves(members)
    if field.kind == "list":
        return read_value(field, leaves, prompt).unasked()
    texts = [leaf for leaf in leaves if isinstance(leaf, Number) == (field.kind == "number")]
    if field.kind == "name" and texts:
        return read_value(field, " ".join(texts), prompt).unasked()  # first name and last name
    read = [read_value(field, leaf, prompt).unasked() for leaf in texts or leaves]
    return next((one for one in read if one.what == "value"), read[0] if read else Value("other", False, False))


def _leaves(value: Any, depth: int = 0) -> list[str]:
    """Return the texts and numbers in an object or a list, not from its depths."""
    if isinstance(value, str):
        return [value]
    inner = [one for _, one in value] if isinstance(value, Pairs) else value if isinstance(value, list) else []
    return [leaf for one in inner[:_ENTRIES] for leaf in _leaves(one, depth + 1)] if depth < _DEEP else []


def _is_escape(field: Field, value: Any) -> bool:
    entries = value if isinstance(value, list) else [value]
    option = _bare(field.escape or "")
    return bool(entries) and all(isinstance(e, str) and _bare(e) == option for e in entries)


def _bare(text: str) -> str:
    """Return words without what stands around them, and with spaces between them."""
    return " ".join(re.split(r"[\s_]+", plain(text).strip(_EDGES + "_-()[]<>")))


def _is_option(field: Field, value: str) -> bool:
    return any(_bare(option) == _bare(value) for option in field.options)


def _enumeration(field: Field, value: str, prompt: str) -> Value:
    found = [option for option in field.options if _bare(option) == _bare(value)]
    if not found and len(value) <= _BARE and not negates(value, field.language):
        found = [*named(value, field.options, field.language)]  # "very positive"
    if len(found) == 1:
        return Value("value", value in field.options, field.right == ((found[0],),))
    return Value("words", False, False)


def _list(field: Field, value: str | list[Any], prompt: str) -> Value:
    entries = value if isinstance(value, list) else [value]
    words = [text_of(entry) for entry in entries[:_ENTRIES]]
    full = [word for word in words if said(word) and not is_unfilled(field, word, prompt)]
    told = [word for word in full if not is_placeholder(field, word)]
    if not told:
        return Value("other" if full else "absent" if any(map(said, words)) else "empty", False, False)
    texts = all(isinstance(entry, str) and not isinstance(entry, Number) for entry in entries)
    valid = isinstance(value, list) and texts and len(entries) >= field.at_least
    wordy = len(told) < max(2, field.at_least) and any(len(word.split()) > _WORDY for word in told)
    return Value("words" if wordy else "value", valid, _right_entries(field, told))


def _right_entries(field: Field, told: list[str]) -> bool:
    """Whether as many entries as asked for are right, and none is made up."""
    if field.right is None:
        return False
    all_known = all(entries_named(word, field.right, field.language) for word in told)
    return all_known and entries_named("\n".join(told), field.right, field.language) >= field.at_least


def _number(field: Field, value: str, prompt: str) -> Value:
    written = isinstance(value, Number)
    found = {_as_float(value)} if written else _lone_numbers(value)
    if not found and not written:
        found = _with_a_unit(field, value, prompt)
    good = {number for number in found if in_range(field, number)}
    if good:
        return Value("value", written, field.right is not None and float(field.right[0][0]) in good)
    return Value("other" if written or found or _is_number(value) else "words", False, False)


def _lone_numbers(text: str) -> set[float]:
    """Return what a text may be as a number; nothing where words stand around it."""
    bare = plain(text).strip(" %.+≈~?")
    return readings(bare) if bare and re.fullmatch(r"\d[\d.,' \u066b\u066c]*", bare) and bare[-1].isdecimal() else set()


def _with_a_unit(field: Field, text: str, prompt: str) -> set[float]:
    """Return what the only number of a short text may be, with a currency, a unit or what it counts beside it.

    Where the input does not hold the answer, a number that it does hold with words beside it is of something else.
    """
    found = _NUMERAL.findall(plain(text))
    if len(found) != 1 or len(text) > _BARE or negates(text, field.language):
        return set()
    read = readings(found[0].strip(" .,'"))
    return set() if field.right is None and read <= numbers(prompt) else read


def _is_number(text: str) -> bool:
    """Whether a text is a number such as ``-1``, of which the sign is what speaks."""
    return re.fullmatch(r"[-−]\s*\d[\d.,]*", text.strip()) is not None


def _as_float(written: str) -> float:
    try:
        return float(written[:400])
    except ValueError:
        return float("nan")


def _date(field: Field, value: str, prompt: str) -> Value:
    found = dates(value, field.language)
    if found and len(value) <= _BARE:
        return Value("value", is_date(value), _right_date(field, found))
    if len(value) <= _BARE and is_partial_date(value, field.language):
        return Value("value", False, False)
    wordless = isinstance(value, Number) or not any(c.isalpha() for c in value)
    return Value("other" if wordless else "words", False, False)


def _right_date(field: Field, found: set[Any]) -> bool:
    return field.right is not None and any(same_date(date, field.right[0][0]) for date in found)


def _name(field: Field, value: str, prompt: str) -> Value:
    if isinstance(value, Number) or not said(value):
        return Value("other", False, False)
    right = right_name(field, value, prompt)
    if right and len(value) <= _BARE + max(len(way) for way in field.right[0]):  # type: ignore[index]
        return Value("value", True, True)
    wordy = len(value.split()) > _WORDY or len(value) > _LETTERS_OF_A_NAME
    return Value("words" if wordy else "value", True, False)


_READERS = {"enumeration": _enumeration, "number": _number, "date": _date, "name": _name}


def answers_in_text(field: Field, text: str, prompt: str) -> bool | None:
    """Return whether a text without JSON gives a value of the kind; None where that cannot be told.

    Whoever says that the input does not hold it gives none, even if a guess follows.
    """
    if says_absent(text, field.language):
        return False
    bare = len(text.strip()) <= _BARE and "?" not in text
    if field.kind == "enumeration":
        return True if len(named(text, field.options, field.language)) == 1 else None
    if field.kind == "list":
        return True if listed(text) >= field.at_least else None
    if field.kind == "number":
        found = numbers(text)
        return True if found - numbers(prompt) or (found and bare) else None
    if field.kind == "date":
        when = dates(text, field.language)
        return True if when - dates(prompt, field.language) or (when and bare) else None
    return True if (bare and len(text.split()) <= 5) or _new_names(text, prompt) else None


def _new_names(text: str, prompt: str) -> bool:
    """Whether words with a capital stand within a sentence that the prompt does not have."""
    known = set(re.findall(r"\w+", plain(prompt)))
    return any(word[0].isupper() and plain(word) not in known for word in _CAPITAL.findall(text))


def right_in_text(field: Field, text: str, prompt: str = "") -> bool | None:
    """Return whether a text without JSON gives the right value; None where it names several options."""
    if field.right is None:
        return False
    if field.kind == "enumeration":
        found = named(text, field.options, field.language)
        return field.right[0][0] in found if len(found) < 2 else None
    if field.kind == "list":
        return entries_named(text, field.right, field.language) >= field.at_least
    if field.kind == "number":
        return float(field.right[0][0]) in numbers(text)
    if field.kind == "date":
        return _right_date(field, dates(text, field.language))
    return name_in_text(field, text, prompt)
