"""What each page shows: from entries to tables, plots and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from refusalatlas.external.sets import get_set, is_external
from refusalatlas.languages import Language, load_languages
from refusalatlas.stats.intervals import MIN_CLUSTERS
from refusalatlas.tracks import load_tracks

from . import svg
from .answers import groups
from .facets import facets_of
from .gather import HEADLINE_TRACK, SAFETY, Atlas, Entry, Place, by_axis
from .metrics import DASH, HEADLINE, OUTCOMES, shown_metrics
from .tables import Column, Estimate, Row, Table, Text, Value, stat_columns

CORE = ("en", "es", "fr", "ru", "ar", "hi", "zh-Hans", "ko", "id", "sw", "ha", "yo")
"""The languages that a model has to be asked in before it is ranked."""

TRACK_TITLES = {
    "pairs": "Contrast pairs",
    "minos": "Ten conversations (smoke test)",
    "africa": "African places",
    "apac": "Asian places",
    "apacpictures": "Asian places in pictures",
    "grounding": "Things in a scene",
    "phantom": "Forms without an answer",
}


@dataclass(frozen=True, slots=True)
class Speech:
    """A language as pages name it."""

    code: str
    name: str
    english_name: str
    dir: str

    @classmethod
    def of(cls, code: str) -> Speech:
        """Return a language by code; one that is not registered is named by its code."""
        found: Language | None = load_languages().get(code)
        return cls(code, found.name, found.english_name, found.direction) if found else cls(code, code, code, "ltr")


@dataclass(frozen=True, slots=True)
class Bar:
    """A stacked bar with what stands beside it."""

    title: Text
    drawing: Markup
    n: int


def unranked_because(entry: Entry) -> str | None:
    """Return why an entry has no rank, in a word or two, or None where it may have one.

    Groups come of paired tests, so that seeds are what it takes. An interval of Youden's J is not: of a model that is
    nearly perfect there is none.
    """
    if entry.tier == "self-reported":
        return "self-reported"
    if not entry.run.ranking.ranked:
        return "other settings"
    if set(CORE) - set(entry.languages):
        return "languages missing"
    return entry.lacking or (None if entry.answers.clusters >= MIN_CLUSTERS else "too few seeds")


def by_youden(entries: Iterable[Entry]) -> list[Entry]:
    """Highest first, missing last, then by name, so that the order never depends on the machine."""

    def key(entry: Entry) -> tuple[bool, float, str]:
        value = entry.headline.get("youden_j", Estimate(None, None, None, 0)).value
        return value is None, -(value or 0.0), entry.slug

    return sorted(entries, key=key)


def model_text(entry: Entry, root: str) -> Text:
    """Return a model's name, leading to its page."""
    name = entry.name.partition("/")[2] if entry.reference else entry.name
    return Text(name or entry.name, f"{root}models/{entry.slug}.html", sub=entry.alias or entry.run.model.revision)


def overview_table(atlas: Atlas, tied: Mapping[str, int]) -> Table:
    """Return the models with their numbers on the headline track, pooled over languages, and their `tie_groups`."""
    order = sorted(by_youden(atlas.models), key=lambda e: e.slug not in tied)
    return Table("overview", "Models", OVERVIEW, tuple(_overview_row(e, tied.get(e.slug)) for e in order))


OVERVIEW = (
    Column("model", "Model"),
    Column("group", "Group", "note", "Models that a paired test cannot tell from the best of their group."),
    *stat_columns(HEADLINE),
    Column("languages", "Languages", "count", "In how many languages the model was asked."),
    Column("tier", "Trust", "tier"),
)
REFERENCES = (Column("model", "Policy"), *stat_columns(HEADLINE), Column("languages", "Languages", "count"))


def tie_groups(atlas: Atlas) -> dict[str, int]:
    """Return the tie group, from 1 for the best, of each model that may have one, by slug."""
    ranked = [entry for entry in by_youden(atlas.models) if unranked_because(entry) is None]
    return groups([entry.slug for entry in ranked], {entry.slug: entry.answers for entry in ranked})


def _overview_row(entry: Entry, group: int | None) -> Row:
    cells: dict[str, Value] = {
        "group": group_text(group, unranked_because(entry)),
        "model": model_text(entry, ""),
        "tier": Text(entry.tier),
        "languages": len(entry.languages),
        **{key: entry.headline.get(key) for key in HEADLINE},
    }
    return Row(cells, facets_of(entry))


def group_text(group: int | None, unranked: str | None) -> Text:
    """Return a tie group, or a dash with the reason why there is none."""
    return Text(DASH if group is None else str(group), sub=unranked, ours=True)


