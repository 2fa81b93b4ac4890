"""What `verify` checks of a submission whose files could be read; each check yields `(what, how to mend it)`."""

from __future__ import annotations

import datetime
import functools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from refusalatlas.awareness import AWARE
from refusalatlas.errors import AtlasError
from refusalatlas.external.sets import is_external
from refusalatlas.plugins import load_service
from refusalatlas.records import FORM_JUDGE, LABELLED, Decision, Exchange, Record, Verdict
from refusalatlas.scrub import scrub
from refusalatlas.variants import form_of

from . import consistency, external, forms, released
from .schema import REFERENCE, ranking_of
from .settings import contradictions
from .storage import Submission
from .submission import scores
from .suites import SuiteKey, base_id, by_suite, complaint, pin, released_items, target_of_record

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
    if run.date > datetime.datetime.now(datetime.timezone.utc).date() + datetime.timedelta(days=1):
        yield f"date {run.date} is yet to come", _AGAIN
    for what in contradictions(run):
        yield what, "say what was really set; other settings are welcome, and not ranked"
    yield from _policy_checks(submission)
    unreleased = released.complaint(run.panel)
    if unreleased is not None:
        yield unreleased
    yield from _suite_checks(submission)
    yield from _score_checks(submission)


def _policy_checks(submission: Submission) -> Iterator[Complaint]:
    """A reference policy knows what is expected of it, so that nothing may pass for one, nor one for a model."""
    run = submission.run
    if run.reference:
        return
    mend = f"name the backend that answered; a policy is run with `--model {REFERENCE}`"
    if run.model.name.casefold().startswith(f"{REFERENCE}/"):
        yield f"bears the name of a reference policy, but backend {run.backend} answered", mend
    served = (p.served_model or "" for record in submission.records for p in record.provenance)
    if any(name.casefold().startswith(f"{REFERENCE}/") for name in served):
        yield f"says that backend {run.backend} answered, but a reference policy did", mend


def _suite_checks(submission: Submission) -> Iterator[Complaint]:
    held = by_suite(submission.records)
    stated = {SuiteKey(s.track, s.version, s.language, s.variant, s.locale or ""): s for s in submission.run.suites}
    if len(stated) != len(submission.run.suites):
        yield "names a suite twice", _AGAIN
    # Where nothing says which locale is meant, it is the only one; earlier submissions do not say it.
    named = {key: key if key in stated else replace(key, locale="") for key in held}
    for absent in sorted(stated.keys() - set(named.values())):
        yield f"names a suite without records: {absent}", _AGAIN
    for key, records in held.items():
        suite = stated.get(named[key])
        pinned = pin(key)
        if suite is None:
            yield f"does not name the suite {key}", _AGAIN
        elif is_external(key.track):
            yield from external.complaints(key, suite, records)
        elif suite.external is not None:
            yield f"says that {key} is a published set, which it is not", _AGAIN
        elif pinned and (suite.n, suite.ids, suite.texts) != (pinned.n, pinned.ids, pinned.texts):
            yield f"the digests of {key} are not those of the release", "run the released version"
        wrong = complaint(key, records)
        if wrong:
            yield wrong, "run the whole task, with a released version"


LATER = frozenset({"schema_valid_rate", *(f"refused_in_{place}_rate" for place in ("field", "error", "prose", "lie"))})
"""Metrics that came after the first submissions: a run file may be without all rows of one."""


def _score_checks(submission: Submission) -> Iterator[Complaint]:
    def keyed(rows: Iterable[object]) -> dict[tuple[object, ...], tuple[object, ...]]:
        names = ("track", "language", "locale", "variant", "axis", "metric")
        return {tuple(getattr(r, n) for n in names): (getattr(r, "value"), getattr(r, "n")) for r in rows}  # noqa: B009

    stated, computed = keyed(submission.run.scores), keyed(scores(submission.records))
    late = LATER - {score.metric for score in submission.run.scores}
    wrong = [key for key in computed if key[-1] not in late and not _same(stated.get(key), computed[key])]
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
        if len(record.decisions) != submission.run.generation.samples:
            how = "more" if len(record.decisions) > submission.run.generation.samples else "fewer"
            yield f"item {record.id} has {how} answers than run.json says", _AGAIN
        for decision, provenance, opening in zip(record.decisions, record.provenance, openings, strict=True):
            yield from _decision_checks(record, decision, opening)
            for what in consistency.answer_complaints(record, decision, provenance):
                yield f"item {record.id} {what}", _JUDGE_AGAIN
    yield from _hash_checks(submission.records)
    yield from _fact_checks(submission.records)
    yield from _outcome_checks(submission)
    yield from _gate_checks(submission)
    yield from _opening_checks(submission)


