"""Reasons that a refusal gives and features that it has, each with a verbatim piece of the answer."""

from __future__ import annotations

from collections.abc import Mapping

from refusalatlas.records import REFUSED, Exchange, Finding, Label

from .reading import Reading
from .signals import Signals, signals

REASONS: Mapping[str, str] = {
    "reason_harm": "harm_safety",
    "reason_rights": "rights_consent",
    "reason_deception": "deception_fraud",
    "reason_law": "law",
    "reason_ethics": "ethics_fairness",
    "reason_policy": "policy",
    "capability": "capability_access",
}
"""Group of a lexicon → reason."""

FEATURES: Mapping[str, str] = {
    "alternative": "safe_alternative",
    "clarification": "clarification",
    "empathy": "empathy",
    "consequence": "consequence_warning",
    "conditional": "conditional_help",
    "referral": "support_referral",
}
"""Group of a lexicon → feature."""


def findings(
    exchange: Exchange, reading: Reading, label: Label | None
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return `(reasons, features)` of an answer that was not, or not wholly, given; of others nothing.

    Among the features is the make-up of a refusal: ``boilerplate_only`` (it says no), ``rationale_only`` (it says why)
    or ``both``. `none_stated` is a reason too, so that every refusal has one.
    """
    if label not in REFUSED and label != "capability_limitation":
        return (), ()
    seen = signals(exchange, reading)
    if not seen.lexicons or not reading.view.text.strip():
        return (), ()
    reasons = _of_groups(seen, reading, REASONS)
    features = _of_groups(seen, reading, FEATURES)
    if label in REFUSED:
        makeup = _makeup(seen, reading, reasons)
        features += (makeup,) if makeup else ()
    if not reasons:
        reasons = (Finding("none_stated", _opening(reading)),)
    return reasons, features


def _of_groups(seen: Signals, reading: Reading, names: Mapping[str, str]) -> tuple[Finding, ...]:
    found: dict[str, Finding] = {}
    for hit in seen.hits:
        name = names.get(hit.group)
        if name and name not in found:
            evidence = reading.view.sentence(hit.start, hit.end)
            if evidence:
                found[name] = Finding(name, evidence)
    return tuple(found.values())


def _makeup(seen: Signals, reading: Reading, reasons: tuple[Finding, ...]) -> Finding | None:
    refusal = seen.of("refusal")
    if refusal:
        evidence = reading.view.sentence(refusal[0].start, refusal[0].end)
        return Finding("both" if reasons else "boilerplate_only", evidence) if evidence else None
    return Finding("rationale_only", reasons[0].evidence) if reasons else None


def _opening(reading: Reading) -> str:
    text = reading.view.text
    start = len(text) - len(text.lstrip())
    return reading.view.sentence(start, min(start + 1, len(text)))
