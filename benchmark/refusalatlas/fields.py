"""Fields of forms: what a track like `phantom` asks to be filled in, and with which value where the input holds it.

The kind of a field is the seed's, the words are a language's: ``meta.field`` of a line of ``seeds.jsonl`` has key and
kind, ``meta.field`` of a line of ``translations/<language>/<track>.jsonl`` has options and the right value.
"""

from __future__ import annotations

import datetime
import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic import Field as Limit

from .errors import AtlasError, DataError
from .files import iter_jsonl, validate
from .strings import strings

if TYPE_CHECKING:
    from .tracks import Item

Kind = Literal["enumeration", "list", "number", "date", "name"]

ESCAPE = "escape"
"""The variant whose form has an option for inputs that do not hold the answer."""

OPTION = "phantom_option"
"""Group of ``strings.yaml`` that holds that option in a language's words."""

_Word = Annotated[str, Limit(min_length=1, max_length=120)]


class SeedField(BaseModel):
    """``meta.field`` of a seed.

    Attributes:
        key: Name of the field, in English in every language.
        kind: What its value is.
        at_least: How many values a ``list`` must have.
        minimum: Smallest ``number`` that makes sense.
        maximum: Largest.
    """

    model_config = ConfigDict(extra="forbid")

    key: Annotated[str, Limit(pattern=r"^[a-z]+(_[a-z]+)*$", max_length=40)]
    kind: Kind
    at_least: Annotated[int, Limit(ge=1, le=20)] | None = None
    minimum: Annotated[float, Limit(allow_inf_nan=False)] | None = None
    maximum: Annotated[float, Limit(allow_inf_nan=False)] | None = None


class TextField(BaseModel):
    """``meta.field`` of a text.

    Attributes:
        options: What an ``enumeration`` may be, as the text names it.
        right: The value that the text holds; null where it holds none. Of a ``list`` its entries. ``|`` stands between
            ways to write one and the same name or entry; a ``date`` is written ``2024-05-31``.
    """

    model_config = ConfigDict(extra="forbid")

    options: Annotated[list[_Word], Limit(max_length=8)] = []
    right: _Word | Annotated[float, Limit(allow_inf_nan=False)] | list[_Word] | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form, in a language.

    Attributes:
        key: Its name in JSON.
        kind: What its value is.
        language: Code of the language that values are in.
        options: What an ``enumeration`` may be.
        at_least: How many values a ``list`` must have; 0 for other kinds.
        minimum: Smallest number, or None.
        maximum: Largest number, or None.
        right: What the input holds: of a ``list`` one entry for each value, of other kinds one; each is the ways to
            write it. None where the input holds no answer.
        escape: The option for that, where the form has one.
    """

    key: str
    kind: Kind
    language: str
    options: tuple[str, ...] = ()
    at_least: int = 0
    minimum: float | None = None
    maximum: float | None = None
    right: tuple[tuple[str, ...], ...] | None = None
    escape: str | None = None

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the form: an object with this one field, required."""
        return {
            "type": "object",
            "properties": {self.key: self._property()},
            "required": [self.key],
            "additionalProperties": False,
        }

    def _property(self) -> dict[str, Any]:
        if self.kind == "enumeration":
            options = [*self.options, *([self.escape] if self.escape else [])]
            return {"type": "string", "enum": options}
        own: dict[str, Any]
        if self.kind == "list":
            own = {"type": "array", "items": {"type": "string"}, "minItems": self.at_least}
        elif self.kind == "number":
            own = {"type": "number"}
            own |= {"minimum": _plain(self.minimum)} if self.minimum is not None else {}
            own |= {"maximum": _plain(self.maximum)} if self.maximum is not None else {}
        elif self.kind == "date":
            own = {"type": "string", "format": "date"}
        else:
            own = {"type": "string", "minLength": 1}
        return {"anyOf": [own, {"type": "string", "const": self.escape}]} if self.escape else own

    def right_value(self) -> Any:
        """Return the right value as JSON has it; None where the input holds none."""
        if self.right is None:
            return None
        if self.kind == "list":
            return [ways[0] for ways in self.right]
        return _plain(float(self.right[0][0])) if self.kind == "number" else self.right[0][0]


def _plain(number: float) -> float | int:
    return int(number) if number == int(number) else number


def schema_text(field: Field) -> str:
    """Return a field's JSON Schema as prompts show it, on one line."""
    return json.dumps(field.schema(), ensure_ascii=False)


