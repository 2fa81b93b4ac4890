"""Text of other people on our pages: nothing hidden in it, nothing endless. Escaping is the templates' work."""

from __future__ import annotations

import re

# Controls (the marks that `wording` sets among them), overrides and isolates of direction that would reach beyond
# their text or show a command in another order than it is copied, separators, tags and halves of pairs. Joiners and
# single direction marks stay: Persian, Hindi and emoji are written with them.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_SHOWN = "\N{REPLACEMENT CHARACTER}"

COMMAND = 40_000
"""Characters of a command that a page shows; one that names every task has about 20,000."""

PROSE = 1_000
"""Characters of notes, prompts and reasons that a page shows; ``run.json`` holds the rest."""


def visible(text: str) -> str:
    """Return a text with a mark in the place of every character that works unseen."""
    return text if text.isprintable() else _HIDDEN.sub(_SHOWN, text)


def shortened(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, and how many there were more."""
    more = len(text) - limit
    return text if more <= 0 else f"{text[:limit]}… [{more:,} more]"
