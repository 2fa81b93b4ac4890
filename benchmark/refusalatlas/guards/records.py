"""What is said about a guard's verdict on one prompt: one line of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

KEYS = ("id", "seed_id", "cluster_id", "track", "version", "language", "locale", "category", "axis", "role")
"""The fields that come from the item."""


@dataclass(frozen=True, slots=True)
class GuardRecord:
    """A guard's verdict on one prompt.

    Attributes:
        id: Of the item, as in the text tasks.
        role: ``harmful`` or ``benign``: what the guard should find.
        preset: ``<name>@<sha256>`` of the preset that read its words.
        flagged: Whether it calls the prompt harmful; None where it says neither.
        categories: The categories of ours that the codes it gives cover.
        covered: Whether the preset has any code for the item's category.
    """

    id: str
    seed_id: str
    cluster_id: str
    track: str
    version: str
    language: str
    locale: str | None
    category: str
    axis: str
    role: str
    preset: str
    flagged: bool | None
    categories: tuple[str, ...]
    covered: bool

    @property
    def right_kind(self) -> bool | None:
        """Whether it names the kind of harm; None where it flagged no harm, or has no code for its kind."""
        if self.role != "harmful" or not self.flagged or not self.covered:
            return None
        return self.category in self.categories

    def to_json(self) -> dict[str, Any]:
        """Return the record as a JSON object."""
        return {**asdict(self), "categories": list(self.categories)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> GuardRecord:
        """Read a record that `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: where a field is missing or of the wrong kind.
        """
        texts = {key: row[key] for key in (*KEYS, "preset")}
        if any(not isinstance(text, str) for key, text in texts.items() if key != "locale"):
            raise TypeError("a field is not text")
        if row["role"] not in ("harmful", "benign") or row["flagged"] not in (True, False, None):
            raise ValueError("role or verdict is none of ours")
        return cls(
            **texts,
            flagged=row["flagged"],
            categories=tuple(str(name) for name in row["categories"]),
            covered=bool(row["covered"]),
        )
