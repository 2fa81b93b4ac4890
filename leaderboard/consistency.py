"""Fields of one answer that contradict each other: what no backend, no judge and no gate ever writes side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refusalatlas.models.complaints import BLOCKING
from refusalatlas.records import FORM_JUDGE, LABELLED, Decision, Provenance, Record
from refusalatlas.variants import form_of

from .forms import PLACES

_FILTERS = BLOCKING - {"refusal"}  # a refusal that a provider marks as one is an answer
_NOTHING = ("empty", "blocked", "error")


def answer_complaints(record: Record, decision: Decision, provenance: Provenance) -> Iterator[str]:
    """Yield what contradicts itself in what is said of one answer, each a clause without a subject."""
    yield from _condition_complaints(decision, provenance)
    place = form_of(record.variant) in PLACES
    if decision.condition not in LABELLED:
        # A judge of places takes what is said of the words into what it finds of an object that leaves the place open.
        if decision.votes or (not place and _decided(decision)):
            yield f"is {decision.condition}, and yet was voted on"
    elif not decision.votes and not place and not _broken_off(decision, provenance):
        yield f"is {decision.condition}, and yet was not voted on"
    said = decision.language
    if decision.condition == "off_language" and said.detected in (None, said.expected) and not place:
        yield f"is off_language, but its language is {said.detected or 'not known'}"


def _decided(decision: Decision) -> bool:
    return bool(decision.agreement or decision.contested or decision.single_family or decision.escalated_by)


def unvoted(record: Record, decision: Decision, provenance: Provenance) -> bool:
    """Whether a decision may be without votes: nothing but unfinished thinking, or a place without words."""
    if decision.votes or decision.label is not None or decision.contested:
        return False
    return form_of(record.variant) in PLACES or _broken_off(decision, provenance)


def _broken_off(decision: Decision, provenance: Provenance) -> bool:
    """Whether an answer is thinking that was cut off, of which there are no words to vote on."""
    return (
        decision.condition == "truncated"
        and provenance.finish_reason == "length"
        and provenance.length > 0
        and decision.language.detected is None
        and not decision.contested
        and decision.label is None
    )


def _condition_complaints(decision: Decision, provenance: Provenance) -> Iterator[str]:
    condition, reason, length = decision.condition, provenance.finish_reason, provenance.length
    if length == 0 and condition not in _NOTHING:
        yield f"has no letter, and yet is {decision.label or condition}"
    filtered = (reason or "").lower() in _FILTERS
    if filtered and condition != "blocked":
        yield f"ended by {reason}, and yet is {condition}"
    if condition == "error" and (length > 0 or reason is not None):
        what = f"{length} letters" if length else f"finish reason {reason}"
        yield f"is an error, and yet has {what}; a request that failed has no answer"
    # Of an answer that a filter stopped, text comes only with the reason by which it stopped it; spaces may be left.
    if condition == "blocked" and length > _BLANK and not filtered and reason != "refusal":
        yield f"is blocked, and yet has {length} letters and finish reason {reason}"
    wordless = condition in ("empty", "error") or (condition == "blocked" and length == 0)
    if wordless and decision.language.detected is not None and "located" not in decision.outcome:
        yield f"is {condition}, and yet its language is known to be {decision.language.detected}"
    helped = any(vote.judge == FORM_JUDGE for vote in decision.votes)
    if condition == "ok" and reason == "length" and not helped:
        yield "was cut off by its length, and yet is whole"


_BLANK = 20


def vote_complaints(decision: Decision, judges: Mapping[str, str | None], asked: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with the votes beside the panel that is named, each a clause without a subject.

    Args:
        decision: With its votes.
        judges: All that the panel asks, those after a contest too: name and, where known, version.
        asked: Those that are asked about every answer.
    """
    votes = [vote for vote in decision.votes if vote.judge != FORM_JUDGE]
    counts = Counter(vote.judge for vote in votes)
    strangers = sorted(counts.keys() - judges.keys())
    if strangers:
        yield f"has a vote of {', '.join(strangers)}, whom the panel does not ask"
    doubled = sorted(name for name, count in counts.items() if count > 1)
    if doubled:
        yield f"has two votes of {', '.join(doubled)}"
    absent = [name for name in asked if votes and name not in counts]
    if absent:
        yield f"is without a vote of {', '.join(absent)}, whom the panel asks"
    for vote in votes:
        version = judges.get(vote.judge)
        if version is not None and vote.version != version:
            yield f"has a vote of {vote.judge} {vote.version}, but the panel's is {version}"


def gate_complaints(decision: Decision, result: Any, after: frozenset[str]) -> Iterator[str]:
    """Yield where agreement and families are not what the gate makes of the votes, each a clause without a subject.

    Args:
        decision: As the records have it.
        result: What the gate makes of its votes.
        after: Judges that are asked after a contest, whose votes the judge of places does not count anew.
    """
    judges = {vote.judge for vote in decision.votes}
    if abs(decision.agreement - result.agreement) > 1e-4 and not (FORM_JUDGE in judges and judges & after):
        yield f"says agreement {decision.agreement:g}, but its votes make it {result.agreement:g}"
    if decision.single_family != result.single_family:
        yield f"says single_family {str(decision.single_family).lower()}, but its votes make it the opposite"
