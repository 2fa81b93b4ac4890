"""Where a track's items belong, a language or one of its locales, and in which variants they are asked."""

from __future__ import annotations

from .errors import AtlasError
from .scenes import seed_targets
from .strings import strings
from .tracks import Item, get_track, load_items
from .variants import BASE, PICTURE, QUESTION, VARIANTS, Variant, about_picture


def places_of(track: str, language: str) -> tuple[str | None, ...]:
    """Return the locales that a track has items for in a language, sorted; None, first, is the language as a whole.

    Raises:
        UnknownNameError: where track or language is unknown.
        DataError: where the track has no texts in the language, or a line is wrong.
    """
    found = {item.locale for item in load_items(track, language)}
    return tuple(sorted(found, key=lambda locale: locale or ""))


def variants_of(track: str, language: str) -> tuple[str, ...]:
    """Return the variants that a track is asked in, ``base`` first; those that a language has no sentence for are not.

    A track of pictures is asked with them and never without.

    Raises:
        UnknownNameError: where track or language is unknown.
    """
    if get_track(track).pictures_of:
        return (PICTURE,)
    asked = get_track(track).variants
    return (BASE, *(name for name in asked if _sentences(language, VARIANTS[name])))


def _sentences(language: str, variant: Variant) -> list[str]:
    try:
        return strings(language).get(variant.group, [])
    except AtlasError:
        return []


def items_in(track: str, language: str, locale: str | None, variant: str = BASE) -> tuple[Item, ...]:
    """Return a track's items for one place and variant, in the order of the seeds.

    Items about a scene are asked about it in every variant, the base one too.

    Raises:
        UnknownNameError: where track or language is unknown.
        DataError: where the track has no texts in the language, or a line is wrong.
        AtlasError: where the language has no sentence that asks for the variant.
    """
    items = tuple(item for item in load_items(track, language) if item.locale == locale)
    if variant == BASE and not seed_targets(track):
        return items
    if get_track(track).pictures_of:
        return tuple(about_picture(item) for item in items)
    asked = QUESTION if variant == BASE else VARIANTS[variant]
    sentences = _sentences(language, asked)
    if not sentences:
        where = f"translations/{language}/strings.yaml"
        raise AtlasError(f"has no sentence in {asked.group}", where=where, mend="write one, as the English file has it")
    return tuple(asked.item(item, sentences) for item in items)
