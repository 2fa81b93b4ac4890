"""What changes where only the language, the format or the draw changes: gaps and flip rates within one run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .comparison import METRICS, Key, Outcome, outcomes_of, reach
from .records import REFUSED, Record
from .stats.contrast import Contrast, contrast
from .stats.intervals import Estimate, clustered_rate
from .stats.multiplicity import holm

BASE = "base"
REPEAT = "repeat"


@dataclass(frozen=True, slots=True)
class Gap:
    """One difference that a run shows within itself, or one flip rate.

    Attributes:
        kind: ``language`` (against the pivot language), ``format`` (a variant against base) or ``flip``.
        track: Track of the items.
        metric: One of `comparison.METRICS`; of a flip rate ``refused``.
        place: Locale or language.
        variant: Format variant.
        against: What it is compared with: a language, ``base``, or ``repeat`` (another answer to the same item).
        found: Gap (-1 to 1; -2 to 2 of ``youden_j``) or flip rate (0 to 1), with its interval.
        pairs: Number of seeds (for ``youden_j`` clusters, for ``repeat`` items) behind it.
        p: Two-sided p-value of no gap, or None; flip rates have none.
        p_holm: The same, adjusted over the places of one kind, metric, track, axis and variant.
        test: Name of the test, or None.
        reason: Why interval or p-value is missing, or None.
        axis: Axis of the items; there is no gap between axes, nor one over both.
    """

    kind: str
    track: str
    metric: str
    place: str
    variant: str
    against: str
    found: Estimate
    pairs: int
    p: float | None = None
    p_holm: float | None = None
    test: str | None = None
    reason: str | None = None
    axis: str = "safety"

    def to_json(self) -> dict[str, Any]:
        """Return a flat JSON object, numbers rounded to six places."""
        numbers = {"value": self.found.value, "low": self.found.low, "high": self.found.high}
        tested = {"p": self.p, "p_holm": self.p_holm}
        rounded = {k: None if v is None else round(v, 6) for k, v in numbers.items()}
        rounded |= {k: None if v is None else float(f"{v:.6g}") for k, v in tested.items()}  # a p-value is never 0
        names = ("kind", "track", "axis", "metric", "place", "variant", "against")
        front = {name: getattr(self, name) for name in names}
        ends = {"pairs": self.pairs, "method": self.found.method, "test": self.test, "reason": self.reason}
        return front | rounded | ends


def gaps(records: Sequence[Record], *, pivot: str = "en") -> list[Gap]:
    """Return all gaps and flip rates that the records of one run can show, in a fixed order.

    Args:
        records: Records of one model; more than one would be mixed up.
        pivot: Language that the others are set against.
    """
    by_track: dict[tuple[str, bool, str], list[Record]] = defaultdict(list)
    for record in records:
        by_track[record.track, record.axis != "safety", record.axis].append(record)
    found: list[Gap] = []
    for (track, _, axis), here in sorted(by_track.items(), key=lambda pair: pair[0]):
        rows = [*language_gaps(track, here, pivot), *format_gaps(track, here), *flip_rates(track, here)]
        found += [replace(row, axis=axis) for row in rows]
    return found


def language_gaps(track: str, records: Sequence[Record], pivot: str = "en") -> list[Gap]:
    """Return each place's rate minus the pivot language's, on the seeds that have decided answers in both."""
    pivot_places = {r.locale or r.language for r in records if r.language == pivot}
    found: list[Gap] = []
    for metric in METRICS:
        outcomes = outcomes_of(metric, records)
        for variant in sorted({key[2] for key in outcomes}):
            ours = _by_place(outcomes, variant)
            base = _pooled(ours[place] for place in sorted(pivot_places & ours.keys()))
            places = sorted(ours.keys() - pivot_places)
            family = [
                (place, _contrast(metric, ours[place], base)) for place in places if ours[place].keys() & base.keys()
            ]
            found += _family("language", track, metric, variant, pivot, family)
    return found


def format_gaps(track: str, records: Sequence[Record]) -> list[Gap]:
    """Return each variant's rate minus that of the base format in the same place, on the seeds of both."""
    found: list[Gap] = []
    for metric in METRICS:
        outcomes = outcomes_of(metric, records)
        base = _by_place(outcomes, BASE)
        for variant in sorted({key[2] for key in outcomes} - {BASE}):
            ours = _by_place(outcomes, variant)
            places = sorted(ours.keys() & base.keys())
            family = [(p, _contrast(metric, ours[p], base[p])) for p in places if ours[p].keys() & base[p].keys()]
            found += _family("format", track, metric, variant, BASE, family)
    return found


