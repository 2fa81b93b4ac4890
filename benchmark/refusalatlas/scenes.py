"""Scenes: everyday things at known places of a picture, and which of them a request is about.

``tasks/<track>/scenes.jsonl`` holds the scenes, ``meta.target`` of a seed names one and a thing in it, and the group
`OBJECTS` of a language's ``strings.yaml`` says what the things are called.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict
from pydantic import Field as Limit

from .errors import DataError
from .files import iter_jsonl, validate
from .strings import strings

if TYPE_CHECKING:
    from .tracks import Item

WIDTH, HEIGHT = 640, 480
"""Size of every picture, in pixels."""

KEY, EMOJI = r"^[a-z]+(_[a-z]+)*$", r"^[0-9A-F]{4,6}$"
"""What the key of a thing, and the code point of its icon, look like."""

OBJECTS = "grounding_objects"
"""Group of ``strings.yaml``: one entry a thing, ``key = name|another name``; the first name is the one shown."""

_THOUSAND = 1000

Box = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels; right and bottom are the first that are outside."""


class ThingLine(BaseModel):
    """A thing in a line of ``scenes.jsonl``.

    Attributes:
        key: Its name, in English in every language.
        emoji: Code point of its icon, in hexadecimal.
        box: Left, top, right, bottom in pixels.
    """

    model_config = ConfigDict(extra="forbid")

    key: Annotated[str, Limit(pattern=KEY, max_length=40)]
    emoji: Annotated[str, Limit(pattern=EMOJI)]
    box: tuple[int, int, int, int]


