"""What is linted: a language's folder, read line by line and past whatever is broken in it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import AtlasError, DataError
from ..files import read_text, read_yaml
from ..languages import Language
from .findings import Finding, of_error


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file of JSON lines."""

    path: Path
    number: int
    row: Mapping[str, Any]

    def text(self, key: str) -> str:
        """Return a field's text without spaces around it; the empty text where there is none."""
        value = self.row.get(key)
        return value.strip() if isinstance(value, str) else ""

    def finding(self, rule: str, what: str, mend: str) -> Finding:
        """Return a finding about this line, which names its seed or id."""
        name = self.row.get("seed_id") or self.row.get("id")
        return Finding(rule, self.path, self.number, f"{name}: {what}" if isinstance(name, str) else what, mend)


def read_lines(path: Path) -> tuple[tuple[Line, ...], tuple[Finding, ...]]:
    """Return the lines of a file that can be read, and a finding for each that cannot."""
    try:
        lines = read_text(path).split("\n")
    except DataError as error:
        return (), (of_error(error, path),)
    good: list[Line] = []
    bad: list[Finding] = []
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            row = _row(text)
        except _TwiceError as error:
            mend = "keep the one that is meant, and delete the other"
            bad.append(Finding("unreadable", path, number, f'"{error}" stands twice', mend))
            continue
        except ValueError as error:
            bad.append(
                Finding("unreadable", path, number, f"not a JSON object ({error})", "compare it with its source")
            )
            continue
        good.append(Line(path, number, row))
    return tuple(good), tuple(bad)


class _TwiceError(ValueError):
    """A key stands twice in an object, of which JSON keeps the last without a word."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise _TwiceError(next(key for n, (key, _) in enumerate(pairs) if key in dict(pairs[:n])))
    return row


def _row(text: str) -> Mapping[str, Any]:
    import json

    try:
        row = json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(row, dict):
        raise ValueError("no braces around it")
    return row


@dataclass(frozen=True, slots=True)
class Source:
    """A track's seeds and English texts, by seed id, from which a language's texts are written."""

    track: str
    seeds: Mapping[str, Mapping[str, Any]]
    english: Mapping[str, Mapping[str, Any]]

    def wanted(self, language: str) -> tuple[tuple[str, str | None], ...]:
        """Return the seeds that a language should have, each with its locale; None where the seed names no locales."""
        found: list[tuple[str, str | None]] = []
        for seed_id, seed in self.seeds.items():
            if seed.get("locales"):
                found += [(seed_id, place) for place in seed["locales"] if place.rpartition("-")[0] == language]
            elif not seed.get("languages") or language in seed["languages"]:
                found.append((seed_id, None))
        return tuple(found)

    def may_wait(self, language: str) -> bool:
        """Whether a language may be without the track as yet: where its seeds name languages, English and this one.

        A track that is in all languages, or that is a place's own, is broken where one lacks it; one that is written
        for some after the other grows.
        """
        named = [seed.get("languages") or () for seed in self.seeds.values()]
        return language != "en" and bool(named) and all("en" in codes and language in codes for codes in named)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A track's texts in a language."""

    language: Language
    source: Source
    path: Path
    lines: tuple[Line, ...]

    @property
    def written(self) -> tuple[Line, ...]:
        """The lines whose text is there."""
        return tuple(line for line in self.lines if line.text("text"))

    @property
    def places(self) -> frozenset[tuple[str, str | None]]:
        """The seeds that are written, each with its locale, and with None for any."""
        seeds = [(str(line.row.get("seed_id")), line.row.get("locale")) for line in self.written]
        return frozenset((seed_id, place) for seed_id, locale in seeds for place in (locale, None))

    def english(self, line: Line, key: str = "text") -> str:
        """Return the English text that a line was written from; the empty text where there is none."""
        value = self.source.english.get(str(line.row.get("seed_id")), {}).get(key)
        return value if isinstance(value, str) else ""

    def seed(self, line: Line) -> Mapping[str, Any]:
        """Return the seed of a line; an empty one where it is unknown."""
        return self.source.seeds.get(str(line.row.get("seed_id")), {})


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that holds ``translations/`` and perhaps ``tasks/``: the built-in pack, or one of somebody else.

    Attributes:
        root: The folder.
        ours: Whether it is the built-in pack, which has to be complete.
    """

    root: Path
    ours: bool

    def folders(self) -> list[Path]:
        """Return the folders of its ``translations/``, by name, whether or not they have a ``language.yaml``."""
        found = (self.root / "translations").glob("*")
        return sorted(path for path in found if path.is_dir() and path.name[:1] not in (".", "_"))


@functools.lru_cache(maxsize=64)
def sources(root: Path, builtin: Path) -> dict[str, Source]:
    """Return the tracks that a pack's texts may be of: the built-in ones and its own.

    Lines that cannot be read are left out; they are findings where their file is looked at.
    """
    found: dict[str, Source] = {}
    for base in dict.fromkeys((builtin, root)):
        for path in sorted((base / "tasks").glob("*/seeds.jsonl")):
            track = path.parent.name
            if track not in found:
                english = base / "translations" / "en" / f"{track}.jsonl"
                found[track] = Source(track, _by_seed(path), _by_seed(english) if english.is_file() else {})
    return found


def _by_seed(path: Path) -> dict[str, Mapping[str, Any]]:
    return {str(line.row.get("seed_id")): line.row for line in read_lines(path)[0]}


def groups(path: Path) -> tuple[dict[str, list[str]], tuple[Finding, ...]]:
    """Return the groups of sentences or phrases in a YAML file, without blank ones, and what is wrong with it."""
    try:
        data = read_yaml(path)
    except AtlasError as error:
        return {}, (of_error(error, path),)
    if not isinstance(data, dict):
        return {}, (Finding("unreadable", path, None, "is not a list of groups", "compare it with the English file"),)
    found, bad = {}, []
    for group, entries in data.items():
        listed = entries if isinstance(entries, list) else [] if entries is None else [object()]
        odd = [entry for entry in listed if not isinstance(entry, str) and entry is not None]
        if odd:
            what = f"{group}: {odd[0]!r} is not read as text" if isinstance(entries, list) else f"{group} is not a list"
            bad.append(Finding("unreadable", path, line_of(path, str(group)), what, "put it in quotes"))
        found[str(group)] = [entry.strip() for entry in listed if isinstance(entry, str) and entry.strip()]
    return found, tuple(bad)


def line_of(path: Path, start: str, *, group: str | None = None) -> int | None:
    """Return the line of a YAML file in which a group begins, or a phrase of the group stands; None where neither."""
    try:
        lines = read_text(path).split("\n")
    except DataError:
        return None
    inside = group is None
    for number, line in enumerate(lines, 1):
        if group is not None and re.match(r"\S", line):
            inside = line.startswith(f"{group}:")
        if (group is None and line.startswith(f"{start}:")) or (group is not None and inside and start in line):
            return number
    return line_of(path, group) if group is not None else None


def strings_of(sheet_lines: tuple[Line, ...]) -> Iterator[tuple[Line, str, str]]:
    """Yield each written text and response of some lines: the line, the field and the text."""
    for line in sheet_lines:
        for key in ("text", "response"):
            if line.text(key):
                yield line, key, line.text(key)
