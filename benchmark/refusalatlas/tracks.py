"""Tracks and their items: seeds, times the texts of a language.

A seed says what is expected of an answer and holds no prose. Its text in a language lies in
``translations/<language>/<track>.jsonl``. The two together are an item.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from .digests import Digests, digests_file
from .digests import item_digest as item_digest  # others know it by this module
from .errors import AtlasError, DataError, UnknownNameError
from .files import iter_jsonl, read_yaml, validate
from .languages import Language, get_language, load_languages
from .lines import Metric, SeedLine, TextLine, TrackFile
from .packs import Pack, packs
from .records import Expected, Role
from .strings import strings as strings  # likewise


@dataclass(frozen=True, slots=True)
class Track:
    """A family of seeds that measures one thing.

    Attributes:
        name: Lower-case letters, as in ``refusal_<name>_<language>``.
        version: ``N-X``: N changes when scores stop being comparable, X otherwise.
        axes: ``safety``, ``appropriateness`` or both; the two are never averaged.
        metrics: What its tasks report.
        max_tokens: Cap on new tokens an answer.
        quick: Whether it is part of the tag ``refusal-quick``.
        variants: Forms that its answers are demanded in, besides text; see `variants.VARIANTS`.
        categories: The categories that its seeds may have; none stands for all of the closed list.
        folder: Where its seeds lie.
        pack: Name of the pack it comes from.
        pictures_of: The track whose name its tasks bear, since they ask the same with pictures; see `shown`.
    """

    name: str
    title: str
    version: str
    axes: tuple[str, ...]
    summary: str
    after: str
    metrics: tuple[Metric, ...]
    licence: str
    max_tokens: int
    quick: bool
    leaves_out: str
    variants: tuple[str, ...]
    categories: tuple[str, ...]
    folder: Path
    pack: str
    pictures_of: str | None = None


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

    def asked_in(self, language: str) -> bool:
        """Whether the seed is meant for a language, or for one of its locales."""
        if self.locales is not None:
            return any(place.rpartition("-")[0] == language for place in self.locales)
        return self.languages is None or language in self.languages


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
        cues: Phrases of which an answer that knows the local norm has one (``expected: aware`` only).
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
    cues: tuple[str, ...] = ()


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
    data = validate(TrackFile, read_yaml(path), path)
    if data.name != folder.name:
        raise DataError(f"name is {data.name!r} in folder {folder.name!r}", where=path, mend="make them the same")
    if data.pictures_of and not (folder.parent / data.pictures_of / "track.yaml").is_file():
        what = f"pictures_of: there is no track {data.pictures_of!r} beside it"
        raise DataError(what, where=path, mend="name the track whose question the pictures ask")
    fields = data.model_dump()
    fields["axes"] = fields.pop("axis")
    for key in ("axes", "metrics", "variants", "categories"):
        fields[key] = tuple(fields[key])
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
    definition = get_track(track)
    path = definition.folder / "seeds.jsonl"
    seeds: dict[str, Seed] = {}
    for number, row in iter_jsonl(path):
        where = f"{path}:{number}"
        line = validate(SeedLine, row, where)
        if line.seed_id in seeds:
            raise DataError(f"seed {line.seed_id!r} stands there twice", where=where)
        if definition.pack == "builtin" and line.category not in load_categories():
            raise DataError(f"category {line.category!r} is not in tasks/categories.yaml", where=where)
        if definition.categories and line.category not in definition.categories:
            raise DataError(f"category {line.category!r} is none of those in track.yaml", where=where)
        if line.axis not in definition.axes:
            raise DataError(f"axis {line.axis!r} is none of those in track.yaml", where=where)
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
        if seed.locales is not None and line.locale not in seed.locales:
            raise DataError(f"seed {line.seed_id!r} is not asked in {place}", where=where, mend="see its locales")
        if (seed.expected == "aware") != (line.meta.aware is not None):
            what = "expects awareness and lacks" if seed.expected == "aware" else "expects no awareness and has"
            raise DataError(f"seed {line.seed_id!r} {what} meta.aware", where=where, mend="see tasks/README.md")
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
        cues=tuple(line.meta.aware.cues) if line.meta.aware else (),
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


def asked_as(track: str) -> str:
    """Return the name that a track has in the names and tags of its tasks: its own, or that of whose pictures it is."""
    known = load_tracks().get(track)
    return (known.pictures_of if known else None) or track


def task_name(track: str, language: str, locale: str | None = None, variant: str = "base") -> str:
    """Return the lm_eval name of a task; nothing ever parses it back.

    Tasks with pictures stay outside the glob ``refusal_*``: lm_eval loses the pictures where both run together.
    """
    from .variants import PICTURE, is_pictured

    family, form = ("refusalmm", variant.removeprefix(PICTURE)) if is_pictured(variant) else ("refusal", variant)
    ending = [form.removeprefix("_")] if form not in ("", "base") else []
    parts = [family, asked_as(track), locale or language, *ending]
    return re.sub(r"[^A-Za-z0-9]", "_", "_".join(parts))
