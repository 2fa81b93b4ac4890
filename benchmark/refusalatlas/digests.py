"""The file ``digests.json``: what pins the texts of every released version of a track."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from .errors import DataError
from .files import problems, read_text

Digests = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""``{track: {version: {language: {"n", "ids", "texts"}}}}``."""


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
