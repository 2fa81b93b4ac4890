"""Which items a run should hold, by the digests of released versions or the texts at hand."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from refusalatlas.records import Record


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


def ids_digest(records: Sequence[Record]) -> str:
    """Return the SHA-256 of the sorted ids, as `refusalatlas.tracks.item_digest` makes it; variants count as base."""
    ids = sorted(f"{record.id.rpartition('/')[0]}/base\n" for record in records)
    return hashlib.sha256("".join(ids).encode("utf-8", "surrogatepass")).hexdigest()


def complaint(key: SuiteKey, records: Sequence[Record]) -> str | None:
    """Return why records are not the whole of a suite, in one clause, or None where they are."""
    wanted = pin(key)
    if wanted is None:
        return f"{key} is no released version of a track"
    if len(records) != wanted.n:
        return f"{key} has {wanted.n} items, not {len(records)}"
    if ids_digest(records) != wanted.ids:
        return f"the items of {key} are not those of the release"
    return None
