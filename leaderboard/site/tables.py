"""Tables, once: what a page shows and what its CSV and JSON hold come from the same rows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from .metrics import METRICS, Metric
from .wording import mark

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `metric` makes it one of estimates."""

    key: str
    title: str
    kind: Literal["text", "count", "tier", "stat", "heat", "note", "number", "p"] = "text"
    help: str = ""
    metric: Metric | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval, or the reason why there is none.

    Attributes:
        value: The estimate, or None.
        low: Lower bound, or None where an interval would look more exact than it is.
        high: Upper bound, likewise.
        n: How many answers the number rests on.
        reason: Why value or interval is missing, or None.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A word or name, perhaps with an address on this site and a language of its own; `ours` is translated.

    What stands small below it, `sub`, may have a language too, or be translated where `sub_ours`.
    """

    text: str
    href: str | None = None
    lang: str | None = None
    dir: str | None = None
    sub: str | None = None
    sub_lang: str | None = None
    ours: bool = False
    sub_ours: bool = False

    @property
    def spoken(self) -> str:
        """The text alone, marked for translation where it is ours."""
        return mark(self.text) if self.ours else self.text


Value = Text | Estimate | int | float | None


@dataclass(frozen=True, slots=True)
class Row:
    """One row; `facets` are what the page's filters look at."""

    cells: dict[str, Value]
    facets: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a page and its downloads.

    Attributes:
        name: Path of its downloads below ``data/``, without suffix.
        caption: What it shows.
        columns: In order.
        rows: In the order in which they stand without JavaScript.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def stat_columns(keys: Iterable[str]) -> tuple[Column, ...]:
    """Return a column of estimates for each metric."""
    metrics = [METRICS[key] for key in keys]
    return tuple(Column(m.key, m.title, "stat", m.help, m) for m in metrics)


def harmless(text: str) -> str:
    """Return a text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.lstrip().startswith(_FORMULA) or text.startswith(_FORMULA) else text


def to_csv(table: Table) -> str:
    """Return a table as CSV: estimates as four columns, missing values empty, no formulas, no HTML."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    head: list[str] = []
    for column in table.columns:
        head.append(column.key)
        if column.kind in ("stat", "heat"):
            head += [f"{column.key}_low", f"{column.key}_high", f"{column.key}_n"]
    writer.writerow(head)
    for row in table.rows:
        line: list[str] = []
        for column in table.columns:
            line += _csv_cells(row.cells.get(column.key), column)
        writer.writerow(line)
    return buffer.getvalue()


def _csv_cells(value: Value, column: Column) -> list[str]:
    if column.kind in ("stat", "heat"):
        if not isinstance(value, Estimate):
            return ["", "", "", ""]
        return [_number(value.value), _number(value.low), _number(value.high), str(value.n)]
    if isinstance(value, Text):
        return [harmless(value.text)]
    return [_number(value) if isinstance(value, float) else "" if value is None else str(value)]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def to_json(table: Table) -> str:
    """Return a table as JSON: ``{caption, rows: [{key: value}]}``, estimates as objects, missing values null."""
    rows = [{column.key: _json_value(row.cells.get(column.key)) for column in table.columns} for row in table.rows]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{{"caption": {json.dumps(table.caption, ensure_ascii=False)}, "rows": [\n{lines}\n]}}\n'


def _json_value(value: Value) -> Any:
    if isinstance(value, Estimate):
        return {
            "value": _rounded(value.value),
            "low": _rounded(value.low),
            "high": _rounded(value.high),
            "n": value.n,
            "reason": value.reason,
        }
    if isinstance(value, float):
        return _rounded(value)
    return value.text if isinstance(value, Text) else value


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
