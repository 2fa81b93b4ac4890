"""Rules on scenes: boxes that stand apart, targets that are there, and a name in the language for every thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..errors import AtlasError
from ..languages import Language
from ..scenes import OBJECTS, load_scenes, seed_targets
from ..tracks import load_tracks
from .findings import Finding, of_error
from .letters import knows_script, script_share
from .sheets import Sheet, groups, line_of


def check_scenes(sheet: Sheet) -> Iterator[Finding]:
    """Yield a finding where a track's scenes are wrong, or a language that has its texts does not name their things."""
    track = load_tracks().get(sheet.source.track)
    if track is None or not (track.folder / "scenes.jsonl").is_file():
        return
    path = track.folder / "scenes.jsonl"
    try:
        seed_targets(track.name)
        wanted = {thing.key for scene in load_scenes(track.name).values() for thing in scene.things}
    except AtlasError as error:
        yield of_error(error, path, rule="field")
        return
    if sheet.written:
        yield from _check_names(sheet.language, wanted)


def _check_names(language: Language, wanted: set[str]) -> Iterator[Finding]:
    """Yield what is wrong with the names of the things: each once, each its own, in the language's script."""
    path, shown = language.strings, Counter[str]()
    seen: set[str] = set()
    for entry in groups(path)[0].get(OBJECTS, ()):
        line = line_of(path, entry[:24], group=OBJECTS)
        key, sign, names = (part.strip() for part in entry.partition("="))
        first = names.split("|")[0].strip()
        if not sign or not first or key in seen or key not in wanted:
            what = f"{OBJECTS}: {entry!r} names no thing of scenes.jsonl, or one again"
            yield Finding("strings", path, line, what, "write `key = name`, with the keys of the English file")
            continue
        seen.add(key)
        shown[first.casefold()] += 1
        if shown[first.casefold()] == 2:
            what = f"{OBJECTS}: two things are called {first!r}"
            yield Finding("strings", path, line, what, "let the first name of each be its own")
        scripts = [script for script in (language.script, *language.also_in) if knows_script(script)]
        if scripts and not any((script_share(first, script) or 0.0) >= 0.5 for script in scripts):
            what = f"{OBJECTS}: {first!r} is not in the script {language.script}"
            yield Finding("script", path, line, what, f"write it as {language.english_name} does")
    missing = sorted(wanted - seen)
    if missing:
        what = f"{len(missing)} of {len(wanted)} things have no name in {OBJECTS} ({', '.join(missing[:3])}, …)"
        yield Finding("unfinished", path, None, what, "write `key = name` for each, as the English file does")
