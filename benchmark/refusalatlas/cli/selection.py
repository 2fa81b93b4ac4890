"""Which records of a run a command speaks of: the options --track, --variant, --language and --axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..records import Record

AXES = ("safety", "appropriateness")

track_option = click.option("--track", help="Only this track.")
variant_option = click.option("--variant", help="Only this format of answers (base, json, …).")
language_option = click.option("--language", help="Only this language.")
axis_option = click.option("--axis", type=click.Choice(AXES), help="Only this axis; the two are never averaged.")


@dataclass(frozen=True, slots=True)
class Selection:
    """What was asked for; None stands for all.

    Attributes:
        track: Name of a track.
        variant: Name of a format variant, ``base`` for the plain request.
        language: Code of a language.
        axis: ``safety`` or ``appropriateness``.
        equating: Only the seeds that mean the same word for word in all languages.
    """

    track: str | None = None
    variant: str | None = None
    language: str | None = None
    axis: str | None = None
    equating: bool = False

    def check(self) -> None:
        """Look whether there are such things at all.

        Raises:
            UnknownNameError: offering the nearest names.
        """
        from ..errors import UnknownNameError
        from ..external.sets import is_external
        from ..languages import get_language
        from ..tracks import get_track
        from ..variants import BASE, VARIANTS

        if self.track and not is_external(self.track):
            get_track(self.track)
        if self.variant and self.variant not in (BASE, *VARIANTS):
            raise UnknownNameError("variant", self.variant, [BASE, *VARIANTS])
        if self.language:
            get_language(self.language)

    def of(self, records: Iterable[Record], where: Path) -> list[Record]:
        """Return the records that were asked for.

        Args:
            records: Records of one run.
            where: The run, for the message.

        Raises:
            AtlasError: where there are none.
        """
        from ..errors import AtlasError

        chosen = [record for record in records if self.has(record)]
        if not chosen:
            parts = [self.track, self.variant, self.language, self.axis, "word for word" if self.equating else None]
            asked = ", ".join(part for part in parts if part)
            raise AtlasError(
                f"no records of what was asked for ({asked})" if asked else "no records",
                where=where,
                mend="choose what the run holds; `refusalatlas score RUN` lists it",
            )
        return chosen

    def has(self, record: Record) -> bool:
        """Whether a record was asked for."""
        asked = (self.track, self.variant, self.language, self.axis)
        found = (record.track, record.variant, record.language, record.axis)
        if any(name is not None and name != value for name, value in zip(asked, found, strict=True)):
            return False
        return not self.equating or _equating(record)


def _equating(record: Record) -> bool:
    from ..external.sets import is_external
    from ..tracks import equating_seeds

    return not is_external(record.track) and record.seed_id in equating_seeds(record.track)


def pooled_words(names: Sequence[tuple[str, Sequence[str]]]) -> str | None:
    """Return one sentence on what was taken together, and how to take it apart; None where nothing was.

    Args:
        names: Kind of thing (``track``, ``format``, ``run``) with the names that there are.
    """
    options = {"track": "--track", "format": "--variant"}
    several = [(kind, found) for kind, found in names if len(found) > 1]
    if not several:
        return None
    said = " and ".join(f"{len(found)} {kind}s ({', '.join(found)})" for kind, found in several)
    apart = [options[kind] for kind, _ in several if kind in options]
    return f"Taken together: {said}" + (f"; {' and '.join(apart)} takes one alone." if apart else ".")
