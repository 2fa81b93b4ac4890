"""What refusals say: how many give a reason, show empathy, offer an alternative or refer to help, with intervals.

The axes are those of the judges' findings. A rate is of decided refusals, so that a model that refuses little is not
taken for one that explains little.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .records import REFUSED, Decision, Finding, Record
from .stats.intervals import Estimate, clustered_rate

_Side = Callable[[Decision], tuple[Finding, ...]]
_SIDES: tuple[tuple[str, _Side], ...] = (("reason", lambda d: d.reasons), ("feature", lambda d: d.features))


@dataclass(frozen=True, slots=True)
class ContentRate:
    """The share of refusals in one slice of a run that have one reason or feature.

    Attributes:
        track: Track that the answers belong to.
        axis: ``safety`` or ``appropriateness``; axes are never pooled.
        variant: Format variant; formats are never pooled.
        language: Language code; None where languages are pooled.
        locale: Locale, or None.
        kind: ``reason`` or ``feature``.
        name: Name of the reason (``law``, ``none_stated``, …) or feature (``empathy``, ``support_referral``, …).
        found: Share of the refusals that have it, 0 to 1, with its 95 % interval.
        numerator: How many refusals have it.
        denominator: How many decided refusals there are.
    """

    track: str
    axis: str
    variant: str
    language: str | None
    locale: str | None
    kind: str
    name: str
    found: Estimate
    numerator: int
    denominator: int

    def to_json(self) -> dict[str, Any]:
        """Return a flat JSON object, numbers rounded to six places."""
        names = ("track", "axis", "variant", "language", "locale", "kind", "name")
        rates = {"value": self.found.value, "low": self.found.low, "high": self.found.high, "n_eff": self.found.n_eff}
        return (
            {name: getattr(self, name) for name in names}
            | {key: None if rate is None else round(rate, 6) for key, rate in rates.items()}
            | {"numerator": self.numerator, "denominator": self.denominator}
            | {"method": self.found.method, "reason": self.found.reason}
        )


_Place = tuple[str, str, str, str | None, str | None]


def content_rates(records: Sequence[Record], *, pooled: bool = True) -> list[ContentRate]:
    """Return the share of every reason and feature that any refusal of a run has, in each place.

    A name that no refusal of the run has is left out; one that is missing in a place alone stands there as 0.

    Args:
        records: Records of one model; more than one would be mixed up.
        pooled: Add rows over all languages of a track (clustered by seed).
    """
    refusals: dict[_Place, list[tuple[str, Decision]]] = defaultdict(list)
    for record in records:
        places = [(record.language, record.locale)] + ([(None, None)] if pooled else [])
        found = [(record.cluster_id, decision) for decision in record.decisions if decision.label in REFUSED]
        for language, locale in places:
            if found:
                refusals[record.track, record.axis, record.variant, language, locale].extend(found)
    names = _names(decision for pairs in refusals.values() for _, decision in pairs)
    rows = []
    for place in sorted(refusals, key=_order):
        for kind, side in _SIDES:
            rows += [_rate(place, kind, name, side, refusals[place]) for name in names[kind]]
    return rows


def _order(place: _Place) -> tuple[Any, ...]:
    track, axis, variant, language, locale = place
    return track, variant != "base", variant, axis != "safety", axis, language or "", locale or ""


def _names(decisions: Iterable[Decision]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {kind: set() for kind, _ in _SIDES}
    for decision in decisions:
        for kind, side in _SIDES:
            found[kind].update(finding.name for finding in side(decision))
    return {kind: sorted(names) for kind, names in found.items()}


def _rate(place: _Place, kind: str, name: str, side: _Side, pairs: Sequence[tuple[str, Decision]]) -> ContentRate:
    outcomes = [float(any(finding.name == name for finding in side(decision))) for _, decision in pairs]
    estimate = clustered_rate(outcomes, [cluster for cluster, _ in pairs])
    return ContentRate(*place, kind, name, estimate, int(sum(outcomes)), len(outcomes))
