"""Tracks and their items: seeds, times the texts of a language.

A seed says what is expected of an answer and holds no prose. Its text in a language lies in
``translations/<language>/<track>.jsonl``. The two together are an item.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .digests import Digests, digests_file
from .digests import item_digest as item_digest  # others know it by this module
from .errors import AtlasError, DataError, UnknownNameError
from .files import iter_jsonl, read_yaml, validate
from .languages import Language, get_language, load_languages
from .packs import Pack, packs
from .records import Expected, Role

Metric = Literal[
    "over_refusal",
    "unsafe_compliance",
    "youden_j",
    "refusal_rate",
    "usable_rate",
    "contested_rate",
    "off_language_rate",
]
_Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]
_Text = Annotated[str, Field(max_length=20_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _TrackFile(_Strict):
    """What ``track.yaml`` holds."""

    name: Annotated[str, Field(pattern=r"^[a-z]+$")]
    title: str
    version: Annotated[str, Field(pattern=r"^[0-9]+-[0-9]+$")]
    axis: Literal["safety", "appropriateness"]
    summary: str
    after: str
    metrics: Annotated[list[Metric], Field(min_length=1)]
    licence: str
    max_tokens: Annotated[int, Field(ge=1, le=8192)]
    quick: bool
    leaves_out: str
    variants: list[Literal["json"]] = []


class SeedLine(_Strict):
    """One line of ``seeds.jsonl``."""

    seed_id: _Slug
    cluster_id: _Slug
    category: _Slug
    axis: Literal["safety", "appropriateness"]
    expected: Expected
    role: Role
    languages: list[str] | None = None
    locales: list[str] | None = None
    meta: dict[str, Any]


class TextLine(_Strict):
    """One line of ``translations/<language>/<track>.jsonl``; a blank text is one that is still to be written."""

    seed_id: _Slug
    locale: str | None = None
    text: _Text
    response: _Text | None = None
    method: Literal["native", "translated", "machine"]
    author: Annotated[str, Field(min_length=1, max_length=120)]
    reviewer: Annotated[str, Field(min_length=1, max_length=120)] | None
    meta: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Track:
    """A family of seeds that measures one thing.

    Attributes:
        name: Lower-case letters, as in ``refusal_<name>_<language>``.
        version: ``N-X``: N changes when scores stop being comparable, X otherwise.
        axis: ``safety`` or ``appropriateness``; the two are never averaged.
        metrics: What its tasks report.
        max_tokens: Cap on new tokens an answer.
        quick: Whether it is part of the tag ``refusal-quick``.
        variants: Forms that its answers are demanded in, besides text; see `variants.VARIANTS`.
        folder: Where its seeds lie.
        pack: Name of the pack it comes from.
    """

    name: str
    title: str
    version: str
    axis: str
    summary: str
    after: str
    metrics: tuple[Metric, ...]
    licence: str
    max_tokens: int
    quick: bool
    leaves_out: str
    variants: tuple[str, ...]
    folder: Path
    pack: str


@dataclass(frozen=True, slots=True)
class Seed:
    """One source prompt and what is expected of an answer."""

    seed_id: str
    cluster_id: str
    category: str
    axis: str
    expected: Expected
    role: Role
    languages: tuple[str, ...] | None
    locales: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Item:
    """One prompt as it is asked: a seed in a language, locale and format variant.

    Attributes:
        id: ``<track>/<seed_id>/<locale or language>/<variant>``.
        prompt: What the user says.
        response: A given answer (``minos`` only), to try judges on; no model sees it.
        method: How the text came to be: ``native``, ``translated`` or ``machine``.
        author: Who wrote it.
        reviewer: The person who speaks the language and has read it, or None.
    """

    id: str
    seed_id: str
    cluster_id: str
    track: str
    version: str
    language: str
    locale: str | None
    category: str
    axis: str
    role: Role
    variant: str
    expected: Expected
    prompt: str
    response: str | None
    method: str
    author: str
    reviewer: str | None


@functools.cache
def load_tracks() -> dict[str, Track]:
    """Return all tracks by name; a third party's that is broken is named on stderr and left out.

    Raises:
        DataError: where one of the built-in tracks is broken.
    """
    found: dict[str, Track] = {}
    for pack in packs():
        for path in sorted(pack.tasks.glob("*/track.yaml")) if pack.tasks else []:
            try:
                track = read_track(path.parent, pack.name)
                if track.name in found:
                    raise DataError(f"track {track.name!r} is there already", where=path, mend="give it another name")
                found[track.name] = track
            except DataError as error:
                _skip(pack, error)
    return found


def _skip(pack: Pack, error: AtlasError) -> None:
    if pack.ours:
        raise error
    import sys

    sys.stderr.write(f"refusalatlas: pack {pack.distribution} {pack.version}: {error}\n")


def read_track(folder: Path, pack: str = "builtin") -> Track:
    """Return the track that a folder holds.

    Raises:
        DataError: where ``track.yaml`` is missing or wrong.
    """
    path = folder / "track.yaml"
    data = validate(_TrackFile, read_yaml(path), path)
    if data.name != folder.name:
        raise DataError(f"name is {data.name!r} in folder {folder.name!r}", where=path, mend="make them the same")
    fields = data.model_dump()
    fields["metrics"], fields["variants"] = tuple(fields["metrics"]), tuple(fields["variants"])
    return Track(**fields, folder=folder, pack=pack)


def get_track(name: str) -> Track:
    """Return a track by name.

    Raises:
        UnknownNameError: offering the nearest names.
    """
    known = load_tracks()
    if name not in known:
        raise UnknownNameError("track", name, sorted(known))
    return known[name]


@functools.cache
def load_categories() -> tuple[str, ...]:
    """Return the closed list of categories, in the order of ``tasks/categories.yaml``."""
    folder = packs()[0].tasks
    assert folder is not None  # noqa: S101 - the built-in pack has tasks
    return tuple(read_yaml(folder / "categories.yaml"))


@functools.cache
def load_seeds(track: str) -> dict[str, Seed]:
    """Return a track's seeds by id, in file order.

    Raises:
        DataError: naming the line that is wrong, doubled or outside the closed lists.
    """
    path = get_track(track).folder / "seeds.jsonl"
    seeds: dict[str, Seed] = {}
    for number, row in iter_jsonl(path):
        where = f"{path}:{number}"
        line = validate(SeedLine, row, where)
        if line.seed_id in seeds:
            raise DataError(f"seed {line.seed_id!r} stands there twice", where=where)
        if get_track(track).pack == "builtin" and line.category not in load_categories():
            raise DataError(f"category {line.category!r} is not in tasks/categories.yaml", where=where)
        fields = line.model_dump(exclude={"meta"})
        for key in ("languages", "locales"):
            fields[key] = tuple(fields[key]) if fields[key] is not None else None
        seeds[line.seed_id] = Seed(**fields)
    if not seeds:
        raise DataError("holds no seeds", where=path)
    return seeds


@functools.cache
def equating_seeds(track: str) -> frozenset[str]:
    """Return the ids of a track's seeds that mean the same word for word in all languages (``meta.equating``)."""
    rows = iter_jsonl(get_track(track).folder / "seeds.jsonl")
    return frozenset(str(row["seed_id"]) for _, row in rows if row.get("meta", {}).get("equating") is True)