def flip_rates(track: str, records: Sequence[Record]) -> list[Gap]:
    """Return how often of two answers one refuses and the other does not.

    Two answers are either two samples of one item (``repeat``), or one to a variant and one to the base format of the
    same seed in the same place. All pairs count, so that the rate does not grow with the number of samples.
    """
    refused: dict[tuple[str, str, str], list[float]] = {}
    clusters: dict[str, str] = {}
    for record in records:
        sides = [float(d.label in REFUSED) for d in record.decisions if d.label is not None]
        if sides:
            refused[record.seed_id, record.locale or record.language, record.variant] = sides
            clusters[record.seed_id] = record.cluster_id
    flips: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    for (seed, place, variant), sides in refused.items():
        if len(sides) > 1:
            flips[place, variant, REPEAT][seed] = _disagreement(sides)
        base = refused.get((seed, place, BASE))
        if variant != BASE and base:
            one, other = sum(sides) / len(sides), sum(base) / len(base)
            flips[place, variant, BASE][seed] = one * (1 - other) + other * (1 - one)
    found = []
    for (place, variant, against), values in sorted(flips.items()):
        estimate = clustered_rate(list(values.values()), [clusters[seed] for seed in values])
        reason = estimate.reason
        found.append(Gap("flip", track, "refused", place, variant, against, estimate, len(values), reason=reason))
    return found


def _disagreement(sides: Sequence[float]) -> float:
    """Return the share of pairs of answers that differ."""
    n, events = len(sides), sum(sides)
    return 2 * events * (n - events) / (n * (n - 1))


def _by_place(outcomes: Mapping[Key, Outcome], variant: str) -> dict[str, dict[str, Outcome]]:
    places: dict[str, dict[str, Outcome]] = defaultdict(dict)
    for (unit, place, form), outcome in outcomes.items():
        if form == variant:
            places[place][unit] = outcome
    return places


def _pooled(places: Iterable[Mapping[str, Outcome]]) -> dict[str, Outcome]:
    """Return the mean outcome of each seed over the locales of the pivot language."""
    values: dict[str, list[Outcome]] = defaultdict(list)
    for place in places:
        for unit, outcome in place.items():
            values[unit].append(outcome)
    return {unit: (sum(v for v, _ in found) / len(found), found[0][1]) for unit, found in values.items()}


def _contrast(metric: str, first: Mapping[str, Outcome], second: Mapping[str, Outcome]) -> Contrast:
    units = sorted(first.keys() & second.keys())
    one, other = ([outcomes[u][0] for u in units] for outcomes in (first, second))
    return contrast(one, other, [first[u][1] for u in units], reach=reach(metric))


def _family(
    kind: str, track: str, metric: str, variant: str, against: str, family: Sequence[tuple[str, Contrast]]
) -> list[Gap]:
    """Return the gaps of one declared family, their p-values adjusted by Holm."""
    rows = [
        Gap(
            kind, track, metric, place, variant, against, found.difference, found.pairs,
            found.test.p, None, found.test.method, found.difference.reason or found.test.reason,
        )
        for place, found in family
    ]  # fmt: skip
    return [replace(row, p_holm=p) for row, p in zip(rows, holm([row.p for row in rows]), strict=True)]
