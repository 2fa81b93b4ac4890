"""Tables whose cells are shaded: languages or models down, categories across."""

from __future__ import annotations

from refusalatlas.tracks import get_track

from .gather import HEADLINE_TRACK, Atlas, Entry
from .metrics import METRICS
from .tables import Column, Row, Table, Value
from .views import Speech, by_youden, language_text, model_text


def _categories() -> tuple[str, ...]:
    return get_track(HEADLINE_TRACK).categories


def _columns(first: Column) -> tuple[Column, ...]:
    youden = METRICS["youden_j"]
    return (first, *(Column(name, name, "heat", youden.title, youden) for name in _categories()))


def model_heat(entry: Entry) -> Table:
    """Return one model's Youden's J by language and category."""
    codes = sorted({code for code, _ in entry.categories}, key=lambda code: Speech.of(code).english_name)
    rows = []
    for code in codes:
        cells: dict[str, Value] = {name: entry.categories.get((code, name)) for name in _categories()}
        rows.append(Row({"language": language_text(code), **cells}))
    name = f"models/{entry.slug}-categories"
    return Table(name, "Youden’s J by category", _columns(Column("language", "Language")), tuple(rows))


def language_heat(atlas: Atlas, code: str) -> Table:
    """Return the Youden's J of all models in one language, by category."""
    rows = []
    for entry in (*by_youden(atlas.models), *by_youden(atlas.references)):
        cells: dict[str, Value] = {name: entry.categories.get((code, name)) for name in _categories()}
        if any(value is not None for value in cells.values()):
            rows.append(Row({"model": model_text(entry, "../"), **cells}))
    name = f"languages/{code}-categories"
    return Table(name, "Youden’s J by category", _columns(Column("model", "Model")), tuple(rows))
