"""The file ``digests.json``: what pins the texts of every released version of a track."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from .errors import DataError
from .files import dumps, problems, read_text

if TYPE_CHECKING:
    from .tracks import Item

Digests = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""``{track: {version: {language or locale: {"n", "ids", "texts"}}}}``."""


class _Digest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    n: int
    ids: str
    texts: str


_FORM = TypeAdapter(dict[str, dict[str, dict[str, _Digest]]])


def digests_file(path: Path) -> Digests:
    """Return what a ``digests.json`` holds.

    Raises:
        DataError: where it cannot be read or holds something else.
    """
    try:
        found: Digests = _FORM.dump_python(_FORM.validate_json(read_text(path)))
    except ValidationError as error:
        raise DataError(
            problems(error)[0], where=path, mend="take it from version control, or delete it and generate it again"
        ) from None
    return found


def item_digest(items: Sequence[Item]) -> dict[str, Any]:
    """Return what pins a set of items: ``{"n", "ids", "texts"}``.

    ``ids`` is the SHA-256 of the sorted ids, one a line; ``texts`` that of each item's id, expectation, cluster,
    category, role, prompt, and its cues, field, target and thing shown where it has any, as JSON lines sorted by id.
    """
    return digest_of(
        (i.id, i.expected, i.cluster_id, i.category, i.role, i.prompt, *_field(i), *([list(i.cues)] if i.cues else ()))
        for i in items
    )


def digest_of(facts: Iterable[tuple[Any, ...]]) -> dict[str, Any]:
    """Return what pins items by what `item_digest` takes of each, its id first."""
    rows = sorted(facts)
    ids = "".join(f"{row[0]}\n" for row in rows)
    texts = "".join(f"{dumps(list(row))}\n" for row in rows)
    return {"n": len(rows), "ids": _sha256(ids), "texts": _sha256(texts)}


def _field(item: Item) -> tuple[str, ...]:
    """Return what an item's answer is measured by besides its prompt, as text; nothing for most tracks."""
    from .fields import field_of_item
    from .scenes import target_of
    from .shown import shown_of

    about = item.track, item.seed_id, item.language
    measures = (field_of_item(item), target_of(*about), shown_of(*about))
    return tuple(dumps(dataclasses.asdict(measure)) for measure in measures if measure)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
