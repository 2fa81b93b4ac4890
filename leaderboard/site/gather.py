"""From submissions to entries: one a model, with its numbers by track and language."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from refusalatlas.leaderboard.schema import TIERS, RunFile
from refusalatlas.leaderboard.storage import Submission, read_submission, run_folders

from refusalatlas.records import LABELLED, Decision, Record

from .tables import Estimate

HEADLINE_TRACK = "pairs"
OUTCOMES: dict[str, str] = {
    "full_refusal": "Refused",
    "partial_refusal": "Refused in part",
    "evasion": "Deflected",
    "capability_limitation": "Cannot",
    "clarification": "Asked back",
    "compliant": "Complied",
    "contested": "Contested",
    "off_language": "Other language",
    "blocked": "Blocked by the provider",
    "empty": "Empty",
    "incoherent": "Incoherent or echo",
    "error": "Error",
}


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a number belongs: a track and variant in a language, perhaps in one of its locales."""

    track: str
    variant: str
    language: str
    locale: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One model under one set of settings.

    Attributes:
        slug: Its folder and page.
        runs: What it rests on, newest first.
        others: Runs of the model under other settings, which it does not rest on.
        headline: Pooled over its languages, on the headline track; by metric.
        estimates: By place and metric.
        outcomes: How many answers ended how, by place.
    """

    slug: str
    runs: tuple[RunFile, ...]
    others: tuple[RunFile, ...]
    headline: Mapping[str, Estimate]
    estimates: Mapping[Place, Mapping[str, Estimate]]
    outcomes: Mapping[Place, Counter[str]]

    @property
    def run(self) -> RunFile:
        """The newest run, which speaks for the others."""
        return self.runs[0]

    @property
    def name(self) -> str:
        """The model's name as submitted; of a reference policy, the policy's."""
        return self.run.model.name

    @property
    def reference(self) -> bool:
        """Whether it is a reference policy, shown as floor or ceiling and never ranked."""
        return self.run.backend == "refusalatlas-reference"

    @property
    def tier(self) -> str:
        """Trust tier of all its runs."""
        return self.run.trust.tier

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages that it was asked in, on the headline track or, without that, on any."""
        asked = {p.language for p in self.estimates if p.track == HEADLINE_TRACK}
        return tuple(sorted(asked or {p.language for p in self.estimates}))