class SceneLine(BaseModel):
    """One line of ``scenes.jsonl``."""

    model_config = ConfigDict(extra="forbid")

    scene: Annotated[str, Limit(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]
    things: Annotated[list[ThingLine], Limit(min_length=3, max_length=12)]


class SeedTarget(BaseModel):
    """``meta.target`` of a seed: a scene, and the thing in it that the request is about."""

    model_config = ConfigDict(extra="forbid")

    scene: str
    thing: str


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing in a scene: its key, the code point of its icon in hexadecimal, and its box."""

    key: str
    emoji: str
    box: Box

    @property
    def middle(self) -> tuple[int, int]:
        """The pixel in the middle of its box."""
        left, top, right, bottom = self.box
        return (left + right) // 2, (top + bottom) // 2


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture's things, in the order in which they are listed."""

    name: str
    things: tuple[Thing, ...]

    def thing(self, key: str) -> Thing:
        """Return a thing by its key.

        Raises:
            KeyError: where there is none.
        """
        found = next((thing for thing in self.things if thing.key == key), None)
        if found is None:
            raise KeyError(key)
        return found


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about, in a language.

    Attributes:
        scene: Name of the scene.
        key: Key of the thing.
        language: Code of the language that the names are in.
        box: Where the thing is.
        names: Ways to name it, the one that is shown first.
        others: Ways to name each of the other things.
    """

    scene: str
    key: str
    language: str
    box: Box
    names: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]

    @property
    def middle(self) -> tuple[int, int]:
        """The pixel in the middle of its box."""
        return Thing(self.key, "", self.box).middle


@functools.cache
def load_scenes(track: str) -> Mapping[str, Scene]:
    """Return a track's scenes by name; none for most tracks.

    Raises:
        UnknownNameError: where the track is unknown.
        DataError: naming the line that is wrong.
    """
    from .tracks import get_track

    path = get_track(track).folder / "scenes.jsonl"
    if not path.is_file():
        return {}
    found: dict[str, Scene] = {}
    for number, row in iter_jsonl(path):
        where = f"{path}:{number}"
        line = validate(SceneLine, row, where)
        scene = Scene(line.scene, tuple(Thing(thing.key, thing.emoji, thing.box) for thing in line.things))
        complaint = "stands there twice" if line.scene in found else _complaint(scene)
        if complaint:
            raise DataError(f"scene {line.scene!r}: {complaint}", where=where, mend="mend the boxes or keys")
        found[line.scene] = scene
    return found


def _complaint(scene: Scene) -> str | None:
    """Return what is wrong with a scene in itself, or None."""
    for number, thing in enumerate(scene.things):
        left, top, right, bottom = thing.box
        if not (0 <= left < right <= WIDTH and 0 <= top < bottom <= HEIGHT):
            return f"the box of {thing.key!r} is none within {WIDTH} by {HEIGHT} pixels"
        for other in scene.things[:number]:
            if other.key == thing.key:
                return f"{thing.key!r} stands there twice"
            if overlap(other.box, thing.box) > 0:
                return f"{other.key!r} and {thing.key!r} overlap"
    return None


def overlap(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the intersection over union of two boxes, 0 to 1; 0 where one has no area."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return width * height / (areas[0] + areas[1] - width * height)


def ambiguity(scene: Scene, key: str) -> str | None:
    """Return why an answer about another thing might be taken for one about this one, or None.

    Answers may be in pixels or per mille of the picture, and nothing says in which. So no pixel of another thing may,
    read per mille, be one of this thing, and the middle of the picture, where a guess goes, is none of it either.
    """
    target = scene.thing(key)
    for thing in scene.things:
        if thing.key != key and overlap(per_mille(thing.box), target.box) > 0:
            return f"{thing.key!r} in pixels is {key!r} per mille"
    for x, y in ((WIDTH / 2, HEIGHT / 2), per_mille((WIDTH / 2, HEIGHT / 2))):
        if contains(target.box, (x, y)):
            return f"{key!r} is in the middle"
    return None


def per_mille(numbers: Sequence[float]) -> tuple[float, ...]:
    """Return numbers that are per mille of width and height, in turn, as pixels."""
    return tuple(number * (HEIGHT if i % 2 else WIDTH) / _THOUSAND for i, number in enumerate(numbers))


def contains(box: Sequence[float], point: Sequence[float]) -> bool:
    """Whether a point is in a box or on its edge."""
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


@functools.lru_cache(maxsize=256)
def object_names(language: str, group: str = OBJECTS) -> Mapping[str, tuple[str, ...]]:
    """Return what a language calls the things of a group, by key; no names where the language has none yet.

    Raises:
        UnknownNameError: where the language is unknown.
        DataError: where an entry is not ``key = name``, or a key stands there twice.
    """
    where = f"translations/{language}/strings.yaml"
    found: dict[str, tuple[str, ...]] = {}
    for entry in strings(language).get(group, []):
        key, sign, names = entry.partition("=")
        ways = tuple(name.strip() for name in names.split("|") if name.strip())
        if not sign or not ways or key.strip() in found:
            what = f"{group}: {entry!r} is not `key = name`, or names a thing again"
            raise DataError(what, where=where, mend="write it as the English file does")
        found[key.strip()] = ways
    return found


def names_of(thing: str, language: str, group: str = OBJECTS) -> tuple[str, ...]:
    """Return the ways in which a language names a thing, the one that is shown first.

    Raises:
        DataError: where it names none.
    """
    found = object_names(language, group).get(thing)
    if found is None:
        where = f"translations/{language}/strings.yaml"
        raise DataError(f"{group} does not name {thing!r}", where=where, mend=f"write `{thing} = …` there")
    return found


@functools.lru_cache(maxsize=256)
def seed_targets(track: str) -> Mapping[str, tuple[Scene, Thing]]:
    """Return the scene and the thing that each seed of a track is about; none for most tracks.

    Raises:
        UnknownNameError: where the track is unknown.
        DataError: naming the seed that is wrong.
    """
    from .tracks import get_track

    path = get_track(track).folder / "seeds.jsonl"
    found: dict[str, tuple[Scene, Thing]] = {}
    for number, row in iter_jsonl(path):
        meta = row.get("meta")
        if not isinstance(meta, Mapping) or "target" not in meta:
            continue
        where = f"{path}:{number}"
        named = validate(SeedTarget, meta["target"], where)
        scene = load_scenes(track).get(named.scene)
        if scene is None or named.thing not in {thing.key for thing in scene.things}:
            what = f"meta.target: there is no {named.thing!r} in a scene {named.scene!r}"
            raise DataError(what, where=where, mend=f"see tasks/{track}/scenes.jsonl")
        unclear = ambiguity(scene, named.thing)
        if unclear:
            raise DataError(f"meta.target: {unclear}", where=where, mend="move it in scenes.jsonl")
        found[str(row.get("seed_id"))] = scene, scene.thing(named.thing)
    return found


def target_of(track: str, seed_id: str, language: str) -> Target | None:
    """Return what an item is about; None for the items of most tracks, and of tracks that are not here.

    Raises:
        DataError: where the track's scenes are wrong, or the language does not name a thing in one.
    """
    from .tracks import load_tracks

    if track not in load_tracks():
        return None
    found = seed_targets(track).get(seed_id)
    if found is None:
        return None
    scene, thing = found
    return Target(
        scene.name, thing.key, language, thing.box, names_of(thing.key, language),
        tuple(names_of(other.key, language) for other in scene.things if other.key != thing.key),
    )  # fmt: skip


def scene_of(item: Item) -> Scene | None:
    """Return the scene that an item is asked about; None for the items of most tracks."""
    found = seed_targets(item.track).get(item.seed_id)
    return found[0] if found else None


def listed(scene: Scene, language: str) -> str:
    """Return a scene in words: one line a thing, with its box in pixels.

    Raises:
        DataError: where the language does not name one of its things.
    """
    return "\n".join(f"- {names_of(thing.key, language)[0]}: {list(thing.box)}" for thing in scene.things)


@functools.lru_cache(maxsize=256)
def sentences(language: str, group: str) -> tuple[str, ...]:
    """Return a group of sentences of a language.

    Raises:
        DataError: where it has none.
    """
    found = strings(language).get(group)
    if not found:
        where = f"translations/{language}/strings.yaml"
        raise DataError(f"has no sentence in {group}", where=where, mend="write one, as the English file has it")
    return tuple(found)
