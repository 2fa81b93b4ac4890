"""Pages of a snapshot: the overview as it stood on a day, below ``v/<date>/``, from nothing but the snapshot's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .gather import Atlas
from .metrics import HEADLINE
from .render import File, everywhere
from .snapshots import ModelThen, NumberThen, SnapshotFile
from .tables import Estimate, Row, Table, Text, Value, to_csv, to_json
from .views import OVERVIEW, REFERENCES, group_text


def page_of(date: str) -> str:
    """Return where the page of a snapshot lies."""
    return f"v/{date}/index.html"


def dated_pages(taken: SnapshotFile, atlas: Atlas) -> Iterator[File]:
    """Yield the page of a snapshot in every language of the interface, and its tables as files.

    Names lead to the pages of today, where the model is still there.
    """
    date = taken.date.isoformat()
    today = {entry.slug for entry in atlas.entries}
    models, references = (_table(taken, today, reference=which) for which in (False, True))
    yield from everywhere(page_of(date), "dated.html.j2", date=date, models=models, references=references)
    for table in (models, references):
        yield f"data/{table.name}.csv", to_csv(table).encode("utf-8", "replace")
        yield f"data/{table.name}.json", to_json(table).encode("utf-8", "replace")


def _table(taken: SnapshotFile, today: set[str], *, reference: bool) -> Table:
    chosen = {slug: model for slug, model in taken.models.items() if model.reference == reference}
    rows = tuple(_row(slug, chosen[slug], slug in today) for slug in _ordered(chosen))
    folder = f"v/{taken.date.isoformat()}"
    if reference:
        return Table(f"{folder}/references", "Reference policies", REFERENCES, rows)
    return Table(f"{folder}/overview", "Models", OVERVIEW, rows)


def _ordered(models: Mapping[str, ModelThen]) -> list[str]:
    def key(slug: str) -> tuple[bool, bool, float, str]:
        youden = models[slug].numbers.get("youden_j")
        value = None if youden is None else youden.value
        return models[slug].group is None, value is None, -(value or 0.0), slug

    return sorted(models, key=key)


def _row(slug: str, model: ModelThen, still_there: bool) -> Row:
    name = model.name.partition("/")[2] if model.reference else model.name
    cells: dict[str, Value] = {
        "model": Text(name or model.name, f"../../models/{slug}.html" if still_there else None),
        "group": group_text(model.group, model.unranked),
        "languages": model.languages,
        "tier": Text(model.tier),
        **{key: _estimate(model.numbers.get(key)) for key in HEADLINE},
    }
    return Row(cells)


def _estimate(number: NumberThen | None) -> Estimate | None:
    return None if number is None else Estimate(number.value, number.low, number.high, number.n, number.reason)