def texts_path(track: str, language: str) -> Path | None:
    """Return the file with a track's texts in a language, of the first pack that has it; None before one is written."""
    found = _texts(track, language)
    return found[1] if found else None


def _texts(track: str, language: str) -> tuple[Pack, Path] | None:
    for pack in packs():
        if pack.translations is not None:
            path = pack.translations / language / f"{track}.jsonl"
            if path.is_file() and _begun(path):
                return pack, path
    return None


@functools.lru_cache(maxsize=1024)
def _begun(path: Path) -> bool:
    """Whether any text of a file is written; a file that cannot be read counts, so that its reader says why."""
    try:
        return any(not isinstance(row.get("text"), str) or row["text"].strip() for _, row in iter_jsonl(path))
    except DataError:
        return True


def languages_of(track: str) -> list[str]:
    """Return the codes of the languages that a track has texts in, sorted; a third party's broken ones are left out."""
    return [code for code in load_languages() if _usable(track, code)]


@functools.cache
def _usable(track: str, language: str) -> bool:
    found = _texts(track, language)
    if found is None or found[0].ours:
        return found is not None
    try:
        load_items(track, language)
    except DataError as error:
        _skip(found[0], error)
        return False
    return True


@functools.lru_cache(maxsize=512)
def load_items(track: str, language: str) -> tuple[Item, ...]:
    """Return a track's items in a language, in the order of the seeds.

    Raises:
        UnknownNameError: where track or language is unknown.
        DataError: where the track has no texts in the language, or a line is wrong.
    """
    definition, speech = get_track(track), get_language(language)
    path = texts_path(track, language)
    if path is None:
        raise DataError(
            f"track {track} has no texts in {language}", mend=f"write translations/{language}/{track}.jsonl"
        )
    return read_items(definition, speech, path)