@dataclass(frozen=True, slots=True)
class Atlas:
    """All that the pages show."""

    entries: tuple[Entry, ...]

    @property
    def models(self) -> tuple[Entry, ...]:
        """The entries that are models, by slug."""
        return tuple(e for e in self.entries if not e.reference)

    @property
    def references(self) -> tuple[Entry, ...]:
        """The reference policies, by slug."""
        return tuple(e for e in self.entries if e.reference)

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of all languages that any entry was asked in, sorted."""
        return tuple(sorted({p.language for e in self.entries for p in e.estimates}))

    def places(self, language: str) -> tuple[Place, ...]:
        """Return the places of a language that any entry has numbers in, the headline track first."""
        found = {p for e in self.entries for p in e.estimates if p.language == language}
        return tuple(sorted(found, key=lambda p: (p.track != HEADLINE_TRACK, p.variant != "base", p)))


def gather(root: Path) -> Atlas:
    """Return the entries of a submissions folder.

    Raises:
        DataError: where a submission is broken; nothing is left out silently.
    """
    by_model: dict[str, list[Path]] = defaultdict(list)
    for folder in run_folders(root):
        by_model[folder.parent.name].append(folder)
    return Atlas(tuple(_entry(slug, [read_submission(f) for f in by_model[slug]]) for slug in sorted(by_model)))


def _settings(run: RunFile) -> str:
    """Runs with the same settings may speak together; those with others may not."""
    parts = (run.model, run.backend, run.panel, run.trust.tier, run.ranking.ranked, run.generation, run.prompting)
    return repr(parts)


def _preference(runs: Sequence[Submission]) -> tuple[int, bool, int, str]:
    """Of several settings, the better trusted, then the ranked, then the one with more answers, then the newest."""
    first = runs[0].run
    newest = max(f"{s.run.date}{s.run.run_id}" for s in runs)
    return -TIERS.index(first.trust.tier), first.ranking.ranked, sum(s.run.records for s in runs), newest


def _entry(slug: str, submissions: list[Submission]) -> Entry:
    by_settings: dict[str, list[Submission]] = defaultdict(list)
    for submission in sorted(submissions, key=lambda s: (s.run.date, s.run.run_id), reverse=True):
        by_settings[_settings(submission.run)].append(submission)
    chosen = max(by_settings.values(), key=_preference)
    records = _newest(chosen)
    numbers, headline = estimates(records)
    places: dict[Place, list[Record]] = defaultdict(list)
    for record in records:
        places[Place(record.track, record.variant, record.language, record.locale or "")].append(record)
    used = {s.run.run_id for s in chosen}
    return Entry(
        slug=slug,
        runs=tuple(s.run for s in chosen),
        others=tuple(s.run for group in by_settings.values() for s in group if s.run.run_id not in used),
        headline=headline,
        estimates=numbers,
        outcomes={place: outcomes(places[place]) for place in sorted(places)},
    )


def _newest(submissions: Sequence[Submission]) -> list[Record]:
    """The records of several runs of one model, newest first: an item counts once, a track in one version only."""
    seen: dict[str, Record] = {}
    versions: dict[tuple[str, str], str] = {}
    for submission in submissions:
        for record in submission.records:
            if versions.setdefault((record.track, record.language), record.version) == record.version:
                seen.setdefault(record.id, record)
    return [seen[key] for key in sorted(seen)]


def estimates(records: Sequence[Record]) -> tuple[dict[Place, dict[str, Estimate]], dict[str, Estimate]]:
    """Return the estimates by place and metric, and those of the headline track over all languages together."""
    from refusalatlas.scoring import score_records

    by_variant: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_variant[record.variant].append(record)
    by_place: dict[Place, dict[str, Estimate]] = defaultdict(dict)
    headline: dict[str, Estimate] = {}
    for variant in sorted(by_variant):
        for cell in score_records(by_variant[variant], by_category=False):
            estimate = Estimate(cell.value, cell.low, cell.high, cell.denominator, cell.reason)
            if cell.language is not None:
                by_place[Place(cell.track, variant, cell.language, cell.locale or "")][cell.metric] = estimate
            elif cell.track == HEADLINE_TRACK and variant == "base":
                headline[cell.metric] = estimate
    return {place: by_place[place] for place in sorted(by_place)}, headline


def outcomes(records: Iterable[Record]) -> Counter[str]:
    """Return how many answers ended how; every answer counts once, one in another language as that."""
    return Counter(_outcome(decision) for record in records for decision in record.decisions)


def _outcome(decision: Decision) -> str:
    if decision.condition == "off_language":
        return "off_language"
    if decision.label is not None:
        return decision.label
    if decision.condition in LABELLED:
        return "contested"
    return "incoherent" if decision.condition == "echo" else decision.condition


def total(counts: Iterable[Counter[str]]) -> Counter[str]:
    """Return the sum of outcomes."""
    summed: Counter[str] = Counter()
    for one in counts:
        summed.update(one)
    return summed


def rank_ranges(entries: Sequence[Entry], metric: str) -> dict[str, tuple[int, int]]:
    """Return the best and worst rank that each entry's interval leaves open, by slug; higher values are better.

    An entry's best rank is one more than the number of entries whose interval lies wholly above its own; its worst
    is the number of entries whose interval does not lie wholly below its own. Entries without interval have none.
    """
    bounds: dict[str, tuple[float, float]] = {}
    for entry in entries:
        estimate = entry.headline.get(metric)
        if estimate and estimate.low is not None and estimate.high is not None:
            bounds[entry.slug] = (estimate.low, estimate.high)
    return {
        slug: (
            1 + sum(other_low > high for other_low, _ in bounds.values()),
            sum(other_high >= low for _, other_high in bounds.values()),
        )
        for slug, (low, high) in bounds.items()
    }
