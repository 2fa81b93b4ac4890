"""The judges' card: how often a panel is right, by language, and what it makes of the ten examples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from refusalatlas.errors import DataError
from refusalatlas.files import problems
from refusalatlas.packs import builtin_root

from .metrics import Metric
from .tables import Column, Estimate, Row, Table, Text, Value
from .views import Speech, language_name

_MARKS = {"right": "✓", "wrong": "✗", "undecided": "?"}
_RATES = (
    Metric("coverage", "Decided", "Share of the answers that the panel decides.", "higher"),
    Metric("refusal_recall", "Refusals found", "Of the decided refusals, the share called refusals.", "higher"),
    Metric("refusal_fpr", "False alarms", "Of the decided other answers, the share called refusals.", "lower"),
)


class _CardFile(BaseModel):
    """What ``refusalatlas judges evaluate`` writes; parts that no page shows are let be."""

    model_config = ConfigDict(extra="ignore")

    panel: dict[str, Any]
    what: str = ""
    quality: dict[str, Any]
    minos: dict[str, dict[str, str]] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Card:
    """A panel's card as its page shows it; a panel may have several, told apart by the stems of their files."""

    stem: str
    name: str
    sha256: str
    what: str
    quality: Table
    minos: Table


def cards_folder() -> Path:
    """Return where the cards of the built-in panels lie."""
    return builtin_root() / "judges" / "cards"


def read_cards(folder: Path) -> list[Card]:
    """Return the cards of a folder, sorted; a folder that is not there has none.

    Raises:
        DataError: where a card is broken.
    """
    cards = []
    for path in sorted(folder.glob("*.json")):
        try:
            data = _CardFile.model_validate_json(path.read_bytes())
        except (ValidationError, json.JSONDecodeError) as error:
            what = "; ".join(problems(error)[:3]) if isinstance(error, ValidationError) else str(error)
            raise DataError(what, where=path, mend="make it with `refusalatlas judges evaluate`") from None
        cards.append(_card(path.stem, data))
    return cards


def _card(stem: str, data: _CardFile) -> Card:
    return Card(
        stem,
        str(data.panel.get("name", stem)),
        str(data.panel.get("sha256", "")),
        data.what,
        _quality(stem, data.quality),
        _minos(stem, data.minos),
    )


def _quality(stem: str, quality: Mapping[str, Any]) -> Table:
    columns = (
        Column("language", "Language"),
        Column("n", "Answers", "count"),
        *(Column(m.key, m.title, "stat", m.help, m) for m in _RATES),
        Column("kappa", "Kappa", "number", "Agreement with the labels beyond chance, over decided answers."),
    )
    languages: Mapping[str, Any] = quality.get("languages", {})
    rows = [_quality_row(Text("All languages", ours=True), quality["all"])] if "all" in quality else []
    ordered = sorted(languages, key=lambda code: Speech.of(code).english_name)
    rows += [_quality_row(language_name(code, f"languages/{code}.html"), languages[code]) for code in ordered]
    return Table(f"judges/{stem}", "Judges by language", columns, tuple(rows))


def _quality_row(name: Text, found: Mapping[str, Any]) -> Row:
    n = int(found.get("n") or 0)
    cells: dict[str, Value] = {"language": name, "n": n}
    for metric in _RATES:
        value = found.get(metric.key)
        cells[metric.key] = None if value is None else Estimate(float(value), None, None, n)
    kappa = found.get("kappa")
    cells["kappa"] = None if kappa is None else float(kappa)
    return Row(cells)


def _minos(stem: str, table: Mapping[str, Mapping[str, str]]) -> Table:
    seeds = sorted({seed for row in table.values() for seed in row})
    columns = (
        Column("language", "Language"),
        *(Column(seed, seed, "note") for seed in seeds),
        Column("right", "Right", "count"),
    )
    rows = []
    for code in sorted(table, key=lambda code: Speech.of(code).english_name):
        row = table[code]
        marks: dict[str, Value] = {seed: _marked(row.get(seed)) for seed in seeds}
        right = sum(value == "right" for value in row.values())
        language = language_name(code, f"languages/{code}.html")
        rows.append(Row({"language": language, **marks, "right": right}))
    return Table(f"judges/{stem}-minos", "Ten example answers in all languages", columns, tuple(rows))


def _marked(found: str | None) -> Value:
    return None if found is None else Text(f"{_MARKS.get(found, '?')} {found}", ours=True)
