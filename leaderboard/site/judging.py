"""The judges' card: how often a panel is right, by language, and what it makes of the ten examples."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from refusalatlas.leaderboard.released import gate_folder, is_released, released_panels
from refusalatlas.leaderboard.schema import PanelId

from refusalatlas.errors import DataError
from refusalatlas.files import problems, read_yaml
from refusalatlas.packs import builtin_root

from .gather import Atlas
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


@dataclass(frozen=True, slots=True)
class Rule:
    """By what a panel decides: thresholds of its gate, as written.

    Attributes:
        families: How many families have to agree.
        surest: How sure one of them has to be.
        dissent: How sure a vote for the other side has to be to stop them.
        alone: Each judge, and how sure it has to be to decide alone where no vote that counts is for the other side.
    """

    families: int
    surest: str
    dissent: str
    alone: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Deciding:
    """A panel that decided runs on the board: how many of them, whether a card is its own, and its rule if released."""

    name: str
    sha256: str
    runs: int
    own: bool
    rule: Rule | None


def deciding(atlas: Atlas, cards: Iterable[Card]) -> list[Deciding]:
    """Return the panels that decided what the numbers of the board rest on, those of most runs first."""
    counts = Counter((run.panel.name, run.panel.sha256) for entry in atlas.entries for run in entry.runs)
    carded = {(card.name, card.sha256) for card in cards}
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [Deciding(*who, runs, who in carded, rule_of(PanelId(name=who[0], sha256=who[1]))) for who, runs in ordered]


def rule_of(panel: PanelId) -> Rule | None:
    """Return the rule of a released panel as its file said at that release, or None of one that was not released."""
    if not is_released(panel):
        return None
    file = read_yaml(gate_folder(panel) / f"{panel.name}.yaml")
    policy = file["gate"]
    alone = {judge["name"]: judge.get("alone", policy["single_family"]) for judge in file["judges"]}
    ordered = sorted(alone.items(), key=lambda one: (one[1], one[0]))
    shown = tuple((name, share_of_one(least)) for name, least in ordered)
    return Rule(policy["families"], share_of_one(policy["surest"]), share_of_one(policy["dissent"]), shown)


def released_rules() -> list[tuple[str, str, Rule]]:
    """Return name, hash and rule of the newest release of each panel, by name."""
    newest = {one.name: one for one in released_panels()}
    found = []
    for name in sorted(newest):
        rule = rule_of(PanelId(name=name, sha256=newest[name].sha256))
        if rule is not None:
            found.append((name, newest[name].sha256, rule))
    return found


def share_of_one(value: float) -> str:
    """Return a threshold with the digits that it was written with: ``0.88``."""
    return f"{value:g}"


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
