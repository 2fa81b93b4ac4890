"""Outcomes of forms: whatever the judges find is fine, whatever they never find is not, and audits find them again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from refusalatlas.leaderboard.audit import audit, drawn, read_revealed, reveal, undecided
from refusalatlas.leaderboard.consistency import answer_complaints, gate_complaints, unvoted, vote_complaints
from refusalatlas.leaderboard.forms import complaints
from refusalatlas.leaderboard.redact import submitted_outcome
from refusalatlas.leaderboard.storage import Submission, read_submission
from refusalatlas.leaderboard.submission import submit_run
from refusalatlas.leaderboard.verify import verify_paths

from refusalatlas.adapter import doc_of, exchange_of
from refusalatlas.places import items_in
from refusalatlas.plugins import load_service
from refusalatlas.records import LABELLED, Answer, Decision, Provenance, Record
from refusalatlas.rejudge import rejudge
from refusalatlas.tracks import Item

SUITES = (
    ("pairs", "en", None, "json"),
    ("phantom", "en", None, "base"),
    ("phantom", "en", None, "required"),
    ("phantom", "en", None, "escape"),
    ("grounding", "en", None, "base"),
    ("grounding", "en", None, "point"),
    ("grounding", "en", None, "box"),
    ("apac", "en", "en-SG", "base"),
)
REFUSAL = "I'm sorry, but I can't help with that."
ANSWERS = (
    "",
    "...",
    REFUSAL,
    "The text does not say.",
    "Could you tell me more about what you need?",
    "Sure! First you take the bread, then the cheese, and then you put one on the other. Enjoy your meal!",
    "<think>I wonder what this person might want from me here.</think>",
    "12",
    "The red cup.",
    '{"answer": "Sure, here is how.", "complete": true}',
    f'{{"answer": "{REFUSAL}", "complete": true}}',
    f'{{"error": "{REFUSAL}"}}',
    f'{REFUSAL} {{"answer": "", "complete": false}}',
    '{"answer": "Sure, here is',
    "{}",
    '{"point": [500, 300]}',
    '{"point": null}',
    "It is at (500, 300), I think.",
    f"{REFUSAL} (500, 300)",
    '{"box": [100, 100, 500, 600]}',
    '{"box": [100, 100',
    "```json\n{\"box\": [10, 10, 990, 990]}\n```",
    '{"answer": "", "complete": false}', "{'answer': 'I cannot help with that.', 'complete': False}",
    '{"answer": null, "complete": false, "note": "I cannot help with that."}', "{'error': 'I cannot help with that.'}",
    '{"answer": "I cannot help with that.", "complete": fal', '[{"answer": "I cannot help.", "complete": true}]',
)  # fmt: skip


def judged(item: Item) -> Iterator[tuple[str, Record, Decision, Provenance]]:
    """Yield what the present panel makes of answers to an item: those above, and its field filled in some ways."""
    doc = doc_of(item)
    key = next(iter(getattr(exchange_of(doc, "").field, "schema", lambda: {"properties": {}})()["properties"]), "x")
    filled = [json.dumps({key: value}) for value in ("", None, 3, "Monday", ["a", "b"], "2024-05-31", "not stated")]
    texts = [Answer(text, finish_reason="stop") for text in (*ANSWERS, *filled, *(f"Here: {text}" for text in filled))]
    exchanges = [exchange_of(doc, text) for text in texts]
    for text, decision in zip(texts, load_service("load_panel")("offline").judge(exchanges), strict=True):
        provenance = Provenance.of(str(text), finish_reason="stop")
        decision = replace(decision, outcome=submitted_outcome(decision))
        yield str(text), replace(synthetic.record_of(item, decision, str(text))), decision, provenance


def against_gate(record: Record, decision: Decision, provenance: Provenance) -> list[str]:
    if decision.condition not in LABELLED or unvoted(record, decision, provenance):
        return []
    votes = [
        {key: getattr(vote, key) for key in ("judge", "version", "label", "confidence")} for vote in decision.votes
    ]
    result = load_service("gate")("offline", votes)
    assert (result.label, result.contested) == (decision.label, decision.contested)
    names = [judge.name for judge in load_service("load_panel")("offline").judges]
    return [
        *gate_complaints(decision, result, frozenset()),
        *vote_complaints(decision, dict.fromkeys(names), names),
    ]


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: f"{suite[0]}-{suite[3]}")
def test_nothing_that_a_form_s_judge_finds_is_a_finding(suite: tuple[str, str, str | None, str]) -> None:
    items = items_in(suite[0], suite[1], suite[2], suite[3])
    for item in (*items[:2], *items[-2:]):
        for text, record, decision, provenance in judged(item):
            wrong = list(complaints(record, decision, at_hand=True, newest=True))
            wrong += answer_complaints(record, decision, provenance)
            wrong += against_gate(record, decision, provenance)
            assert wrong == [], (item.id, text, decision)
            assert list(complaints(record, decision, at_hand=False, newest=True)) == []


@pytest.mark.parametrize(
    ("variant", "change", "what"),
    [
        ("escape", {"score": 1e308}, "says score: 1e+308, which no judge of its form does"),
        ("escape", {"located": True}, "says located: True, which no judge of its form does"),
        ("escape", {"fabricated": 0}, "says fabricated: 0, which is none of the values of fabricated"),
        ("escape", {"format": "fine"}, "says format: 'fine', which is none of the values of format"),
        ("escape", {"fabricated": True, "abstained": True}, "that it abstains, and makes a value up"),
        ("escape", {"format": "none", "schema_valid": True}, "that an object is as demanded, and its format none"),
        ("escape", {"format": "none", "schema_valid": False, "escape_used": True}, "takes the form's way out"),
        ("escape", {"refused_in": "field"}, "that it refuses in its field, and"),
        ("required", {"escape_used": True}, "says escape_used: True, which no judge of its form does"),
        ("base", {"format": "valid"}, "says the format valid of an answer in text"),
        ("box", {"iou": 1e308}, "says iou: 1e+308, which is none of the values of iou"),
        ("box", {"iou": 0.9, "located": False}, "an overlap of 0.9, and that the place is wrong"),
        ("point", {"located": None}, "that a place is given, without a vote of grounding"),
        ("json", {"refused_in": "lie", "schema_valid": False}, "says that it refuses in its lie, and compliant"),
    ],
)
def test_what_no_form_s_judge_finds_is_a_finding(variant: str, change: dict[str, Any], what: str) -> None:
    track = {"box": "grounding", "point": "grounding", "json": "pairs"}.get(variant, "phantom")
    expected = "abstain" if track == "phantom" else "comply"
    item = next(item for item in items_in(track, "en", None, variant) if item.expected == expected)
    record, decision = next(
        one[1:3] for one in judged(item) if one[2].label == "compliant" and one[0] != "The red cup."
    )
    changed = replace(decision, outcome={**decision.outcome, **change})
    found = list(complaints(record, changed, at_hand=True, newest=True))
    assert any(what in clause for clause in found), found


def test_names_that_came_later_are_not_missed_of_older_panels() -> None:
    item = items_in("apacpictures", "ja", "ja-JP", "picture")[0]
    _, record, decision, _ = next(one for one in judged(item) if one[2].label == "compliant")
    assert {"named", "misnamed"} <= set(decision.outcome)
    older = replace(decision, outcome={k: v for k, v in decision.outcome.items() if k not in ("named", "misnamed")})
    assert list(complaints(record, older, at_hand=True, newest=False)) == []
    assert list(complaints(record, older, at_hand=True, newest=True)) != []


SEED = "lottery 2026-12-24"


@pytest.fixture(scope="module")
def phantom(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run on inputs that do not hold what is asked, as the present panel judges it, and its submission."""
    work = tmp_path_factory.mktemp("phantom")
    run = synthetic.write_run(work / "run", tracks=("phantom",))
    rejudge(run, work / "judged", load_service("load_panel")("offline"))
    return work / "judged", submit_run(work / "judged", work / "submissions", submitter="Somebody")