def reference_table(atlas: Atlas) -> Table:
    """Return the reference policies: floors and ceilings, never ranked."""
    rows = [
        Row(
            {
                "model": model_text(entry, ""),
                "languages": len(entry.languages),
                **{key: entry.headline.get(key) for key in HEADLINE},
            }
        )
        for entry in by_youden(atlas.references)
    ]
    return Table("references", "Reference policies", REFERENCES, tuple(rows))


def matrix_table(atlas: Atlas) -> Table:
    """Return Youden's J of every model in every language, which is also the coverage."""
    youden = stat_columns(["youden_j"])[0].metric
    columns = [Column("model", "Model")]
    columns += [Column(code, code, "heat", Speech.of(code).english_name, youden) for code in atlas.languages]
    entries = [*by_youden(atlas.models), *by_youden(atlas.references)]
    return Table("matrix", "Youden’s J by language", tuple(columns), tuple(_matrix_row(e, atlas) for e in entries))


def _matrix_row(entry: Entry, atlas: Atlas) -> Row:
    cells: dict[str, Value] = {"model": model_text(entry, "")}
    for code in atlas.languages:
        cells[code] = entry.estimates.get(Place(HEADLINE_TRACK, "base", code), {}).get("youden_j")
    return Row(cells)


def overview_plot(atlas: Atlas) -> Markup:
    """Return the scatter of models and reference policies."""
    missing = Estimate(None, None, None, 0)
    points = [
        svg.Point(
            label=entry.name.rpartition("/")[2],
            href=f"models/{entry.slug}.html",
            x=entry.headline.get("unsafe_compliance", missing),
            y=entry.headline.get("over_refusal", missing),
            shape="reference" if entry.reference else entry.tier,
        )
        for entry in (*atlas.references, *atlas.models)
    ]
    return svg.scatter(points)


def place_title(place: Place) -> str:
    """Return a place's track, variant, axis (where the track has two) and locale as pages name them.

    A published set is called one: its items are not ours, and nobody has verified them.
    """
    if is_external(place.track):
        return f"{get_set(place.track).file.title} (published set)"
    title = TRACK_TITLES.get(place.track, place.track.capitalize())
    variant = "" if place.variant == "base" else f", {place.variant}"
    track = load_tracks().get(place.track)
    several = track is not None and len(track.axes) > 1
    axis = f", {place.axis}" if several or place.axis != SAFETY else ""
    return f"{title}{variant}{axis}{f' · {place.locale}' if place.locale else ''}"


def language_table(atlas: Atlas, code: str) -> Table:
    """Return all models and policies in one language, by track, axis and locale."""
    metrics = shown_metrics(e.estimates.get(p, {}) for e in atlas.entries for p in atlas.places(code))
    columns = (
        Column("model", "Model"),
        Column("track", "Track"),
        *stat_columns(metrics),
        Column("tier", "Trust", "tier"),
    )
    rows = []
    for place in atlas.places(code):
        holders = [e for e in atlas.entries if place in e.estimates]

        def key(entry: Entry, place: Place = place) -> tuple[bool, bool, float, str]:
            value = entry.estimates[place]["youden_j"].value
            return entry.reference, value is None, -(value or 0.0), entry.slug

        for entry in sorted(holders, key=key):
            tier = "reference" if entry.reference else entry.tier
            cells: dict[str, Value] = {
                "track": Text(place_title(place), ours=True),
                "model": model_text(entry, "../"),
                "tier": Text(tier),
                **{name: entry.estimates[place].get(name) for name in metrics},
            }
            rows.append(Row(cells, {"tier": tier, "track": place_title(place)}))
    return Table(f"languages/{code}", "Models", columns, tuple(rows))


def language_bars(atlas: Atlas, code: str) -> list[Bar]:
    """Return how the answers of each model ended in one language, all tracks together."""
    return [_bar(title, counts) for title, counts in _of_language(atlas, code)]


def _of_language(atlas: Atlas, code: str) -> Iterator[tuple[Text, dict[str, int]]]:
    for entry in (*by_youden(atlas.models), *by_youden(atlas.references)):
        yield from axis_rows(model_text(entry, "../"), entry.outcomes, code)


def axis_rows(
    title: Text, outcomes: Mapping[Place, Counter[str]], code: str | None
) -> Iterator[tuple[Text, dict[str, int]]]:
    """Yield how answers in a language (of all, where None) ended, one row an axis; other axes than safety are named.

    Answers to published sets are not among them: whoever ran one would have bars of something else than the others.
    """
    chosen = {
        place: counts
        for place, counts in outcomes.items()
        if code in (None, place.language) and not is_external(place.track)
    }
    for axis, counts in by_axis(chosen).items():
        if counts:
            yield (title if axis == SAFETY else replace(title, sub=axis, sub_lang=None, sub_ours=True)), dict(counts)


