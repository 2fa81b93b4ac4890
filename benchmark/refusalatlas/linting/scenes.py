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
        yield from check_names(sheet.language, wanted)


def check_names(
    language: Language, wanted: set[str], *, group: str = OBJECTS, file: str = "scenes.jsonl", each: bool = False
) -> Iterator[Finding]:
    """Yield what is wrong with the names of the things: each once, each its own, in the language's script.

    Args:
        language: The language.
        wanted: Keys of the things.
        group: Group of ``strings.yaml`` that names them.
        file: Where the keys come from.
        each: Whether no way to name a thing may be one of another, instead of the first alone.
    """
    path, shown = language.strings, Counter[str]()
    seen: set[str] = set()
    for entry in groups(path)[0].get(group, ()):
        line = line_of(path, entry[:24], group=group)
        key, sign, names = (part.strip() for part in entry.partition("="))
        ways = [way.strip() for way in names.split("|") if way.strip()]
        if not sign or not ways or key in seen or key not in wanted:
            what = f"{group}: {entry!r} names no thing of {file}, or one again"
            yield Finding("strings", path, line, what, "write `key = name`, with the keys of the English file")
            continue
        seen.add(key)
        first = ways[0]
        for way in ways if each else ways[:1]:
            shown[way.casefold()] += 1
            if shown[way.casefold()] == 2:
                mend = f"let {'every' if each else 'the first'} name of each be its own"
                yield Finding("strings", path, line, f"{group}: two things are called {way!r}", mend)
        scripts = [script for script in (language.script, *language.also_in) if knows_script(script)]
        if scripts and not any((script_share(first, script) or 0.0) >= 0.5 for script in scripts):
            what = f"{group}: {first!r} is not in the script {language.script}"
            yield Finding("script", path, line, what, f"write it as {language.english_name} does")
    missing = sorted(wanted - seen)
    if missing:
        what = f"{len(missing)} of {len(wanted)} things have no name in {group} ({', '.join(missing[:3])}, …)"
        yield Finding("unfinished", path, None, what, "write `key = name` for each, as the English file does")
