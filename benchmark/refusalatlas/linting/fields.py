"""Rules on forms: a field that seed and text agree on, and a right value that the text holds where it should."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import AtlasError
from ..fields import Field, SeedField, read_field
from ..files import problems
from .findings import Finding
from .letters import normal
from .sheets import Line, Sheet, groups, read_lines

MONTHS = "phantom_months"


def check_seed_fields(root: Path) -> Iterator[Finding]:
    """Yield a finding for each seed of a pack whose field is wrong in itself."""
    for path in sorted((root / "tasks").glob("*/seeds.jsonl")):
        for line in read_lines(path)[0]:
            meta = line.row.get("meta")
            if isinstance(meta, Mapping) and "field" in meta:
                try:
                    SeedField.model_validate(meta["field"])
                except ValidationError as error:
                    yield line.finding("field", "; ".join(problems(error)), "see tasks/phantom/README.md")


def check_fields(sheet: Sheet) -> Iterator[Finding]:
    """Yield a finding where a text's field is wrong, or is not what the text says."""
    for line in sheet.written:
        seed = sheet.seed(line)
        seed_meta, meta = _mapping(seed.get("meta")), _mapping(line.row.get("meta"))
        if "field" not in seed_meta:
            if "field" in meta:
                yield line.finding("field", "meta.field, but its seed asks for none", "take it away")
            continue
        try:
            field = read_field(seed_meta, meta, sheet.language.code, str(line.path))
        except AtlasError as error:
            yield line.finding("field", error.what, error.mend or "compare it with the English line")
            continue
        if field is not None:
            yield from _check_right(line, field, str(seed.get("expected")))
    if any("field" in _mapping(sheet.seed(line).get("meta")) for line in sheet.written):
        yield from _check_months(sheet)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _check_right(line: Line, field: Field, expected: str) -> Iterator[Finding]:
    if (field.right is None) != (expected == "abstain"):
        what = "has no right value" if field.right is None else "has a right value, although its seed expects none"
        yield line.finding("field", what, 'write "right" in meta.field where the text holds the answer, and only there')
        return
    text = normal(line.text("text"))
    for option in field.options:
        if normal(option) not in text:
            yield line.finding(
                "field", f"option {option!r} is not named in the text", "name it there as meta.field does"
            )
    if field.kind in ("list", "name"):
        for ways in field.right or ():
            if not any(normal(way) in text for way in ways):
                yield line.finding("field", f"{ways[0]!r} is not in the text", "write it as the text has it")


def _check_months(sheet: Sheet) -> Iterator[Finding]:
    count = len(groups(sheet.language.strings)[0].get(MONTHS, ()))
    if count not in (0, 12):
        yield Finding(
            "strings", sheet.language.strings, None, f"{MONTHS} has {count} months", "write all twelve in order"
        )