def read_field(seed_meta: Mapping[str, Any], text_meta: Mapping[str, Any], language: str, where: str) -> Field | None:
    """Return the field of a seed in a language; None where the seed asks for none.

    Raises:
        DataError: where fields are wrong, or seed and text do not fit together.
    """
    if "field" not in seed_meta:
        return None
    seed = validate(SeedField, seed_meta["field"], where)
    text = validate(TextField, text_meta.get("field", {}), where)
    found = Field(
        key=seed.key,
        kind=seed.kind,
        language=language,
        options=tuple(text.options),
        at_least=seed.at_least or 0,
        minimum=seed.minimum,
        maximum=seed.maximum,
        right=_right(text.right),
    )
    complaint = _complaint(found)
    if complaint:
        raise DataError(f"meta.field: {complaint}", where=where, mend="compare it with the English line")
    return found


def _right(value: str | float | list[str] | None) -> tuple[tuple[str, ...], ...] | None:
    if value is None:
        return None
    entries = value if isinstance(value, list) else [str(value)]
    return tuple(tuple(way.strip() for way in entry.split("|") if way.strip()) for entry in entries)


def _complaint(field: Field) -> str | None:
    """Return what is wrong with a field in itself, or None."""
    if (field.kind == "list") != bool(field.at_least):
        return "at_least is for lists, and lists need it"
    if (field.kind == "enumeration") != (len(set(field.options)) > 1):
        return "options, two or more, are for enumerations"
    if field.right is None:
        return None
    if not field.right or not all(field.right):
        return "right has an empty entry"
    if field.kind != "list" and len(field.right) > 1:
        return "right has several values"
    return _wrong_value(field, field.right[0][0], len(field.right))


def _wrong_value(field: Field, first: str, count: int) -> str | None:
    if field.kind == "enumeration" and first not in field.options:
        return f"right is {first!r}, which is none of the options"
    if field.kind == "list" and count < field.at_least:
        return f"right has {count} entries, fewer than at_least"
    if field.kind == "number" and not in_range(field, _number(first)):
        return f"right is {first!r}, which is no number from minimum to maximum"
    if field.kind == "date" and not is_date(first):
        return f"right is {first!r}, which is no date like 2024-05-31"
    return None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def in_range(field: Field, number: float) -> bool:
    """Whether a number is finite and not beyond a field's minimum and maximum."""
    if not math.isfinite(number):
        return False
    return (field.minimum is None or number >= field.minimum) and (field.maximum is None or number <= field.maximum)


def is_date(text: str) -> bool:
    """Whether a text is a date of the calendar as ISO 8601 writes it, ``2024-05-31``."""
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


@functools.lru_cache(maxsize=256)
def load_fields(track: str, language: str) -> Mapping[tuple[str, str], Field]:
    """Return the fields that a track asks for in a language, by seed and place; none for most tracks.

    Raises:
        UnknownNameError: where the track is unknown.
        DataError: naming the line that is wrong.
    """
    from .tracks import get_track, texts_path

    folder = get_track(track).folder
    metas = {str(row.get("seed_id")): row.get("meta") or {} for _, row in iter_jsonl(folder / "seeds.jsonl")}
    path = texts_path(track, language)
    if path is None or not any("field" in meta for meta in metas.values()):
        return {}
    found: dict[tuple[str, str], Field] = {}
    for number, row in iter_jsonl(path):
        text = row.get("text")
        if not isinstance(text, str) or not text.strip():
            continue
        seed_id, meta = str(row.get("seed_id")), row.get("meta")
        field = read_field(
            metas.get(seed_id, {}), meta if isinstance(meta, Mapping) else {}, language, f"{path}:{number}"
        )
        if field is not None:
            found[seed_id, str(row.get("locale") or language)] = field
    return found


def field_of(track: str, seed_id: str, language: str, locale: str | None, variant: str = "base") -> Field | None:
    """Return the field that an item asks for; None for the items of most tracks, and of tracks that are not here.

    Raises:
        DataError: where the track's texts in the language are wrong.
    """
    from .tracks import load_tracks

    if track not in load_tracks():
        return None
    found = load_fields(track, language).get((seed_id, locale or language))
    return replace(found, escape=escape_option(language)) if found and variant == ESCAPE else found


def field_of_item(item: Item, variant: str | None = None) -> Field | None:
    """Return the field that an item asks for, in its own variant or another."""
    return field_of(item.track, item.seed_id, item.language, item.locale, variant or item.variant)


def escape_option(language: str) -> str:
    """Return the option by which a form lets an answer say, in a language, that the input does not hold it.

    Raises:
        DataError: where the language has none.
    """
    options = strings(language).get(OPTION)
    if not options:
        where = f"translations/{language}/strings.yaml"
        raise DataError(f"has no option in {OPTION}", where=where, mend="write one, as the English file has it")
    return options[0]


def form_schema(item: Item, variant: str) -> str:
    """Return the JSON Schema that an item's variant shows.

    Raises:
        AtlasError: where the item asks for no field.
    """
    field = field_of_item(item, variant)
    if field is None:
        raise AtlasError(f"asks for no field, which variant {variant!r} needs", where=item.id)
    return schema_text(field)
