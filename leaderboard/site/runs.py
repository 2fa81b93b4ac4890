"""Pages of one run: where it comes from, and every record of it, by language."""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from markupsafe import Markup, escape
from refusalatlas.leaderboard.schema import OPENING
from refusalatlas.leaderboard.storage import Submission

from refusalatlas.awareness import AWARE
from refusalatlas.languages import load_languages
from refusalatlas.records import Decision, Record

from .gather import Place, outcome_of, outcomes
from .metrics import OUTCOMES
from .render import everywhere, once
from .svg import stacked_bar
from .untrusted import visible
from .validity import validity
from .views import Bar, Speech, axis_rows, language_name, outcome_table
from .wording import mark

EXPECTED = {
    "refuse": "decline",
    "comply": "answer",
    "either": "either",
    "aware": "name the local norm",
    "support": "help the person",
    "abstain": "say that it cannot be known",
}


def write_pages(root: Path, submission: Submission) -> None:
    """Write the pages of a run below the folder of the site."""
    for name, data in pages(submission):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def pages(submission: Submission) -> Iterator[tuple[str, bytes]]:
    """Yield the page of a run in every language of the interface, and those of its records, one a language.

    Those of records are many, so that they are written once, in English; the browser puts other words in.
    """
    run, home = submission.run, f"runs/{submission.slug}/{submission.run.run_id}"
    by_language: dict[str, list[tuple[Record, tuple[str | None, ...]]]] = defaultdict(list)
    for record, openings in zip(submission.records, submission.openings, strict=True):
        by_language[record.language].append((record, openings))
    codes = sorted(by_language, key=lambda code: Speech.of(code).english_name)
    bars, counts = [], []
    for code in codes:
        title = language_name(code, _root(home) + mark("@base") + f"{home}/{code}.html" + mark("@query"))
        for row, ended in axis_rows(title, _ended(record for record, _ in by_language[code]), None):
            shares = [(key, OUTCOMES[key], ended.get(key, 0)) for key in OUTCOMES]
            bars.append(Bar(row, stacked_bar(shares, row.spoken), sum(ended.values())))
            counts.append((row, dict(ended)))
    table = outcome_table(f"{home}", "How the answers ended", counts, "Language")
    shared = {"run": run, "slug": submission.slug}
    yield from everywhere(f"{home}.html", "run.html.j2", **shared, bars=bars, table=table, validity=validity(codes))
    for code in codes:
        rows = Markup("\n".join(_rows(by_language[code])))  # noqa: S704 - each row is escaped piece by piece
        facets = {
            "outcome": sorted({OUTCOMES[outcome_of(d)] for record, _ in by_language[code] for d in record.decisions}),
            "expected": sorted({EXPECTED[record.expected] for record, _ in by_language[code]}),
            "category": sorted({record.category for record, _ in by_language[code]}),
            "track": sorted({record.track for record, _ in by_language[code]}),
        }
        speech = Speech.of(code)
        context = {**shared, "speech": speech, "rows": rows, "facets": facets, "validity": validity([code])}
        yield once(f"{home}/{code}.html", "records.html.j2", **context)


def _ended(records: Iterable[Record]) -> dict[Place, Counter[str]]:
    by_place: dict[Place, list[Record]] = defaultdict(list)
    for record in records:
        by_place[Place("", "", record.language, axis=record.axis)].append(record)
    return {place: outcomes(members) for place, members in by_place.items()}


def _root(path: str) -> Markup:
    return Markup("../" * path.count("/"))  # noqa: S704 - dots and slashes


def _rows(members: list[tuple[Record, tuple[str | None, ...]]]) -> Iterator[str]:
    for record, openings in members:
        for decision, opening in zip(record.decisions, openings, strict=True):
            yield _row(record, decision, opening)


def _row(record: Record, decision: Decision, opening: str | None) -> str:
    """A row of many: formatted here, since a template would take most of the time that a site takes."""
    outcome, expected = OUTCOMES[outcome_of(decision)], EXPECTED[record.expected]
    label = OUTCOMES.get(decision.label or "", "")
    beside = [label] if label and outcome != label else []
    beside += ["one family of judges decided alone"] if decision.single_family else []
    beside += ["cut off"] if decision.condition == "truncated" else []
    if AWARE in decision.outcome:
        beside.append("may know the norm" if decision.outcome[AWARE] else "does not name the norm")
    facets = (("outcome", outcome), ("expected", expected), ("category", record.category), ("track", record.track))
    data = "".join(f' data-{name}="{_safe(value)}"' for name, value in facets)
    return (
        f'<tr{data}><th scope="row"><code>{_safe(record.seed_id)}</code>'
        f"<small>{_safe(record.track)} {_safe(record.variant)} {_safe(record.locale or '')}</small></th>"
        f"<td>{_safe(record.category)}</td>"
        f"<td>{expected}</td>"
        f"<td>{outcome}{''.join(f'<small>{_safe(text)}</small>' for text in beside)}</td>"
        f"<td>{_votes(decision)}</td>"
        f'<td class="said">{_opening(record, decision, opening)}</td></tr>'
    )


@functools.lru_cache(maxsize=4096)
def _safe(text: str) -> str:
    """Return a text escaped; the same few names stand in every row."""
    return str(escape(visible(text)))


def _votes(decision: Decision) -> str:
    shown = [
        f"<li>{_safe(v.judge)}: "
        + ("abstains" if v.label is None else f"{OUTCOMES[v.label]} <small>{v.confidence:.2f}</small>")
        + "</li>"
        for v in decision.votes
    ]
    return f'<ul class="votes">{"".join(shown)}</ul>' if shown else "—"


def _opening(record: Record, decision: Decision, opening: str | None) -> str:
    if opening is None:
        return '<span class="missing">not shown</span>'
    code = decision.language.detected or record.language
    known = load_languages().get(code)
    direction = known.direction if known else "auto"
    beside = "".join(f"<small>{_safe(f.name.replace('_', ' '))}</small>" for f in decision.reasons)
    text = _marked(opening[:OPENING], [f.evidence for f in decision.reasons])
    return f'<bdi lang="{_safe(code)}" dir="{direction}">{text}</bdi>{beside}'


def _marked(text: str, evidence: Iterable[str]) -> str:
    """Return a text escaped, its pieces of evidence marked; they may overlap, or be a piece of each other."""
    inside = [False] * len(text)
    for piece in evidence:
        start = text.find(piece)
        if start >= 0:
            inside[start : start + len(piece)] = [True] * len(piece)
    shown = []
    for marked, letters in itertools.groupby(zip(inside, text, strict=True), key=operator.itemgetter(0)):
        said = str(escape(visible("".join(letter for _, letter in letters))))
        shown.append(f"<mark>{said}</mark>" if marked else said)
    return "".join(shown)
