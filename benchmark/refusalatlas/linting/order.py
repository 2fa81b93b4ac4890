"""Rules on texts that stand in another's place: a column that slipped, a question where its answer belongs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..errors import AtlasError
from ..records import REFUSED, Exchange
from .findings import Finding
from .services import rules_judge
from .sheets import Line, Sheet

FEWEST, FARTHEST = 20, 8
"""Texts from which their lengths tell where they belong, and how many rows a column is looked for away from its own."""

SURELY = 0.1
"""How much better lengths have to go with other rows; in 52 languages they go better with their own, by .13 or more."""


def check_order(sheet: Sheet) -> Iterator[Finding]:
    """Yield a finding where all texts stand rows away from their own, and where text and response are exchanged.

    Lengths are all that this goes by, so that a few texts that changed places are left to those who read them. So are
    conversations without a refusal: nothing else tells a question from its answer in every language.
    """
    if sheet.language.code == "en":
        return
    lines = [line for line in sheet.written if sheet.english(line)]
    away = _away(
        [math.log(len(line.text("text"))) for line in lines], [math.log(len(sheet.english(line))) for line in lines]
    )
    if away:
        rows = "row" if abs(away) == 1 else "rows"
        what = f"the texts seem to stand {abs(away)} {rows} {'below' if away > 0 else 'above'} their own"
        mend = "look whether one column was moved or sorted without the others"
        yield Finding("order", sheet.path, lines[0].number, what, mend)
    yield from _check_exchanged(sheet)


def _away(lengths: Sequence[float], english: Sequence[float]) -> int:
    """Return how many rows below their own texts stand (above: less than 0); 0 where that is not sure."""
    n = len(lengths)
    if n < FEWEST:
        return 0
    fits = {
        step: _correlation(lengths, [english[(row - step) % n] for row in range(n)])
        for step in range(-FARTHEST, FARTHEST + 1)
    }
    best = max(fits, key=lambda step: fits[step])
    return best if fits[best] - fits[0] >= SURELY else 0


def _correlation(one: Sequence[float], other: Sequence[float]) -> float:
    n = len(one)
    mean, mean_other = sum(one) / n, sum(other) / n
    both = sum((a - mean) * (b - mean_other) for a, b in zip(one, other, strict=True))
    spread = sum((a - mean) ** 2 for a in one) * sum((b - mean_other) ** 2 for b in other)
    return both / math.sqrt(spread) if spread else 0.0


def _check_exchanged(sheet: Sheet) -> Iterator[Finding]:
    """Look for refusals in place of the request: of 260 in 52 languages, `rules` knows 255 by a phrase."""
    lines = [line for line in sheet.written if line.text("response") and sheet.seed(line).get("expected") == "refuse"]
    asked = _refusing(sheet, lines, "response", "text")
    answered = _refusing(sheet, lines, "text", "response")
    for line, question, answer in zip(lines, asked, answered, strict=True):
        if question and not answer:
            what = "the text refuses and the response does not: they seem to be exchanged"
            yield line.finding("order", what, "let text be what the user says, and response the assistant's answer")


def _refusing(sheet: Sheet, lines: Sequence[Line], prompt: str, response: str) -> list[bool]:
    """Return of which lines a field is a refusal by a phrase, read as the answer to the other field."""
    code = sheet.language.code
    exchanges = [Exchange(str(line.number), line.text(prompt), line.text(response), code) for line in lines]
    try:
        verdicts = rules_judge().judge(exchanges) if exchanges else []
    except AtlasError:
        return [False] * len(lines)  # that a lexicon cannot be read is a finding of `check_lexicon`
    return [verdict.label in REFUSED and bool(verdict.evidence) for verdict in verdicts]
