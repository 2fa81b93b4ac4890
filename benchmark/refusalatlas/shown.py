"""Things that are shown alone: the text says "this", and a picture of one thing says what.

Items of a track with ``pictures_of`` are asked about such pictures. ``meta.thing`` and ``meta.emoji`` of a seed say
what its picture shows, and the group `SHOWN_OBJECTS` of a language's ``strings.yaml`` what the things are called.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict
from pydantic import Field as Limit

from .errors import DataError
from .files import iter_jsonl, validate
from .scenes import EMOJI, KEY, names_of, object_names
from .strings import SHOWN_OBJECTS


class ThingMeta(BaseModel):
    """``meta`` of a seed that is asked about a picture of one thing.

    Attributes:
        gloss: What is asked, in English.
        thing: Name of the thing, in English in every language.
        emoji: Code point of its icon, in hexadecimal.
    """

    model_config = ConfigDict(extra="forbid")

    gloss: Annotated[str, Limit(min_length=16, max_length=200)]
    thing: Annotated[str, Limit(pattern=KEY, max_length=40)]
    emoji: Annotated[str, Limit(pattern=EMOJI)]


@dataclass(frozen=True, slots=True)
class ShownSeed:
    """What the picture of a seed shows: the thing's key, the code point of its icon, and the locales that see it."""

    key: str
    emoji: str
    locales: tuple[str, ...]

    def seen_in(self, language: str) -> bool:
        """Whether the seed is asked in a language."""
        return any(place.rpartition("-")[0] == language for place in self.locales)


@dataclass(frozen=True, slots=True)
class Shown:
    """The thing in a picture, and all that an answer may have taken it for, in a language.

    Attributes:
        key: Key of the thing.
        emoji: Code point of its icon, in hexadecimal.
        language: Code of the language that the names are in.
        names: Ways to name the thing.
        others: Ways to name each of the other things that pictures of the track show in the language.
    """

    key: str
    emoji: str
    language: str
    names: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]


@functools.lru_cache(maxsize=64)
def shown_seeds(track: str) -> Mapping[str, ShownSeed]:
    """Return what the picture of each seed of a track shows; none for most tracks.

    Raises:
        DataError: naming the seed that is wrong, or that shows a thing by another sign than an earlier one.
    """
    from .tracks import load_tracks

    known = load_tracks().get(track)
    if known is None or known.pictures_of is None:
        return {}
    path = known.folder / "seeds.jsonl"
    found: dict[str, ShownSeed] = {}
    signs: dict[str, str] = {}
    for number, row in iter_jsonl(path):
        where = f"{path}:{number}"
        meta = validate(ThingMeta, row.get("meta"), where)
        if signs.setdefault(meta.thing, meta.emoji) != meta.emoji:
            what = f"meta.emoji: {meta.thing!r} is U+{signs[meta.thing]} elsewhere, and here U+{meta.emoji}"
            raise DataError(what, where=where, mend="give the two things two names, or one sign")
        found[str(row.get("seed_id"))] = ShownSeed(meta.thing, meta.emoji, tuple(row.get("locales") or ()))
    return found


def things_in(track: str, language: str) -> Iterator[str]:
    """Yield the keys of the things that pictures of a track show in a language, each once, sorted."""
    yield from sorted({seed.key for seed in shown_seeds(track).values() if seed.seen_in(language)})


@functools.lru_cache(maxsize=4096)
def shown_of(track: str, seed_id: str, language: str) -> Shown | None:
    """Return what the picture of an item shows; None for the items of most tracks, and of tracks that are not here.

    Raises:
        DataError: where the track's seeds are wrong, or the language does not name a thing that is shown in it.
    """
    seed = shown_seeds(track).get(seed_id)
    if seed is None:
        return None
    others = (key for key in things_in(track, language) if key != seed.key)
    return Shown(
        seed.key,
        seed.emoji,
        language,
        names_of(seed.key, language, SHOWN_OBJECTS),
        tuple(names_of(key, language, SHOWN_OBJECTS) for key in others),
    )


def object_ways(key: str, language: str) -> tuple[str, ...]:
    """Return the ways in which a language names a thing in pictures; none where it has no name for it."""
    return object_names(language, SHOWN_OBJECTS).get(key, ())
