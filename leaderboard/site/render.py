"""The template environment: everything is escaped, and a name that is not there is an error."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from refusalatlas.wording import p_number

from . import facets
from .metrics import DASH, METRICS, OUTCOMES, interval, written
from .reasons import at_length, setting, shortly
from .svg import patterns, swatch, whisker
from .tables import Estimate, Text
from .untrusted import COMMAND, PROSE, shortened, visible
from .wording import interfaces, mark, speak, speak_all

_LEADERBOARD = Path(__file__).resolve().parent.parent
STATIC = _LEADERBOARD / "static"

_ROW = 24
"""Letters from which on a name may take more than three lines of a table; its title then holds the whole of it."""

File = tuple[str, bytes]
"""Where a file of the site lies, and what is in it."""


def everywhere(path: str, template: str, **context: object) -> Iterator[File]:
    """Yield a page in every language of the interface."""
    html = _rendered(path, template, **context)
    for interface, said in zip(interfaces(), speak_all(html, interfaces(), path), strict=True):
        yield f"{interface.folder}{path}", said.encode("utf-8", "replace")


def once(path: str, template: str, **context: object) -> File:
    """Return a page of a kind that there are many of: in English, which the browser turns into other languages."""
    html = _rendered(path, template, **context, everywhere=False)
    return path, speak(html, interfaces()[0], path).encode("utf-8", "replace")


def _rendered(path: str, template: str, **context: object) -> str:
    return environment().get_template(template).render(**context, root="../" * path.count("/"), path=path)


@functools.cache
def environment() -> Environment:
    """Return the environment that all pages are rendered in."""
    made = Environment(
        loader=FileSystemLoader(_LEADERBOARD / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_visible,
    )
    made.globals.update(written=written, interval=interval, whisker=whisker, patterns=patterns(), swatch=swatch)
    made.globals.update({"_": mark, "base": mark("@base"), "english": mark("@english"), "interfaces": interfaces()})
    made.globals.update(notice=mark("@notice"), query=mark("@query"))
    made.globals.update(facet_options=facets.options, theirs=facets.THEIRS)
    made.globals["dash"] = lambda value: DASH if value is None else value
    made.globals.update(outcomes=OUTCOMES, metrics=METRICS, everywhere=True)
    made.filters["shortened"] = shortened
    made.filters["p_number"] = p_number
    made.filters["short"] = lambda value: f"{value:.4f}".rstrip("0").rstrip(".")
    made.tests["estimate"] = lambda value: isinstance(value, Estimate)
    made.tests["words"] = lambda value: isinstance(value, Text)
    made.globals.update(COMMAND=COMMAND, PROSE=PROSE)
    made.filters["breakable"] = breakable
    made.filters["pieces"] = pieces
    made.filters["heat"] = heat
    made.filters.update(shortly=shortly, at_length=at_length, setting=setting, clamped=lambda text: len(text) > _ROW)
    made.filters["thousands"] = lambda value: f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return made


def _visible(value: object) -> object:
    # Markup is ours: it has been escaped, and holds the marks around words of the interface.
    return visible(value) if type(value) is str else value


def heat(value: float | None) -> str:
    """Return the class of a cell of the matrix: ``h0`` (0 or less) to ``h5`` (1), ``none`` where it is missing."""
    return "none" if value is None else f"h{min(5, max(0, round(value * 5)))}"


def pieces(text: str) -> Markup:
    """Return words of ours that stand side by side, as in ``Asian places, safety · ko-KR``, each to be translated."""
    parts = re.split("(, | · )", text)
    return Markup("").join(escape(part) if part in (", ", " · ") else mark(part) for part in parts)


def breakable(text: str) -> Markup:
    """Return a name, escaped, that may break behind its slashes."""
    return Markup("/<wbr>").join(escape(part) for part in visible(text).split("/"))
