"""What `verify` checks of a submission whose files could be read; each check yields `(what, how to mend it)`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from refusalatlas.errors import AtlasError
from refusalatlas.plugins import load_service
from refusalatlas.records import LABELLED, Decision, Exchange, Record, Verdict
from refusalatlas.variants import form_of

from .schema import ranking_of
from .scrub import scrub
from .storage import Submission
from .submission import scores
from .suites import by_suite, complaint, pin

Complaint = tuple[str, str]
_AGAIN = "submit the run again"
_JUDGE_AGAIN = "judge the run again with `refusalatlas judge`, then submit it"
_FACTS = ("cluster_id", "category", "axis", "role", "expected", "locale")


def run_checks(submission: Submission, text: str) -> Iterator[Complaint]:
    """Check ``run.json`` against the records and against the rules for its fields."""
    run = submission.run
    if scrub(text) != text:
        yield "holds what looks like a secret, a user name or a home folder", "take it out, and withdraw the secret"
    wanted = ranking_of(run.generation, run.prompting)
    if wanted != run.ranking:
        reason = f" ({wanted.reason})" if wanted.reason else ""
        yield f"ranking.ranked should be {str(wanted.ranked).lower()}{reason}", _AGAIN
    yield from _suite_checks(submission)
    yield from _score_checks(submission)


def _suite_checks(submission: Submission) -> Iterator[Complaint]:
    held = by_suite(submission.records)
    stated = {(s.track, s.version, s.language, s.variant): s for s in submission.run.suites}
    if len(stated) != len(submission.run.suites):
        yield "names a suite twice", _AGAIN
    for absent in sorted(stated.keys() - {(k.track, k.version, k.language, k.variant) for k in held}):
        yield f"names a suite without records: {' '.join(absent)}", _AGAIN
    for key, records in held.items():
        suite = stated.get((key.track, key.version, key.language, key.variant))
        pinned = pin(key)
        if suite is None:
            yield f"does not name the suite {key}", _AGAIN
        elif pinned and (suite.n, suite.ids, suite.texts) != (pinned.n, pinned.ids, pinned.texts):
            yield f"the digests of {key} are not those of the release", "run the released version"
        wrong = complaint(key, records)
        if wrong:
            yield wrong, "run the whole task, with a released version"


def _score_checks(submission: Submission) -> Iterator[Complaint]:
    def keyed(rows: Iterable[object]) -> dict[tuple[object, ...], tuple[object, ...]]:
        names = ("track", "language", "locale", "variant", "metric")
        return {tuple(getattr(r, n) for n in names): (getattr(r, "value"), getattr(r, "n")) for r in rows}  # noqa: B009

    stated, computed = keyed(submission.run.scores), keyed(scores(submission.records))
    wrong = [key for key in computed if not _same(stated.get(key), computed[key])]
    extra = stated.keys() - computed.keys()
    if wrong:
        key = wrong[0]
        shown = " ".join(str(part) for part in key if part is not None)
        what = f"{len(wrong)} of {len(computed)} scores do not follow from the records, first {shown}: "
        yield what + f"{stated.get(key, (None, None))[0]} instead of {computed[key][0]}", _AGAIN
    if extra or len(stated) != len(submission.run.scores):
        yield "states scores that the records do not give, or one twice", _AGAIN


def _same(stated: tuple[object, ...] | None, computed: tuple[object, ...]) -> bool:
    if stated is None or stated[1] != computed[1]:
        return False
    a, b = stated[0], computed[0]
    # Youden's J comes from floating-point sums, whose last digit may differ between machines.
    return a == b if not isinstance(a, float) or not isinstance(b, float) else abs(a - b) <= 2e-6


def record_checks(submission: Submission) -> Iterator[Complaint]:
    """Check the records: their items, panel, votes, labels and openings."""
    doubled = [item for item, count in Counter(r.id for r in submission.records).items() if count > 1]
    for item in doubled:
        yield f"item {item} stands there twice", _AGAIN
    panel = f"{submission.run.panel.name}@{submission.run.panel.sha256}"
    for record, openings in zip(submission.records, submission.openings, strict=True):
        place = f"{record.track}/{record.seed_id}/{record.locale or record.language}/{record.variant}"
        if record.id != place:
            yield f"item {record.id} should be {place} by its fields", _AGAIN
        if record.panel != panel:
            yield f"item {record.id} was decided by another panel than run.json names", _JUDGE_AGAIN
        if len(record.decisions) > submission.run.generation.samples:
            yield f"item {record.id} has more answers than run.json says", _AGAIN
        for decision, opening in zip(record.decisions, openings, strict=True):
            yield from _decision_checks(record, decision, opening)
    yield from _fact_checks(submission.records)
    yield from _gate_checks(submission)
    yield from _opening_checks(submission)


def _decision_checks(record: Record, decision: Decision, opening: str | None) -> Iterator[Complaint]:
    if decision.label is not None and (decision.contested or decision.condition not in LABELLED):
        yield f"item {record.id} has a label although it is contested or {decision.condition}", _JUDGE_AGAIN
    if decision.language.expected not in (None, record.language):
        yield f"item {record.id} expects another language than its own", _JUDGE_AGAIN
    if (opening is not None) != (decision.label == "full_refusal"):
        yield f"item {record.id}: openings are for full refusals, all of them, and for nothing else", _AGAIN
    evidence = [f.evidence for f in (*decision.reasons, *decision.features)]
    if any(piece not in (opening or "") for piece in evidence):
        yield f"item {record.id} shows evidence from outside the opening of a full refusal", _AGAIN


def _fact_checks(records: Iterable[Record]) -> Iterator[Complaint]:
    """An item's expectation decides what its answer is worth, so it has to be the released one."""
    from refusalatlas.tracks import load_items, load_tracks

    for key, members in by_suite(records).items():
        track = load_tracks().get(key.track)
        if track is None:
            continue
        try:
            # Seeds keep what is expected of them through the versions X of N-X.
            if track.version.partition("-")[0] != key.version.partition("-")[0]:
                continue
            items = {item.id: item for item in load_items(key.track, key.language)}
        except AtlasError:
            continue
        for record in members:
            item = items.get(f"{record.id.rpartition('/')[0]}/base")
            wrong = [name for name in _FACTS if item is not None and getattr(item, name) != getattr(record, name)]
            if wrong:
                yield f"item {record.id} has another {' and '.join(wrong)} than the track", _AGAIN


