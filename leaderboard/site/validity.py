"""In which languages the judges are validated: what every page that shows numbers says beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from refusalatlas.validation import labels_of, status


@dataclass(frozen=True, slots=True)
class Validity:
    """Where speakers have labelled enough real answers, by code, sorted; and how many they are in one language.

    Attributes:
        validated: Languages with labels enough.
        unvalidated: The others.
        refused: Of a single language, how many labelled answers refuse; 0 for several.
        complied: Likewise, how many comply.
    """

    validated: tuple[str, ...]
    unvalidated: tuple[str, ...]
    refused: int = 0
    complied: int = 0


def validity(codes: Iterable[str]) -> Validity:
    """Return what is known of the judges in some languages.

    Raises:
        DataError: where the labels of one are broken.
    """
    known = sorted(set(codes))
    validated = tuple(code for code in known if status(code) == "validated")
    unvalidated = tuple(code for code in known if code not in validated)
    labels = labels_of(known[0]) if len(known) == 1 else None
    if labels is None:
        return Validity(validated, unvalidated)
    return Validity(validated, unvalidated, labels.refused, labels.complied)
