"""Literal phrases with gaps, which speakers write and which cannot blow up as regular expressions can."""

from __future__ import annotations

LONGEST = 120
"""Characters that a phrase may have."""

MOST_GAPS = 3


def check_phrase(phrase: str) -> str:
    """Return a phrase as it is, where it is one: words, with at most three ``*`` between them.

    Raises:
        ValueError: where it is empty or too long, begins or ends with a gap, or has too many.
    """
    parts = [part.strip() for part in phrase.split("*")]
    if not all(parts) or len(phrase) > LONGEST or len(parts) > MOST_GAPS + 1:
        raise ValueError(f"{phrase!r} must be words with at most three `*` between them")
    return phrase


def without_gaps(phrase: str) -> str:
    """Return a phrase that its own pattern finds, with nothing in its gaps."""
    return " ".join(phrase.replace("*", " ").split())