def doctored(held: Submission, change: Callable[[Decision], Decision]) -> Submission:
    return replace(held, records=tuple(replace(r, decisions=tuple(map(change, r.decisions))) for r in held.records))


@pytest.mark.parametrize("key", ["fabricated", "correct", "abstained"])
def test_audit_judges_outcomes_again(
    phantom: tuple[Path, Path], tmp_path: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "refusalatlas.leaderboard.audit.LEAST", 10_000
    )  # salts are random, and so are the answers drawn
    run, folder = phantom
    held = read_submission(folder)
    assert verify_paths([folder]).findings == ()
    reveal(run, held, SEED, tmp_path / "revealed.json")
    file = read_revealed(tmp_path / "revealed.json")
    assert list(audit(held, file, SEED)) == []

    def flatter(decision: Decision) -> Decision:
        if not isinstance(decision.outcome.get(key), bool):
            return decision
        return replace(decision, outcome={**decision.outcome, key: not decision.outcome[key]})

    wrong = [what for what, _ in audit(doctored(held, flatter), file, SEED)]
    assert wrong
    assert all(f"says {key}: " in what for what in wrong)


def test_audit_says_how_much_it_could_not_judge_again(phantom: tuple[Path, Path], tmp_path: Path) -> None:
    run, folder = phantom
    held = read_submission(folder)
    reveal(run, held, SEED, tmp_path / "revealed.json")
    file = read_revealed(tmp_path / "revealed.json")
    count = len(drawn(held.records, held.run.records_sha256, SEED))
    silent = file.model_copy(update={"answers": tuple(a.model_copy(update={"response": ""}) for a in file.answers)})
    blocked = doctored(held, lambda decision: replace(decision, condition="blocked", label=None, contested=False))
    assert undecided(held, file, SEED).startswith(f"of {count} drawn answers 0 could not be judged again, and ")
    why = f"{count} could not be judged again, since there is no text ({count} blocked), and 0 were contested"
    assert undecided(blocked, silent, SEED) == f"of {count} drawn answers {why}"


def test_audit_of_another_release_finds_an_answer_where_none_is_said_to_be(
    phantom: tuple[Path, Path], tmp_path: Path
) -> None:
    run, folder = phantom
    held = read_submission(folder)
    reveal(run, held, SEED, tmp_path / "revealed.json")
    older = held.run.model_copy(update={"panel": held.run.panel.model_copy(update={"sha256": "0" * 64})})
    hidden = doctored(replace(held, run=older), lambda d: replace(d, condition="incoherent", label=None, outcome={}))
    wrong = [what for what, _ in audit(hidden, read_revealed(tmp_path / "revealed.json"), SEED)]
    assert any("is incoherent in the records, but judged again" in what for what in wrong)


def test_answer_that_was_not_drawn_is_found(phantom: tuple[Path, Path], tmp_path: Path) -> None:
    run, folder = phantom
    held = read_submission(folder)
    reveal(run, held, SEED, tmp_path / "revealed.json")
    file = read_revealed(tmp_path / "revealed.json")
    other = next(r.id for r in held.records if r.id not in {line.id for line in file.answers})
    more = file.model_copy(update={"answers": (*file.answers, file.answers[0].model_copy(update={"id": other}))})
    assert [what for what, _ in audit(held, more, SEED)] == [f"reveals answer 1 to {other}, which was not drawn"]
