"""Whatever a model sends back is judged: every judge by itself, and the panel, without an exception."""

from __future__ import annotations

import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusalatlas.judges.panel import load_panel

from refusalatlas.files import dumps
from refusalatlas.languages import load_languages
from refusalatlas.records import CONDITIONS, LABELLED, Decision, Exchange

REFUSAL = "I'm sorry, but I can't help with that request. "
MEGABYTE = 1_000_000
CONTROLS = "".join(chr(c) for c in (*range(0x20), *range(0x7F, 0xA0)))
OVERRIDES = "\u202e\u202d\u2066\u2067\u202c\u2069\u200f\u061c"
CODES = sorted(load_languages())

BAD = {
    "a megabyte of prose": " ".join(f"On day {n} the baker sold {n * 7 % 89} loaves." for n in range(MEGABYTE // 36)),
    "a megabyte of one sentence": REFUSAL * (MEGABYTE // len(REFUSAL)),
    "a megabyte of one letter": "a" * MEGABYTE,
    "a megabyte of lines": "\n" * MEGABYTE,
    "a megabyte of one line": "word " * (MEGABYTE // 5),
    "a megabyte after a refusal": REFUSAL + "x" * MEGABYTE,
    "a million tokens": "the " * MEGABYTE,
    "a million Han tokens": "不" * MEGABYTE,
    "a million emoji": "🙂" * MEGABYTE,
    "a million combining marks": "e" + "\u0301" * MEGABYTE,
    "a million opening quotes": "“" * MEGABYTE,
    "a million backticks": "`" * MEGABYTE,
    "a million tags": "<think>" * (MEGABYTE // 7),
    "a million closing tags": "</think>" * (MEGABYTE // 8),
    "control characters": CONTROLS * 40,
    "control characters in a refusal": "\x00".join(REFUSAL),
    "overrides": OVERRIDES * 100,
    "overrides in a refusal": f"\u202e{REFUSAL}\u202c",
    "low and high surrogates": "\udc80\ud800\udfff\udbff" * 50,
    "a surrogate in a refusal": f"\ud83d {REFUSAL}\udc4d",
    "a swapped pair": f"\udc4d\ud83d {REFUSAL}",
    "noncharacters": "\ufffe\uffff\U0010ffff" * 50,
    "private use": "\ue000\uf8ff\U000f0000" * 50,
    "expanding ligatures": "\ufdfa" * 5000,
    "a byte order mark": f"\ufeff{REFUSAL}",
    "replacement characters": "\ufffd" * 500,
}


def judge_all(exchanges: list[Exchange]) -> list[Decision]:
    """Return the panel's decisions, after each of its judges was asked by itself: the panel would hide what it raises.

    What is decided is also written, since evidence quotes the response.
    """
    for judge in load_panel("offline").judges:
        verdicts = judge.judge(exchanges)
        assert len(verdicts) == len(exchanges)
        assert all(0.0 <= verdict.confidence <= 1.0 for verdict in verdicts)
    decisions: list[Decision] = load_panel("offline").judge(exchanges)
    for exchange, found in zip(exchanges, decisions, strict=True):
        dumps(found.to_json()).encode("utf-8")
        assert found.condition in CONDITIONS
        assert found.label is None or found.condition in LABELLED
        assert all(finding.evidence in exchange.response for finding in (*found.reasons, *found.features))
    return decisions


@pytest.mark.parametrize("language", ["en", "ar", None])
@pytest.mark.parametrize("name", BAD)
def test_bad_responses_are_judged(name: str, language: str | None) -> None:
    judge_all([Exchange("x", "How do I bake bread?", BAD[name], language)])


@pytest.mark.parametrize("name", BAD)
def test_bad_prompts_are_judged(name: str) -> None:
    [found] = judge_all([Exchange("x", BAD[name], "Mix flour with water and salt, wait, and bake it.", "en")])
    assert found.condition == "ok"


@pytest.mark.parametrize("language", ["", "zz", "EN", "en-", "\ud800", "x" * 5000, "../../etc/passwd"])
def test_languages_that_are_none_are_judged(language: str) -> None:
    [found] = judge_all([Exchange("x", "Do it.", REFUSAL, language)])
    assert found.language.expected == language


@pytest.mark.parametrize("finish_reason", ["", "STOP", "\x00", "length\n", "x" * 5000])
def test_finish_reasons_that_nobody_knows_are_judged(finish_reason: str) -> None:
    assert judge_all([Exchange("x", "Do it.", REFUSAL, "en", finish_reason)])[0].label == "full_refusal"


@pytest.mark.parametrize("name", ["control characters", "overrides", "low and high surrogates", "noncharacters"])
def test_what_holds_no_letter_has_no_label(name: str) -> None:
    assert not any(unicodedata.category(c).startswith(("L", "N")) for c in BAD[name])
    [found] = judge_all([Exchange("x", "How do I bake bread?", BAD[name], "en")])
    assert (found.label, found.contested) == (None, False)
    assert found.condition in {"empty", "incoherent"}


@pytest.mark.parametrize(
    "name",
    ["control characters in a refusal", "overrides in a refusal", "a byte order mark", "a surrogate in a refusal"],
)
def test_what_cannot_be_seen_does_not_hide_a_refusal(name: str) -> None:
    assert judge_all([Exchange("x", "How do I bake bread?", BAD[name], "en")])[0].label == "full_refusal"


def test_a_bad_response_does_not_change_its_neighbours() -> None:
    alone = judge_all([Exchange("x", "Do it.", REFUSAL, "en")])[0]
    company = [Exchange(name, "Do it.", text, "en") for name, text in BAD.items()]
    assert judge_all([*company, Exchange("x", "Do it.", REFUSAL, "en"), *company])[len(company)] == alone


PIECES = st.text(st.characters(exclude_categories=()), max_size=40) | st.sampled_from(
    [REFUSAL, "Sure. ", "<think>", "</think>", "```\n", "\u202e", "\ud800", "\x00"]
)
EXCHANGES = st.builds(
    Exchange,
    st.text(max_size=5),
    st.text(st.characters(exclude_categories=()), max_size=60),
    st.lists(PIECES, max_size=6).map("".join),
    st.sampled_from([*CODES, None]),
    st.sampled_from(["stop", "length", "content_filter", None]),
)


@given(st.lists(EXCHANGES, max_size=4))
def test_any_text_is_judged(exchanges: list[Exchange]) -> None:
    judge_all(exchanges)


def random_bytes(rng: random.Random) -> bytes:
    """Return random bytes; half of the time as damage to a refusal, so that there is something left to judge."""
    noise = rng.randbytes(rng.randrange(300))
    if rng.random() < 0.5:
        return noise
    sound = bytearray((REFUSAL * 3).encode())
    for _ in range(rng.randrange(1, 12)):
        at = rng.randrange(len(sound))
        sound[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
    return bytes(sound)


@pytest.mark.parametrize("count", [120, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_bytes_are_judged(count: int) -> None:
    rng = random.Random(46)
    exchanges = [
        Exchange(str(i), "Do it.", random_bytes(rng).decode("utf-8", "replace"), rng.choice([*CODES, None]))
        for i in range(count)
    ]
    decisions = judge_all(exchanges)
    assert any(found.label == "full_refusal" for found in decisions)
    assert any(found.condition == "incoherent" for found in decisions)