def _gate_checks(submission: Submission) -> Iterator[Complaint]:
    gate = load_service("gate")
    name = submission.run.panel.name
    for record in submission.records:
        for decision in record.decisions:
            if decision.condition not in LABELLED:
                continue
            try:
                result = gate(name, [_vote(v) for v in decision.votes])
            except AtlasError as error:
                yield f"panel {name}: {error.what}", "judge the run again with a panel that is released"
                return
            if (result.label, result.contested) != (decision.label, decision.contested):
                made = result.label or "contested"
                yield f"item {record.id} is {decision.label or 'contested'}, but its votes make it {made}", _JUDGE_AGAIN
            if result.escalated_by != decision.escalated_by:
                named, made = (who or "nobody" for who in (decision.escalated_by, result.escalated_by))
                what = f"item {record.id} says that {named} decided after a contest, but by its votes {made} did"
                yield what, _JUDGE_AGAIN


def _vote(verdict: Verdict) -> dict[str, object]:
    return {
        "judge": verdict.judge,
        "version": verdict.version,
        "label": verdict.label,
        "confidence": verdict.confidence,
    }


def _opening_checks(submission: Submission) -> Iterator[Complaint]:
    exchanges = [
        Exchange(record.id, "", opening, record.language, form=form_of(record.variant))
        for record, openings in zip(submission.records, submission.openings, strict=True)
        for opening in openings
        if opening is not None
    ]
    if not exchanges:
        return
    try:
        panel = load_service("load_panel")(submission.run.panel.name, escalation=False)
    except AtlasError as error:
        yield f"panel {submission.run.panel.name}: {error.what}", "judge the run again with a panel that is released"
        return
    for exchange, decision in zip(exchanges, panel.judge(exchanges), strict=True):
        if decision.label == "compliant" and not decision.contested:
            yield f"item {exchange.id} is called a refusal, but its opening reads as compliance", _JUDGE_AGAIN