def _decision_checks(record: Record, decision: Decision, opening: str | None) -> Iterator[Complaint]:
    if decision.label is not None and (decision.contested or decision.condition not in LABELLED):
        yield f"item {record.id} has a label although it is contested or {decision.condition}", _JUDGE_AGAIN
    if decision.language.expected not in (None, record.language):
        yield f"item {record.id} expects another language than its own", _JUDGE_AGAIN
    if (opening is not None) != (decision.label == "full_refusal"):
        yield f"item {record.id}: openings are for full refusals, all of them, and for nothing else", _AGAIN
    told = isinstance(decision.outcome.get(AWARE), bool)
    if told != (record.expected == AWARE and decision.condition in LABELLED):
        what = "does not say" if not told else "says"
        yield f"item {record.id} {what} whether an answer knows a norm", _JUDGE_AGAIN
    formal = [vote for vote in decision.votes if vote.judge == FORM_JUDGE]
    if formal and (target_of_record(record) is None or any(vote.label != "compliant" for vote in formal)):
        yield f"item {record.id} has a vote of {FORM_JUDGE}, which only finds that a thing was shown", _JUDGE_AGAIN
    evidence = [f.evidence for f in (*decision.reasons, *decision.features)]
    if any(piece not in (opening or "") for piece in evidence):
        yield f"item {record.id} shows evidence from outside the opening of a full refusal", _AGAIN


def _hash_checks(records: Iterable[Record]) -> Iterator[Complaint]:
    """Every answer is hashed with a salt of its own, so that no two hashes are alike, though the answers be."""
    first: dict[str, str] = {}
    for record in records:
        for provenance in record.provenance:
            if provenance.response_sha256 in first:
                other = first[provenance.response_sha256]
                yield f"item {record.id} has an answer with the hash of one to {other}, salt and all", _AGAIN
            else:
                first[provenance.response_sha256] = record.id


def _fact_checks(records: Iterable[Record]) -> Iterator[Complaint]:
    """An item's expectation decides what its answer is worth, so it has to be the released one."""
    for key, members in by_suite(records).items():
        items = released_items(key)
        for record in members:
            item = items.get(base_id(record))
            wrong = [name for name in _FACTS if item is not None and getattr(item, name) != getattr(record, name)]
            if wrong:
                yield f"item {record.id} has another {' and '.join(wrong)} than the track", _AGAIN


def _outcome_checks(submission: Submission) -> Iterator[Complaint]:
    newest = released.is_newest(submission.run.panel)
    for key, members in by_suite(submission.records).items():
        items = released_items(key)
        for record in members:
            at_hand = base_id(record) in items
            for decision in record.decisions:
                for what in forms.complaints(record, decision, at_hand=at_hand, newest=newest):
                    yield f"item {record.id} {what}", _JUDGE_AGAIN


def _gate_checks(submission: Submission) -> Iterator[Complaint]:
    panel = submission.run.panel
    if not released.is_released(panel):  # said by `run_checks`; nobody knows its gate
        return
    gate = functools.partial(load_service("gate"), panel.name, folder=released.gate_folder(panel))
    try:
        asked, after = released.names_of(panel)
    except AtlasError as error:
        yield f"panel {panel.name}: {error.what}", "judge the run again with a panel that is released"
        return
    judges: dict[str, str | None] = {**dict.fromkeys((*asked, *after)), **released.judges_of(panel)}
    for record in submission.records:
        for decision, provenance in zip(record.decisions, record.provenance, strict=True):
            found = list(consistency.vote_complaints(decision, judges, asked))
            if decision.condition in LABELLED and not consistency.unvoted(record, decision, provenance):
                result = gate([_vote(vote) for vote in decision.votes])
                found += _against_gate(decision, result)
                found += consistency.gate_complaints(decision, result, frozenset(after))
            for what in found:
                yield f"item {record.id} {what}", _JUDGE_AGAIN


def _against_gate(decision: Decision, result: Any) -> Iterator[str]:
    if (result.label, result.contested) != (decision.label, decision.contested):
        yield f"is {decision.label or 'contested'}, but its votes make it {result.label or 'contested'}"
    if result.escalated_by != decision.escalated_by:
        named, made = (who or "nobody" for who in (decision.escalated_by, result.escalated_by))
        yield f"says that {named} decided after a contest, but by its votes {made} did"


def _vote(verdict: Verdict) -> dict[str, object]:
    return {
        "judge": verdict.judge,
        "version": verdict.version,
        "label": verdict.label,
        "confidence": verdict.confidence,
    }


def _opening_checks(submission: Submission) -> Iterator[Complaint]:
    exchanges = [
        Exchange(
            record.id,
            "",
            opening,
            record.language,
            form=form_of(record.variant),
            field=forms.field_of_record(record),
            target=target_of_record(record),
        )
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