def _bar(title: Text, counts: dict[str, int]) -> Bar:
    shares = [(key, OUTCOMES[key], counts.get(key, 0)) for key in OUTCOMES]
    return Bar(title, svg.stacked_bar(shares, title.spoken), sum(counts.values()))


def outcome_table(name: str, title: str, rows: Sequence[tuple[Text, dict[str, int]]], head: str) -> Table:
    """Return the counts behind stacked bars."""
    columns = (Column("row", head), *(Column(key, OUTCOMES[key], "count") for key in OUTCOMES))
    made = [Row({"row": text, **{key: counts.get(key, 0) for key in OUTCOMES}}) for text, counts in rows]
    return Table(name, title, columns, tuple(made))


def language_outcomes(atlas: Atlas, code: str) -> Table:
    """Return the counts behind `language_bars`."""
    rows = list(_of_language(atlas, code))
    return outcome_table(f"languages/{code}-outcomes", "How the answers ended", rows, "Model")


def language_text(code: str) -> Text:
    """Return a language's name, leading to its page from a page one folder down."""
    return language_name(code, f"../languages/{code}.html")


def language_name(code: str, href: str | None = None) -> Text:
    """Return a language's name, in words of the interface, its own beside it."""
    speech = Speech.of(code)
    own = None if speech.name == speech.english_name else speech.name
    return Text(speech.english_name, href, sub=own, sub_lang=code, ours=True)


def model_table(entry: Entry) -> Table:
    """Return one model's numbers by language, track and axis, those over all places of a track first."""
    numbers = {**entry.pooled, **entry.estimates}
    metrics = shown_metrics(numbers.values())
    columns = (Column("language", "Language"), Column("track", "Track"), *stat_columns(metrics))
    rows = []
    for place in sorted(numbers, key=_model_order):
        cells: dict[str, Value] = {
            "language": language_text(place.language) if place.language else Text("All languages", ours=True),
            "track": Text(place_title(place), ours=True),
            **{name: numbers[place].get(name) for name in metrics},
        }
        rows.append(Row(cells, {"track": place_title(place)}))
    return Table(f"models/{entry.slug}", "By language and track", columns, tuple(rows))


def _model_order(place: Place) -> tuple[bool, bool, str, Place]:
    name = Speech.of(place.language).english_name
    return place.track != HEADLINE_TRACK, bool(place.language), name, place


def model_bars(entry: Entry) -> list[Bar]:
    """Return how one model's answers ended: all of them, then by language."""
    return [_bar(text, counts) for text, counts in _model_rows(entry)]


def model_outcomes(entry: Entry) -> Table:
    """Return the counts behind `model_bars`."""
    return outcome_table(f"models/{entry.slug}-outcomes", "How the answers ended", _model_rows(entry), "Language")


def _model_rows(entry: Entry) -> list[tuple[Text, dict[str, int]]]:
    codes = sorted({p.language for p in entry.outcomes}, key=lambda code: Speech.of(code).english_name)
    rows = [*axis_rows(Text("All languages", ours=True), entry.outcomes, None)]
    return [*rows, *(row for code in codes for row in axis_rows(language_text(code), entry.outcomes, code))]


def cells_table(atlas: Atlas) -> Table:
    """Return every number of the site, one a row."""
    columns = (
        *(
            Column(key, key)
            for key in ("model", "revision", "tier", "track", "variant", "axis", "language", "locale", "metric")
        ),
        Column("estimate", "estimate", "stat"),
        Column("reason", "reason"),
    )
    rows = []
    for entry in atlas.entries:
        for place, numbers in {**entry.estimates, **entry.pooled}.items():
            for metric, estimate in numbers.items():
                cells: dict[str, Value] = {
                    "model": Text(entry.name),
                    "revision": Text(entry.run.model.revision or ""),
                    "tier": Text("reference" if entry.reference else entry.tier),
                    "track": Text(place.track),
                    "variant": Text(place.variant),
                    "axis": Text(place.axis),
                    "language": Text(place.language),
                    "locale": Text(place.locale),
                    "metric": Text(metric),
                    "estimate": estimate,
                    "reason": Text(estimate.reason or ""),
                }
                rows.append(Row(cells))
    return Table("cells", "Every number", columns, tuple(rows))
