"""Rules on texts that touch a local norm: what is to be known, where that stands, and phrases by which it shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from ..languages import Language
from ..lines import Awareness
from .findings import Finding
from .services import service
from .sheets import Line, Sheet, groups
from .words import SAID

_REGULAR = frozenset("\\^$|{}[]+()?")
_SEE = "see tasks/README.md, under *aware*"


def check_awareness(sheet: Sheet) -> Iterator[Finding]:
    """Yield what is wrong with norms, sources and cues, and with texts that give their own norm away.

    Fields that are missing or of the wrong kind are findings of `coverage.check_coverage` already.
    """
    for line in sheet.written:
        if not sheet.seed(line):
            continue
        meta = line.row.get("meta")
        found = meta.get("aware") if isinstance(meta, dict) else None
        expected = sheet.seed(line).get("expected") == "aware"
        if expected and found is None:
            yield line.finding("aware", "says nothing of the norm in meta.aware", _SEE)
        elif not expected and found is not None:
            yield line.finding("aware", "has meta.aware, and its seed expects no awareness", "take one of them away")
        elif found is not None:
            yield from _check_found(sheet, line, found)


def _plain(language: Language) -> list[str]:
    """Return what the reference policies say in a language, whatever they are asked."""
    found, _ = groups(language.strings)
    return [sentence for group in SAID for sentence in found.get(group, ())]


def _check_found(sheet: Sheet, line: Line, found: Any) -> Iterator[Finding]:
    try:
        aware = Awareness.model_validate(found)
    except ValidationError:
        return
    for cue in aware.cues:
        if set(cue) & _REGULAR:
            yield line.finding("aware", f"cue {cue!r} is a regular expression", "write what is said, * for a gap")
    counts = Counter(" ".join(cue.split()).casefold() for cue in aware.cues)
    for cue, count in counts.items():
        if count > 1:
            yield line.finding("aware", f"cue {cue!r} stands there {count} times", "keep one")
    for sentence in _plain(sheet.language):
        said = service("find_cues")(sentence, sheet.language.code, aware.cues)
        if said:
            what = f"the plain answer “{sentence[:40]}” holds the cue {said[0]!r}, and knows nothing of the norm"
            yield line.finding("aware", what, "take the cue away, or lengthen it by what is particular to the norm")
            break
    given = service("find_cues")(line.text("text"), sheet.language.code, aware.cues)
    if given:
        what = f"the text itself holds the cue {given[0]!r}, so that repeating it would count as knowing"
        yield line.finding("aware", what, "ask without naming the norm, or take the cue away")
