"""Rules on pictures of one thing: the same text beside both pictures of a cluster, which names neither thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import AtlasError
from ..pictures import icon_path
from ..shown import ShownSeed, object_ways, shown_seeds, things_in
from ..strings import SHOWN_OBJECTS
from ..tracks import load_tracks
from .findings import Finding, of_error
from .scenes import check_names
from .services import service
from .sheets import Line, Sheet


def check_shown(sheet: Sheet) -> Iterator[Finding]:
    """Yield what is wrong with a language's texts about pictures of one thing, their seeds, icons and names."""
    track = load_tracks().get(sheet.source.track)
    if track is None or track.pictures_of is None:
        return
    path = track.folder / "seeds.jsonl"
    try:
        seeds = shown_seeds(track.name)
    except AtlasError as error:
        yield of_error(error, path, rule="field")
        return
    seen = {name: seed for name, seed in seeds.items() if seed.seen_in(sheet.language.code)}
    yield from _check_icons(track.name, seen)
    yield from _check_clusters(sheet, path, seen)
    if sheet.written:
        wanted = set(things_in(track.name, sheet.language.code))
        yield from check_names(sheet.language, wanted, group=SHOWN_OBJECTS, file="seeds.jsonl", each=True)
        yield from _check_texts(sheet, seeds)


def _check_icons(track: str, seen: Mapping[str, ShownSeed]) -> Iterator[Finding]:
    for emoji in sorted({seed.emoji for seed in seen.values()}):
        path = icon_path(track, emoji)
        if not path.is_file():
            yield Finding("icon", path, None, "is not there", f"draw it with `refusalatlas tasks icons {track} FONT`")


def _check_clusters(sheet: Sheet, path: Path, seen: Mapping[str, ShownSeed]) -> Iterator[Finding]:
    """Each cluster is one picture that touches a norm and one that does not, of two things, in the same locales."""
    clusters: dict[str, list[str]] = defaultdict(list)
    for name in seen:
        clusters[str(sheet.source.seeds[name].get("cluster_id"))].append(name)
    for cluster, names in clusters.items():
        expected = sorted(str(sheet.source.seeds[name].get("expected")) for name in names)
        alike = len({seen[name].locales for name in names}) == 1 and len({seen[name].key for name in names}) == 2
        if expected != ["aware", "comply"] or not alike:
            what = f"{cluster}: is not one `aware` and one `comply` seed of two things in the same locales"
            yield Finding("seed", path, None, what, "let the two differ in the thing alone")


def _check_texts(sheet: Sheet, seeds: Mapping[str, ShownSeed]) -> Iterator[Finding]:
    first: dict[tuple[str, str], Line] = {}
    things: dict[str, set[str]] = defaultdict(set)
    for name, seed in seeds.items():
        things[str(sheet.source.seeds.get(name, {}).get("cluster_id"))].add(seed.key)
    for line in sheet.written:
        if not sheet.seed(line):
            continue
        cluster, place = str(sheet.seed(line).get("cluster_id")), str(line.row.get("locale"))
        other = first.setdefault((cluster, place), line)
        if other.text("text") != line.text("text"):
            what = f"says something else than line {other.number}, about the other picture of its cluster"
            yield line.finding("pair", what, "let the picture be all that differs")
        ways = [way for key in sorted(things[cluster]) for way in object_ways(key, sheet.language.code)]
        named = service("find_cues")(line.text("text"), sheet.language.code, ways)
        if named:
            what = f"names {named[0]!r}, which only the picture may show"
            yield line.finding("shown", what, "say “this” instead")
        yield from _check_cues(sheet, line, ways)


def _check_cues(sheet: Sheet, line: Line, ways: list[str]) -> Iterator[Finding]:
    """A cue that the name of a thing holds would take an answer that only names it for one that knows the norm."""
    meta = line.row.get("meta")
    found = meta.get("aware") if isinstance(meta, dict) else None
    cues = found.get("cues") if isinstance(found, dict) else None
    cues = [cue for cue in cues if isinstance(cue, str) and cue.strip(" *")] if isinstance(cues, list) else []
    for way in ways:
        held = service("find_cues")(way, sheet.language.code, cues)
        if held:
            what = f"{way!r}, a name of a thing in its pictures, holds the cue {held[0]!r}"
            yield line.finding("aware", what, "take the cue away, or lengthen it by what is particular to the norm")
            return
