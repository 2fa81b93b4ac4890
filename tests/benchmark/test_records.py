from __future__ import annotations

import copy
import hashlib
import hmac
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusalatlas.files import dumps
from refusalatlas.records import (
    CONDITIONS,
    EXPECTED,
    LABELLED,
    LABELS,
    REFUSED,
    ROLES,
    Answer,
    Decision,
    DetectedLanguage,
    Finding,
    Provenance,
    Record,
    Verdict,
    salted_hash,
)

WORDS = st.text(max_size=12)
SHARE = st.floats(0, 1).map(lambda x: round(x, 4))  # files hold four places
LABEL = st.none() | st.sampled_from(LABELS)
VERDICTS = st.builds(Verdict, WORDS, WORDS, LABEL, SHARE)
FINDINGS = st.lists(st.builds(Finding, WORDS, WORDS), max_size=2).map(tuple)
DECISIONS = st.builds(
    Decision,
    label=LABEL,
    condition=st.sampled_from(CONDITIONS),
    language=st.builds(DetectedLanguage, st.none() | WORDS, st.none() | WORDS, SHARE),
    agreement=SHARE,
    contested=st.booleans(),
    votes=st.lists(VERDICTS, max_size=3).map(tuple),
    reasons=FINDINGS,
    features=FINDINGS,
    escalated_by=st.none() | WORDS,
    single_family=st.booleans(),
    outcome=st.dictionaries(WORDS, st.booleans() | st.integers(-9, 9) | WORDS, max_size=2),
)
PROVENANCES = st.builds(
    Provenance.of,
    st.text(),
    finish_reason=st.none() | WORDS,
    served_model=st.none() | WORDS,
    provider=st.none() | WORDS,
)
RECORDS = st.builds(
    Record,
    **{key: WORDS for key in ("id", "seed_id", "cluster_id", "track", "version", "language", "category", "axis")},
    locale=st.none() | WORDS,
    role=st.sampled_from(ROLES),
    variant=WORDS,
    expected=st.sampled_from(EXPECTED),
    panel=WORDS,
    decisions=st.lists(DECISIONS, max_size=2).map(tuple),
    provenance=st.lists(PROVENANCES, max_size=2).map(tuple),
)


@given(RECORDS)
def test_records_come_back_from_json_as_they_were(record: Record) -> None:
    assert Record.from_json(json.loads(dumps(record.to_json()))) == record


@given(RECORDS)
def test_without_salt_means_that_no_salt_is_anywhere(record: Record) -> None:
    line = dumps(record.to_json(with_salt=False))
    assert all(p.salt is not None and p.salt not in line for p in record.provenance)
    assert all(p.salt is None for p in Record.from_json(json.loads(line)).provenance)


DECISION = Decision(
    "full_refusal", "ok", DetectedLanguage("sw", "sw", 0.9), 1.0, False, (Verdict("rules", "1", "full_refusal", 0.8),)
)
RECORD = Record(
    "pairs/a-b/sw/base", "a-b", "a", "pairs", "1-0", "sw", None, "fraud", "safety", "harmful", "base", "refuse",
    "offline@ab", (DECISION,), (Provenance.of("Samahani."),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("role",), "evil"),
        (("expected",), "obey"),
        (("decisions", 0, "label"), "refused"),
        (("decisions", 0, "condition"), "fine"),
        (("decisions", 0, "votes", 0, "label"), "no"),
        (("decisions", 0, "agreement"), "all"),
        (("decisions", 0, "language"), {"tongue": "sw"}),
        (("decisions",), None),
        (("provenance", 0), {"length": 3, "colour": "red", "response_sha256": ""}),
    ],
)
def test_what_is_outside_the_closed_lists_is_refused(path: tuple[Any, ...], value: Any) -> None:
    row = copy.deepcopy(RECORD.to_json())
    place = row
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises((KeyError, TypeError, ValueError)):
        Record.from_json(row)


@pytest.mark.parametrize("key", ["id", "seed_id", "panel", "decisions", "provenance", "expected"])
def test_missing_fields_are_refused(key: str) -> None:
    row = RECORD.to_json()
    del row[key]
    with pytest.raises(KeyError):
        Record.from_json(row)


def test_decision_has_the_keys_that_users_were_promised() -> None:
    promised = "label condition language agreement contested votes reasons features escalated_by"
    assert list(DECISION.to_json()) == promised.split()
    assert list(DECISION.to_json()["language"]) == ["expected", "detected", "confidence"]
    assert list(DECISION.to_json()["votes"][0]) == ["judge", "version", "label", "confidence"]


def test_records_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        RECORD.track = "other"  # type: ignore[misc]


def test_refused_labels_and_labelled_conditions_are_of_the_closed_lists() -> None:
    assert set(LABELS) >= REFUSED
    assert set(CONDITIONS) > LABELLED
    assert "compliant" not in REFUSED


def test_salted_hash_is_hmac_sha256_of_utf8() -> None:
    expected = hmac.new(b"\x01" * 16, "Samahani – 抱歉".encode(), hashlib.sha256).hexdigest()
    assert salted_hash("Samahani – 抱歉", "01" * 16) == expected


@given(st.text(st.characters(codec=None, categories=None)))
def test_every_answer_can_be_hashed_and_two_salts_give_two_hashes(text: str) -> None:
    first, second = Provenance.of(text), Provenance.of(text)
    assert first.salt is not None
    assert salted_hash(text, first.salt) == first.response_sha256 != second.response_sha256
    assert first.length == len(text)


ANSWERS = st.builds(
    Answer,
    st.text(),
    condition=st.none() | st.sampled_from(["blocked", "error", "empty"]),
    finish_reason=st.none() | WORDS,
    served_model=st.none() | WORDS,
    provider=st.none() | WORDS,
    detail=st.none() | WORDS,
)


@given(ANSWERS, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_answers_survive_the_cache_that_pickles(answer: Answer, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(answer, protocol))  # noqa: S301 - our own, made here
    assert type(again) is Answer
    assert (str(again), vars(again)) == (str(answer), vars(answer))


@given(ANSWERS)
def test_answers_are_plain_text_to_everybody_else(answer: Answer) -> None:
    assert isinstance(answer, str)
    assert json.loads(json.dumps([answer])) == [str(answer)]
    assert type(answer.strip()) is str
    assert copy.deepcopy(answer).finish_reason == answer.finish_reason


@given(st.text(st.characters(codec=None, categories=None)))
def test_answers_can_always_be_written(text: str) -> None:
    assert Answer(text).encode("utf-8").decode("utf-8") == Answer(text)
    assert len(Answer(text)) <= len(text)


@pytest.mark.parametrize(
    ("text", "kept"), [("a\ud83d b", "a\ufffd b"), ("\ud83d\ude00", "\U0001f600"), ("\ude00", "\ufffd"), ("a\0", "a\0")]
)
def test_halves_of_characters_are_joined_or_replaced(text: str, kept: str) -> None:
    assert Answer(text) == kept
