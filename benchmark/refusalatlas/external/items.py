"""From the rows of a published set to items like our own: ids, clusters, categories and expectations."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import AtlasError, DataError
from ..records import Expected, Role
from ..tracks import Item
from ..variants import BASE
from .sets import ExpectedByColumn, ExternalSet, LanguageByColumn, LanguageByConfig, LanguageByPrompt, Part

NO_CATEGORY = "uncategorised"
"""Category of the prompts of a set that sorts them into none."""

METHOD = "external"
"""How a text of somebody else's set came to be: its own card says so."""

_LONGEST = 60
_ROLES: Mapping[str, Role] = {"refuse": "harmful", "comply": "benign"}


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one split.

    Attributes:
        where: Repository, config and split, as messages name them.
        columns: Names of the columns.
        rows: One mapping a row, by column.
        revision: The commit that they were read from, ``local`` for a copy in a folder, or the revision asked for.
    """

    where: str
    columns: tuple[str, ...]
    rows: Iterable[Mapping[str, Any]]
    revision: str


Read = Callable[[str | None, str], Rows]
"""Returns the rows of a config (None for the only one) and a split."""


@dataclass(frozen=True, slots=True)
class SetItems:
    """The items of a set in a language.

    Attributes:
        items: In the order of parts and rows.
        revision: Where they were read from; see `Rows`.
        left_out: How many rows of the language have no prompt or no expectation.
    """

    items: tuple[Item, ...]
    revision: str
    left_out: int


def items_of(one: ExternalSet, language: str, read: Read) -> SetItems:
    """Return the items of a set in one of its languages.

    Raises:
        AtlasError: where a column is missing, a value is not one that the YAML knows, two rows have one id, or no row
            is of that language.
    """
    items: dict[str, Item] = {}
    revision, left_out = one.file.revision, 0
    for part in one.file.parts:
        rows = read(_config(one, part, language), part.split)
        revision = rows.revision
        _check_columns(one, part, language, rows)
        prefix = _prefix(one, part)
        for number, row in _of_language(one, language, rows):
            item = _item(one, part, language, row, number, prefix, rows.where)
            if item is None:
                left_out += 1
                continue
            if item.id in items:
                what = f"two rows have the id {item.seed_id!r} in {language}"
                raise DataError(what, where=rows.where, mend=f"name another column for the id in {one.path.name}")
            items[item.id] = item
    if not items:
        raise DataError(f"has no prompt in {language}", where=one.file.repository, mend=f"correct {one.path.name}")
    return SetItems(tuple(items.values()), revision, left_out)


def _config(one: ExternalSet, part: Part, language: str) -> str | None:
    spoken = one.file.language
    return spoken.configs[language] if isinstance(spoken, LanguageByConfig) else part.config


def _prompt_column(one: ExternalSet, language: str) -> str:
    spoken = one.file.language
    column = spoken.prompts[language] if isinstance(spoken, LanguageByPrompt) else one.file.columns.prompt
    assert column is not None  # noqa: S101 - the model has seen to it
    return column


def _check_columns(one: ExternalSet, part: Part, language: str, rows: Rows) -> None:
    columns = one.file.columns
    wanted = [_prompt_column(one, language), columns.id, columns.cluster, columns.category, *one.file.keep]
    if isinstance(one.file.language, LanguageByColumn):
        wanted.append(one.file.language.column)
    if part.expected is None and isinstance(one.file.expected, ExpectedByColumn):
        wanted.append(one.file.expected.column)
    check_columns(rows, [name for name in wanted if name is not None], one.path.name)


def check_columns(rows: Rows, wanted: Sequence[str], file: str) -> None:
    """See to it that rows have the columns that a YAML names.

    Raises:
        DataError: naming those that are missing, and those that are there.
    """
    missing = [name for name in dict.fromkeys(wanted) if name not in rows.columns]
    if missing:
        what = f"has no column {', '.join(map(repr, missing))} (it has {', '.join(rows.columns)})"
        raise DataError(what, where=rows.where, mend=f"correct {file}")


def _of_language(one: ExternalSet, language: str, rows: Rows) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield number and row of the rows that are kept and in a language, numbered as they stand in the split."""
    spoken = one.file.language
    for number, row in enumerate(rows.rows, 1):
        if any(row[column] not in values for column, values in one.file.keep.items()):
            continue
        if isinstance(spoken, LanguageByColumn) and value_of(row[spoken.column], spoken.values) != language:
            continue
        yield number, row


