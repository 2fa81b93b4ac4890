"""What refusals say, counted on planted findings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from refusalatlas.content import ContentRate, content_rates
from refusalatlas.records import Finding, Record
from refusalatlas.stats.intervals import clustered_rate


def refusal(make: Any, seed: int, *features: str, reason: str = "law", **fields: Any) -> Record:
    """A refusal that has some features and one reason."""
    record = make(seed, "refuse", "full_refusal", **fields)
    (decision,) = record.decisions
    found = tuple(Finding(name, "words") for name in features)
    return replace(record, decisions=(replace(decision, features=found, reasons=(Finding(reason, "words"),)),))


def row(found: list[ContentRate], name: str, language: str | None) -> ContentRate:
    (one,) = [r for r in found if r.name == name and r.language == language]
    return one


def test_rate_is_of_refusals_alone_and_has_the_interval_of_clustered_rates(make_record: Any) -> None:
    empathy = [float(seed < 12) for seed in range(30)]
    records = [refusal(make_record, seed, *(["empathy"] if empathy[seed] else [])) for seed in range(30)]
    records += [make_record(seed, "comply", "compliant") for seed in range(30)]
    records += [make_record(seed, "refuse", None) for seed in range(30, 40)]
    found = row(content_rates(records), "empathy", "sw")
    assert (found.kind, found.numerator, found.denominator) == ("feature", 12, 30)
    assert found.found == clustered_rate(empathy, [f"c{seed:03}" for seed in range(30)])
    assert found.found.value == pytest.approx(0.4)


def test_name_that_a_language_lacks_stands_there_as_nought(make_record: Any) -> None:
    records = [refusal(make_record, seed, "support_referral") for seed in range(5)]
    records += [refusal(make_record, seed, language="fr", reason="policy") for seed in range(5)]
    found = content_rates(records)
    assert row(found, "support_referral", "fr").found.value == 0.0
    assert row(found, "support_referral", None).found.value == 0.5
    assert row(found, "law", "fr").numerator == 0
    assert row(found, "policy", "fr").numerator == 5
    assert {r.name for r in found} == {"support_referral", "law", "policy"}


def test_few_seeds_have_no_interval_and_say_why(make_record: Any) -> None:
    found = row(content_rates([refusal(make_record, seed, "empathy") for seed in range(5)]), "empathy", "sw")
    assert (found.found.low, found.found.high) == (None, None)
    assert "few seeds" in (found.found.reason or "")


def test_axes_variants_and_locales_are_apart(make_record: Any) -> None:
    records = [
        refusal(make_record, 1, "empathy"),
        refusal(make_record, 1, axis="appropriateness"),
        refusal(make_record, 1, variant="json"),
        refusal(make_record, 2, locale="sw-KE"),
    ]
    found = [r for r in content_rates(records, pooled=False) if r.name == "empathy"]
    assert [(r.variant, r.axis, r.locale, r.numerator) for r in found] == [
        ("base", "safety", None, 1),
        ("base", "safety", "sw-KE", 0),
        ("base", "appropriateness", None, 0),
        ("json", "safety", None, 0),
    ]


def test_nothing_refused_gives_no_rows(make_record: Any) -> None:
    assert content_rates([make_record(1, "comply", "compliant")]) == []
    assert content_rates([]) == []
