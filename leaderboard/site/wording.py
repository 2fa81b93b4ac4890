"""The words of the interface, in several languages.

Pages are rendered once, in English, with a mark around every word of the interface. `speak` then puts in the words
of each language, so that a further one costs a pass over text and no second rendering. What a language lacks stays
English.
"""

from __future__ import annotations

import functools
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

from refusalatlas.files import read_yaml

from .untrusted import visible

I18N = Path(__file__).resolve().parent.parent / "i18n"
NAMES = I18N / "names"
"""What languages and regions are called in each language of the interface."""

ENGLISH = "en"
_OPEN, _CLOSE = "\x02", "\x03"
_VALUE, _WORD = "\x1f", "\x1e"  # before a value of a wording, and before a value that is itself a wording
IN_ENGLISH = "The text of this page is in English."
_PLACE = re.compile(r"\{(\w+)\}")
_MARK = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")


@dataclass(frozen=True, slots=True)
class Interface:
    """One language that the site can be read in.

    Attributes:
        code: BCP-47 code, also the folder of its pages; English stands in the root.
        name: Its own name.
        direction: ``ltr`` or ``rtl``.
        words: English wording to its own.
    """

    code: str
    name: str
    direction: str
    words: Mapping[str, str]

    @property
    def folder(self) -> str:
        """Where its pages lie, with a slash at the end, or nothing for English."""
        return "" if self.code == ENGLISH else f"{self.code}/"


@functools.cache
def interfaces() -> tuple[Interface, ...]:
    """Return the languages of the interface, English first, then by code."""
    found = [Interface(ENGLISH, "English", "ltr", {})]
    for path in sorted(I18N.glob("*.yaml")):
        data = read_yaml(path)
        said = {**read_yaml(NAMES / path.name), **data["words"]}
        words = {str(key): str(value) for key, value in said.items()}
        found.append(Interface(path.stem, data["name"], data["direction"], words))
    return tuple(found)


def words_file(interface: Interface) -> str:
    """Return a language of the interface as JSON, for the pages that the browser translates."""
    fields = {"lang": interface.code, "name": interface.name, "dir": interface.direction}
    return json.dumps({**fields, "words": dict(interface.words)}, ensure_ascii=False, sort_keys=True) + "\n"


def mark(text: str, **values: object) -> Markup:
    """Return a wording of the interface, marked for translation and escaped.

    Args:
        text: The wording in English; `{name}` stands for a value.
        values: Values by name: text, which is escaped, markup, or another marked wording without values.
    """
    parts = [str(escape(text)), *(f"{name}={_value(value)}" for name, value in values.items())]
    return Markup(f"{_OPEN}{_VALUE.join(parts)}{_CLOSE}")  # noqa: S704 - the text is escaped, the marks are ours


def _value(value: object) -> str:
    if isinstance(value, Markup):
        said = str(value)
        return f"{_WORD}{said[1:-1]}" if said.startswith(_OPEN) else said
    return str(escape(visible(str(value))))


def speak(page: str, interface: Interface, path: str) -> str:
    """Return a rendered page in a language of the interface.

    Args:
        page: HTML with marks.
        interface: The language.
        path: Where the page lies, below the folder of the language.
    """
    return speak_all(page, (interface,), path)[0]


def speak_all(page: str, spoken: Sequence[Interface], path: str) -> list[str]:
    """Return a rendered page in several languages of the interface, in their order."""
    pieces = _MARK.split(page)
    marked = pieces[1::2]
    pages = []
    for interface in spoken:
        said = {word: _said(word, interface, path) for word in set(marked)}
        pieces[1::2] = [said[word] for word in marked]
        pages.append("".join(pieces))
    return pages


def _said(marked: str, interface: Interface, path: str) -> str:
    english = interface.code == ENGLISH
    if marked.startswith("@"):
        name, _, rest = marked[1:].partition(":")
        return {
            "base": "" if english else "../",
            "lang": interface.code,
            "name": interface.name,
            "dir": interface.direction,
            "english": "" if english else ' lang="en" dir="ltr"',
            "current": ' aria-current="true"' if rest == interface.code else "",
            "path": path,
            "query": "" if english else f"?lang={interface.code}",
            "notice": "" if english else _notice(interface),
        }.get(name, marked)
    template, *values = marked.split(_VALUE)
    said = _template(template, interface)
    if not values:
        return said
    shown = {name: value for name, _, value in (one.partition("=") for one in values)}
    for name, value in shown.items():
        if value.startswith(_WORD):
            shown[name] = _said(value[1:], interface, path)
    # All at once: a name that looks like a place for a value stays the name that it is.
    return _PLACE.sub(lambda found: shown.get(found[1], found[0]), said)


def _template(english: str, interface: Interface) -> str:
    said = interface.words.get(html.unescape(english))
    if said is not None:
        return str(escape(said))
    # English in a page from right to left: the point at its end would stand before its first word.
    astray = interface.direction == "rtl" and english.endswith((".", ")"))
    return f"{english}\N{LEFT-TO-RIGHT MARK}" if astray else english


def _notice(interface: Interface) -> str:
    """Say, in the language of the interface, that what follows is English."""
    said = interface.words.get(IN_ENGLISH, IN_ENGLISH)
    return f'<p class="notice" lang="{interface.code}" dir="{interface.direction}">{escape(said)}</p>'
