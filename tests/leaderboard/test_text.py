"""Scrubbing, redaction and names: what text may leave a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from refusalatlas.leaderboard.naming import model_slug
from refusalatlas.leaderboard.redact import opening, submitted
from refusalatlas.leaderboard.schema import OPENING, RecordLine, json_schemas

from refusalatlas import leaderboard
from refusalatlas.records import Decision, DetectedLanguage, Finding, Label
from refusalatlas.scrub import HIDDEN, scrub, scrub_mapping
from refusalatlas.tracks import load_items


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("--model_args model=x,api_key=s3cr3t,base_url=http://h", "s3cr3t"),
        ("OPENAI_API_KEY=s3cr3t lm_eval", "s3cr3t"),
        ("{'Authorization': 'Bearer s3cr3ts3cr3t'}", "s3cr3ts3cr3t"),
        ('{"header": {"x-api-key": "s3cr3t"}}', "s3cr3t"),
        ("curl -H 'Authorization: Basic czNjcjN0czNjcjN0'", "czNjcjN0czNjcjN0"),
        ("tool --api-key s3cr3t --verbose", "s3cr3t"),
        ("['tool', '--auth-token', 's3cr3t']", "s3cr3t"),
        ("key sk-proj-abcdefghijklmnopqrst", "abcdefghijklmnopqrst"),
        ("hf_abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx"),
        ("AKIAABCDEFGHIJKLMNOP", "ABCDEFGHIJKLMNOP"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "eyJhbGciOiJIUzI1NiJ9"),
        ("https://me:pass@host/v1", "pass"),
        ("https://host/v1?api-version=1&sig=abcd", "abcd"),
        ("/home/alice/models/x", "alice"),
        ("C:\\Users\\alice\\x", "alice"),
    ],
)
def test_secret_is_hidden(text: str, secret: str) -> None:
    assert secret not in scrub(text)


@pytest.mark.parametrize(
    "text",
    [
        "lm_eval --model hf --model_args pretrained=org/model,max_tokens=512,tokenizer=org/model",
        "max_gen_toks=512,add_bos_token=true",
        "https://host.example:8000/v1/chat/completions",
        "model=org/monkey-7b",
        "['tool', '--no-auth', '-p', '{prompt}', '--token-file', 'x', '--max-tokens', '512']",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert scrub(text) == text


@given(st.text(max_size=200))
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    once = scrub(text)
    assert scrub(once) == once


def test_value_under_a_telling_name_goes_whole() -> None:
    clean = scrub_mapping({"api_key": {"a": 1}, "model": "x", "max_tokens": 5, "trust_remote_code": True})
    assert clean == {"api_key": HIDDEN, "model": "x", "max_tokens": 5, "trust_remote_code": True}


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("org/Model-1.5", "org__model-1.5"),
        ("../../etc/passwd", "__..__etc__passwd"),
        (".hidden", "hidden"),
    ],
)
def test_slug(name: str, slug: str) -> None:
    assert model_slug(name) == slug


@given(st.text(min_size=1, max_size=300))
def test_slug_is_one_safe_folder_name(name: str) -> None:
    slug = model_slug(name)
    assert slug
    assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
    assert not slug.startswith(".")
    assert len(slug) <= 120


def test_names_in_other_scripts_do_not_meet() -> None:
    assert model_slug("模型") != model_slug("модель")


@pytest.mark.parametrize(
    "response",
    ["<think>how to</think>\n\nNo.", "how to</think>No.", "<thinking>how to</thinking> No."],
)
def test_opening_begins_after_the_thinking(response: str) -> None:
    assert opening(response) == "No."


@given(st.text(alphabet=st.characters(), max_size=400))
def test_opening_is_short_and_can_be_written(response: str) -> None:
    shown = opening(response)
    assert len(shown) <= OPENING
    shown.encode()


def _line(label: Label | None, answer: str, evidence: str) -> RecordLine:
    item = load_items("pairs", "en")[0]
    language = DetectedLanguage("en", "en", 1.0)
    decision = Decision(
        label,
        "ok",
        language,
        1.0,
        label is None,
        reasons=(Finding("law", evidence),),
        features=(Finding("empathy", evidence),),
        outcome={"iou": 0.5, "fabricated": True, "quote": "a piece of the answer"},
    )
    return RecordLine.model_validate(submitted(synthetic.record_of(item, decision, answer), [answer]))


def test_full_refusal_shows_its_opening_and_the_evidence_in_it() -> None:
    line = _line("full_refusal", "I won't, it is against the law. " + "x" * 300, "against the law")
    assert line.openings[0] is not None
    assert len(line.openings[0]) == OPENING
    assert line.decisions[0].reasons[0].evidence == "against the law"


def test_evidence_behind_the_opening_is_left_out() -> None:
    line = _line("full_refusal", "No. " + "x" * 300 + " against the law", "against the law")
    assert line.decisions[0].reasons == ()
    assert line.decisions[0].features == ()


@pytest.mark.parametrize("label", ["partial_refusal", "evasion", "compliant", None])
def test_other_answers_show_nothing(label: Label | None) -> None:
    line = _line(label, "Some answer, against the law", "against the law")
    assert line.openings == (None,)
    assert "against" not in line.model_dump_json()


def test_outcome_keeps_numbers_and_drops_sentences() -> None:
    assert _line("compliant", "x", "x").decisions[0].outcome == {"iou": 0.5, "fabricated": True}


def test_schema_for_others_forbids_unknown_fields() -> None:
    run, record = json_schemas()["run.schema.json"], json_schemas()["record.schema.json"]
    assert run["additionalProperties"] is False
    assert record["additionalProperties"] is False
    assert {"model", "records_sha256", "panel"} <= set(run["required"])


def test_published_schemas_are_those_of_the_code() -> None:
    folder = Path(leaderboard.__file__).parent / "schema"
    published = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
    assert published == json_schemas()
