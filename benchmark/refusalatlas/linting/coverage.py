"""Rules on what has to be there: every seed once, known fields, closed categories."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import AtlasError
from ..files import problems, read_yaml
from ..languages import Language
from ..lines import SeedLine, TextLine
from ..scaffolding.facts import check_locale
from ..tracks import read_track
from .findings import Finding, of_error
from .sheets import Sheet, read_lines

_SHOWN = 3


def check_coverage(sheet: Sheet) -> Iterator[Finding]:
    """Yield a finding for each line whose fields are wrong or doubled, and one for the seeds that have no text."""
    seen: dict[tuple[str, Any], int] = {}
    for line in sheet.lines:
        seed_id = str(line.row.get("seed_id"))
        try:
            TextLine.model_validate(dict(line.row))
        except ValidationError as error:
            yield line.finding("field", "; ".join(problems(error)), "compare it with the English line")
            continue
        if seed_id not in sheet.source.seeds:
            yield line.finding("seed", f"there is no such seed in {sheet.source.track}", "take its id from English")
        locale = line.row.get("locale")
        if locale is not None and not str(locale).startswith(f"{sheet.language.code}-"):
            what = f"locale {locale!r} is not one of {sheet.language.code}"
            yield line.finding("seed", what, f"write {sheet.language.default_locale} or the like")
        elif locale is not None and not _is_place(str(locale), sheet.language.code):
            what = f"locale {locale!r} is of no place"
            yield line.finding("seed", what, f"write {_meant(str(locale), sheet.language)}")
        places = sheet.source.seeds.get(seed_id, {}).get("locales")
        if places and locale not in places:
            what = f"is asked in {', '.join(places)} and not in {locale or sheet.language.code}"
            yield line.finding("seed", what, "mend the locale here, or those of the seed")
        first = seen.setdefault((seed_id, locale), line.number)
        if first != line.number:
            yield line.finding("seed", f"stands in line {first} already", "delete one of the two")
    yield from _missing(sheet)


@functools.lru_cache(maxsize=512)
def _is_place(locale: str, code: str) -> bool:
    try:
        check_locale(locale, code)
    except AtlasError:
        return False
    return True


def _meant(locale: str, language: Language) -> str:
    """Return the locale that differs in nothing but capitals where there is one, or else the usual one."""
    code, _, place = locale.rpartition("-")
    upper = f"{code}-{place.upper()}"
    return upper if _is_place(upper, language.code) else f"{language.default_locale} or the like"


def _missing(sheet: Sheet) -> Iterator[Finding]:
    wanted = sheet.source.wanted(sheet.language.code)
    absent = [(seed_id, place) for seed_id, place in wanted if (seed_id, place) not in sheet.places]
    missing = [f"{seed_id} in {place}" if place else seed_id for seed_id, place in absent]
    if missing:
        names = ", ".join(missing[:_SHOWN]) + (", …" if len(missing) > _SHOWN else "")
        what = f"{len(missing)} of {len(wanted)} texts are not written yet ({names})"
        yield Finding("unfinished", sheet.path, None, what, "write them from the English beside them")
    for line in sheet.written:
        if sheet.english(line, "response") and not line.text("response"):
            yield line.finding("unfinished", "the response is not written yet", "write it from the English one")


def not_begun(sheet: Sheet) -> Finding:
    """Return a note on a track whose texts a language is to have and has none of yet."""
    count = len(sheet.source.wanted(sheet.language.code))
    what = (
        f"not begun: {count} texts are to be written, and the groups of strings.yaml that begin with the track's name"
    )
    return Finding("unfinished", sheet.path, None, what, "write them from the English ones", "info")


def check_seeds(path: Path, categories: frozenset[str]) -> Iterator[Finding]:
    """Yield what is wrong with a track's ``seeds.jsonl``: fields, doubled ids, categories that are not in the list."""
    lines, bad = read_lines(path)
    yield from bad
    seen: dict[str, int] = {}
    for line in lines:
        try:
            seed = SeedLine.model_validate(dict(line.row))
        except ValidationError as error:
            yield line.finding("field", "; ".join(problems(error)), "compare it with the lines around it")
            continue
        if seed.category not in categories:
            yield line.finding("category", f"category {seed.category!r} is not in categories.yaml", "take one of those")
        first = seen.setdefault(seed.seed_id, line.number)
        if first != line.number:
            yield line.finding("seed", f"stands in line {first} already", "give one of the two another id")


def check_tracks(root: Path, builtin: Path) -> Iterator[Finding]:
    """Yield what is wrong with the tracks of a pack."""
    categories = frozenset(_categories(builtin)) | frozenset(_categories(root))
    for path in sorted((root / "tasks").glob("*/seeds.jsonl")):
        try:
            read_track(path.parent)
        except AtlasError as error:
            yield of_error(error, path.parent / "track.yaml")
        yield from check_seeds(path, categories)


def _categories(root: Path) -> list[str]:
    path = root / "tasks" / "categories.yaml"
    try:
        data = read_yaml(path) if path.is_file() else {}
    except AtlasError:
        return []
    return [str(name) for name in data] if isinstance(data, dict) else []
