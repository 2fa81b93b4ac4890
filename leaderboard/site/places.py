"""Locales: a language where it is spoken, for what depends on the law or custom of a place."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from refusalatlas.files import read_yaml
from refusalatlas.languages import load_languages

from .gather import Atlas, Entry, Place
from .metrics import shown_metrics
from .tables import Column, Estimate, Row, Table, Text, Value, stat_columns
from .views import Speech, model_text, place_title

REGIONS = Path(__file__).resolve().parent.parent / "regions.yaml"


@dataclass(frozen=True, slots=True)
class Locale:
    """A locale as pages name it."""

    code: str
    region: str
    language: str
    speech: Speech
    models: int


def locales(atlas: Atlas) -> list[Locale]:
    """Return the locales that anybody has answers for, and the one that each language speaks for by default."""
    asked: dict[str, set[str]] = {}
    spoken = {language.default_locale: code for code, language in load_languages().items()}
    for entry in atlas.entries:
        for place in entry.estimates:
            if place.locale:
                asked.setdefault(place.locale, set()).add(entry.slug)
                spoken.setdefault(place.locale, place.language)
    found = [_locale(code, language, len(asked.get(code, ()))) for code, language in spoken.items()]
    return sorted(found, key=lambda one: (one.region, one.code))


def _locale(code: str, language: str, models: int) -> Locale:
    speech = Speech.of(language)
    return Locale(code, _regions().get(code.rpartition("-")[2], code), speech.english_name, speech, models)


@functools.cache
def _regions() -> dict[str, str]:
    """English names of regions; a locale of a region that is not in the list is named by its code."""
    return {str(key): str(name) for key, name in read_yaml(REGIONS).items()}


def locale_table(atlas: Atlas, code: str) -> Table:
    """Return all models and policies in one locale, by track and axis."""
    found = [
        (entry, place, numbers)
        for entry in (*atlas.models, *atlas.references)
        for place, numbers in entry.estimates.items()
        if place.locale == code
    ]
    return _table(f"locales/{code}", found, "../")


def pooled_table(atlas: Atlas) -> Table:
    """Return all models and policies over all places of a track together, by track and axis."""
    entries = (*atlas.models, *atlas.references)
    found = [(entry, place, numbers) for entry in entries for place, numbers in entry.pooled.items()]
    return _table("locales", found, "")


def _table(name: str, found: Sequence[tuple[Entry, Place, Mapping[str, Estimate]]], root: str) -> Table:
    metrics = shown_metrics(numbers for _, _, numbers in found)
    columns = (
        Column("model", "Model"),
        Column("track", "Track"),
        *stat_columns(metrics),
        Column("tier", "Trust", "tier"),
    )
    rows = []
    for entry, place, numbers in found:
        tier = "reference" if entry.reference else entry.tier
        title = place_title(place)
        cells: dict[str, Value] = {
            "model": model_text(entry, root),
            "track": Text(title, ours=True),
            "tier": Text(tier),
            **{metric: numbers.get(metric) for metric in metrics},
        }
        rows.append(Row(cells, {"tier": tier, "track": title}))
    return Table(name, "Models", columns, tuple(rows))


def grouped(found: Iterable[Locale]) -> list[tuple[str, list[Locale]]]:
    """Return locales under the headings that their page has."""
    ordered = list(found)
    return [
        ("With answers", [one for one in ordered if one.models]),
        ("Where our languages are spoken", [one for one in ordered if not one.models]),
    ]
