"""Where a track's items belong: to a language as a whole, or to one of its locales."""

from __future__ import annotations

from .tracks import Item, load_items


def places_of(track: str, language: str) -> tuple[str | None, ...]:
    """Return the locales that a track has items for in a language, sorted; None, first, is the language as a whole.

    Raises:
        UnknownNameError: where track or language is unknown.
        DataError: where the track has no texts in the language, or a line is wrong.
    """
    found = {item.locale for item in load_items(track, language)}
    return tuple(sorted(found, key=lambda locale: locale or ""))


def items_in(track: str, language: str, locale: str | None) -> tuple[Item, ...]:
    """Return a track's items for one place, in the order of the seeds.

    Raises:
        UnknownNameError: where track or language is unknown.
        DataError: where the track has no texts in the language, or a line is wrong.
    """
    return tuple(item for item in load_items(track, language) if item.locale == locale)
