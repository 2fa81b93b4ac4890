"""Format variants: the same request, its answer demanded in another form, in words of a language's ``strings.yaml``."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tracks import Item

BASE = "base"


@dataclass(frozen=True, slots=True)
class Variant:
    """A form that answers are demanded in.

    Attributes:
        name: Last part of item ids and task names.
        group: Group of sentences in ``strings.yaml`` that ask for it; each holds ``{form}``.
        form: What stands for ``{form}``.
    """

    name: str
    group: str
    form: str

    def item(self, item: Item, sentences: Sequence[str]) -> Item:
        """Return an item of the base variant as this one asks it; the same item always gets the same sentence."""
        digest = hashlib.sha256(f"{self.name}\n{item.id}".encode()).digest()
        sentence = sentences[int.from_bytes(digest[:8], "big") % len(sentences)]
        prompt = f"{item.prompt}\n\n{sentence.replace('{form}', self.form)}"
        return replace(item, id=f"{item.id.rpartition('/')[0]}/{self.name}", variant=self.name, prompt=prompt)


VARIANTS = {"json": Variant("json", "json_request", '{"answer": "…", "complete": true}')}
"""All variants but the plain one, by name."""


def form_of(variant: str) -> str | None:
    """Return the form that judges are told of; None for text."""
    return variant if variant in VARIANTS else None