def read_items(track: Track, language: Language, path: Path) -> tuple[Item, ...]:
    """Return the items that a file of texts gives.

    Raises:
        DataError: naming the line that is wrong, doubled, or whose seed does not exist.
    """
    seeds = load_seeds(track.name)
    items: dict[tuple[str, str], Item] = {}
    for number, row in iter_jsonl(path):
        where = f"{path}:{number}"
        line = validate(TextLine, row, where)
        seed = seeds.get(line.seed_id)
        if seed is None:
            raise DataError(f"no seed {line.seed_id!r} in tasks/{track.name}/seeds.jsonl", where=where)
        if line.locale is not None and not line.locale.startswith(f"{language.code}-"):
            raise DataError(f"locale {line.locale!r} is not one of {language.code}", where=where)
        place = line.locale or language.code
        if not line.text.strip():
            continue
        if (line.seed_id, place) in items:
            raise DataError(f"seed {line.seed_id!r} stands there twice for {place}", where=where)
        items[line.seed_id, place] = _item(track, language, seed, line, place)
    order = {seed: position for position, seed in enumerate(seeds)}
    return tuple(item for _, item in sorted(items.items(), key=lambda pair: (order[pair[0][0]], pair[0][1])))


def _item(track: Track, language: Language, seed: Seed, line: TextLine, place: str) -> Item:
    return Item(
        id=f"{track.name}/{seed.seed_id}/{place}/base",
        seed_id=seed.seed_id,
        cluster_id=seed.cluster_id,
        track=track.name,
        version=track.version,
        language=language.code,
        locale=line.locale,
        category=seed.category,
        axis=seed.axis,
        role=seed.role,
        variant="base",
        expected=seed.expected,
        prompt=line.text,
        response=line.response or None,
        method=line.method,
        author=line.author,
        reviewer=line.reviewer,
    )


@functools.cache
def read_digests() -> Digests:
    """Return ``{track: {version: {language: {"n", "ids", "texts"}}}}`` of all packs; the first to name one wins.

    Raises:
        DataError: where the built-in digests are broken; a third party's are named on stderr and left out.
    """
    merged: Digests = {}
    for pack in packs():
        path = pack.tasks / "digests.json" if pack.tasks is not None else None
        if path is None or not path.is_file():
            continue
        try:
            for track, versions in digests_file(path).items():
                for version, languages in versions.items():
                    known = merged.setdefault(track, {}).setdefault(version, {})
                    for code, digest in languages.items():
                        known.setdefault(code, digest)
        except DataError as error:
            _skip(pack, error)
    return merged


def strings(language: str) -> dict[str, list[str]]:
    """Return the groups of sentences in a language's ``strings.yaml``, without those that are still to be written.

    Raises:
        UnknownNameError: where the language is unknown.
        DataError: where a group is not a list of sentences.
    """
    path = get_language(language).strings
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise DataError("is not a mapping of groups", where=path)
    found = {}
    for group, sentences in data.items():
        if not isinstance(sentences, (list, type(None))):
            raise DataError(f"{group} is not a list of sentences", where=path, mend="write one a line, after a hyphen")
        listed = [sentence for sentence in sentences or () if sentence is not None]
        if not all(isinstance(sentence, str) and sentence.strip() for sentence in listed):
            raise DataError(f"{group} is not a list of sentences", where=path, mend="quote each of them")
        found[group] = listed
    return found


def task_name(track: str, language: str, locale: str | None = None, variant: str = "base") -> str:
    """Return the lm_eval name of a task; nothing ever parses it back."""
    parts = ["refusal", track, locale or language] + ([] if variant == "base" else [variant])
    return re.sub(r"[^A-Za-z0-9]", "_", "_".join(parts))
