"""Which items a run should hold, by the digests of released versions or the texts at hand."""

from __future__ import annotations

import functools
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from refusalatlas.awareness import AWARE
from refusalatlas.external.sets import get_set, is_external
from refusalatlas.records import Record

if TYPE_CHECKING:
    from refusalatlas.scenes import Target
    from refusalatlas.shown import Shown
    from refusalatlas.tracks import Item


@dataclass(frozen=True, slots=True, order=True)
class SuiteKey:
    """One track and variant, in one version and language, for one of its locales or, where that is empty, for all."""

    track: str
    version: str
    language: str
    variant: str
    locale: str = ""

    def __str__(self) -> str:
        suffix = "" if self.variant == "base" else f" ({self.variant})"
        return f"{self.track} {self.version} in {self.locale or self.language}{suffix}"


@dataclass(frozen=True, slots=True)
class Pin:
    """What pins a set of items: how many they are, and the SHA-256 of their ids and of their texts."""

    n: int
    ids: str
    texts: str


def by_suite(records: Iterable[Record]) -> dict[SuiteKey, list[Record]]:
    """Return records by suite, sorted."""
    found: dict[SuiteKey, list[Record]] = defaultdict(list)
    for record in records:
        key = SuiteKey(record.track, record.version, record.language, record.variant, record.locale or "")
        found[key].append(record)
    return {key: found[key] for key in sorted(found)}


def pin(key: SuiteKey) -> Pin | None:
    """Return what the items of a suite should be, or None where nobody has released such a version.

    The digests of ``tasks/digests.json`` come first; a version that is still being worked on is pinned by its texts.
    """
    from refusalatlas.errors import AtlasError
    from refusalatlas.places import items_in
    from refusalatlas.tracks import item_digest, load_tracks, read_digests

    released = read_digests().get(key.track, {}).get(key.version, {}).get(key.locale or key.language)
    if released is None:
        track = load_tracks().get(key.track)
        if track is None or track.version != key.version:
            return None
        try:
            released = item_digest(items_in(key.track, key.language, key.locale or None))
        except AtlasError:
            return None
    return Pin(int(released["n"]), str(released["ids"]), str(released["texts"]))


def outdated(key: SuiteKey) -> str | None:
    """Return what speaks against a suite of a published set as its YAML describes it now, or None."""
    file = get_set(key.track).file
    if key.version != file.version:
        return f"{key} is another version of the published set than {file.version}"
    if key.locale or key.variant != "base":
        return f"{key} is not how a published set is asked"
    return None


def released_items(key: SuiteKey) -> dict[str, Item]:
    """Return a suite's items by id, in their base variant; none where they are not at hand.

    Seeds keep what is expected of them through the versions X of N-X.
    """
    from refusalatlas.errors import AtlasError
    from refusalatlas.tracks import load_items, load_tracks

    track = load_tracks().get(key.track)
    if track is None or track.version.partition("-")[0] != key.version.partition("-")[0]:
        return {}
    try:
        return {item.id: item for item in load_items(key.track, key.language)}
    except AtlasError:
        return {}


@functools.cache
def prompts_of(key: SuiteKey) -> Mapping[str, str] | None:
    """Return what a suite asks, by item id; None where the texts at hand are not those of its version.

    Those of published sets are never at hand.
    """
    from refusalatlas.errors import AtlasError
    from refusalatlas.places import items_in
    from refusalatlas.tracks import item_digest

    wanted = None if is_external(key.track) else pin(key)
    if wanted is None:
        return None
    try:
        if item_digest(items_in(key.track, key.language, key.locale or None))["texts"] != wanted.texts:
            return None
        return {item.id: item.prompt for item in items_in(key.track, key.language, key.locale or None, key.variant)}
    except AtlasError:
        return None


def base_id(record: Record) -> str:
    """Return the id of the item that a record's item is a variant of."""
    return f"{record.id.rpartition('/')[0]}/base"


def cues_of(record: Record) -> tuple[str, ...]:
    """Return the phrases by which an answer shows that it may know the norm that its item touches; mostly none."""
    if record.expected != AWARE:
        return ()
    (key,) = by_suite([record])
    item = released_items(key).get(base_id(record))
    return item.cues if item is not None else ()


def target_of_record(record: Record) -> Target | None:
    """Return the thing in a picture that a record's item is about; None for most, and where it is not at hand."""
    from refusalatlas.errors import AtlasError
    from refusalatlas.scenes import target_of

    try:
        return target_of(record.track, record.seed_id, record.language)
    except AtlasError:
        return None


def shown_of_record(record: Record) -> Shown | None:
    """Return the thing that a record's item shows in a picture; None for most, and where it is not at hand."""
    from refusalatlas.errors import AtlasError
    from refusalatlas.shown import shown_of

    try:
        return shown_of(record.track, record.seed_id, record.language)
    except AtlasError:
        return None


def ids_digest(records: Sequence[Record]) -> str:
    """Return the SHA-256 of the sorted ids, as `refusalatlas.tracks.item_digest` makes it; variants count as base."""
    ids = sorted(f"{base_id(record)}\n" for record in records)
    return hashlib.sha256("".join(ids).encode("utf-8", "surrogatepass")).hexdigest()


def complaint(key: SuiteKey, records: Sequence[Record]) -> str | None:
    """Return why records are not the whole of a suite, in one clause, or None where they are.

    Of a published set nobody can say offline; see `external`.
    """
    if is_external(key.track):
        return outdated(key)
    wanted = pin(key)
    if wanted is None:
        return f"{key} is no released version of a track"
    if len(records) != wanted.n:
        return f"{key} has {wanted.n} items, not {len(records)}"
    if ids_digest(records) != wanted.ids:
        return f"the items of {key} are not those of the release"
    return None
