"""The words of the interface, in several languages.

Pages are rendered once, in English, with a mark around every word of the interface. `speak` then puts in the words
of each language, so that a further one costs a pass over text and no second rendering. What a language lacks stays
English.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

from refusalatlas.files import read_yaml

I18N = Path(__file__).resolve().parent.parent / "i18n"
ENGLISH = "en"
_OPEN, _CLOSE = "\x02", "\x03"
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
        words = {str(key): str(value) for key, value in data["words"].items()}
        found.append(Interface(path.stem, data["name"], data["direction"], words))
    return tuple(found)


def mark(text: str) -> Markup:
    """Return a wording of the interface, marked for translation and escaped."""
    return Markup(f"{_OPEN}{escape(text)}{_CLOSE}")  # noqa: S704 - the text is escaped, the marks are ours


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
        }.get(name, marked)
    said = interface.words.get(html.unescape(marked))
    if said is not None:
        return str(escape(said))
    # English in a page from right to left: the point at its end would stand before its first word.
    return f"{marked}\N{LEFT-TO-RIGHT MARK}" if interface.direction == "rtl" and marked.endswith((".", ")")) else marked