def value_of(value: Any, values: Mapping[Any, Any]) -> Any:
    """Return what a value stands for, or None; a number may stand in the YAML as text."""
    if isinstance(value, (str, int, bool)):
        return values.get(value, values.get(str(value)))
    return None


def _item(
    one: ExternalSet, part: Part, language: str, row: Mapping[str, Any], number: int, prefix: str, where: str
) -> Item | None:
    """Return a row's item, or None where it has no prompt or expects nothing."""
    columns = one.file.columns
    place = f"{where}, row {number}"
    prompt = _prompt(row[_prompt_column(one, language)], place)
    expected = _expected(one, part, row, place)
    if not prompt.strip() or expected is None:
        return None
    own = _name(row[columns.id]) if columns.id else f"row-{number:05}"
    seed_id = _name(f"{prefix}{own}")
    kin = row[columns.cluster] if columns.cluster else None
    category = _category(row[columns.category]) if columns.category else NO_CATEGORY
    return Item(
        id=f"{one.name}/{seed_id}/{language}/{BASE}",
        seed_id=seed_id,
        cluster_id=seed_id if _blank(kin) else _name(kin),
        track=one.name,
        version=one.file.version,
        language=language,
        locale=None,
        category=category,
        axis=one.file.axis,
        role=_ROLES.get(expected, "control"),
        variant=BASE,
        expected=expected,
        prompt=prompt,
        response=None,
        method=METHOD,
        author=one.file.repository,
        reviewer=None,
    )


def _prompt(value: Any, where: str) -> str:
    """Return a prompt: text, or a list with one turn.

    Raises:
        AtlasError: where it is something else.
    """
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise AtlasError(f"the prompt is no text but {type(value).__name__}", where=where, mend="name another column")
    return value


def _expected(one: ExternalSet, part: Part, row: Mapping[str, Any], where: str) -> Expected | None:
    rule = part.expected or one.file.expected
    if not isinstance(rule, ExpectedByColumn):
        return rule
    value = row[rule.column]
    if _blank(value):
        return None
    found: Expected | None = value_of(value, rule.values)
    if found is None:
        known = ", ".join(map(repr, rule.values))
        what = f"{rule.column} is {value!r}, which is none of {known}"
        raise DataError(what, where=where, mend=f"correct {one.path.name}")
    return found


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _prefix(one: ExternalSet, part: Part) -> str:
    """Return what tells the seeds of a part from those of the others, by what the parts differ in."""
    parts = one.file.parts
    names = [part.config or ""] * (len({p.config for p in parts}) > 1)
    names += [part.split] * (len({p.split for p in parts}) > 1)
    return f"{'-'.join(names)}-" if names else ""


def _name(value: Any) -> str:
    """Return a value as part of an item's id: letters, digits, ``-`` and ``_``; a hash tells apart what that merges."""
    text = str(value)
    if re.fullmatch(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{_LONGEST}}}", text):
        return text
    plain = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[: _LONGEST - 10]
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain}-{digest}" if plain else digest


def _category(value: Any) -> str:
    """Return a category as a word; one in another script is told by a hash."""
    if _blank(value):
        return NO_CATEGORY
    plain = re.sub(r"[^a-z0-9]+", "-", str(value).lower()).strip("-")[:79]
    return plain or _name(value)
