"""Records and settings that contradict themselves: each kind is found, and what backends really write is not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from refusalatlas.leaderboard.consistency import answer_complaints
from refusalatlas.leaderboard.ranking import missing_too_much
from refusalatlas.leaderboard.storage import RECORDS_FILE, RUN_FILE, doubled_key, iter_lines, pack, read_submission
from refusalatlas.leaderboard.submission import submit_run
from refusalatlas.leaderboard.verify import verify_paths

from refusalatlas.errors import AtlasError
from refusalatlas.plugins import load_service
from refusalatlas.records import Decision, DetectedLanguage, Exchange, Provenance

Row = dict[str, Any]
ChangeRecords = Callable[[Callable[[list[Row]], Any]], Path]
ChangeRun = Callable[[Callable[[Row], Any]], Path]

NOTHING = {
    "label": None, "contested": False, "votes": [], "reasons": [], "features": [], "agreement": 0.0,
    "single_family": False, "language": {"expected": "en", "detected": None, "confidence": 0.0},
}  # fmt: skip


def found(*paths: Path) -> str:
    return "\n".join(finding.what for finding in verify_paths(paths).findings)


def turn(row: Row, condition: str, **provenance: Any) -> None:
    """Make an answer one that is not there."""
    row["decisions"][0].update(copy.deepcopy(NOTHING), condition=condition)
    row["openings"] = [None]
    row["provenance"][0].update(provenance)


# Samples


@pytest.mark.parametrize(("kept", "word"), [(1, "fewer"), (3, "more")])
def test_uneven_samples_are_found(
    submission: Path, change_records: ChangeRecords, change_run: ChangeRun, kept: int, word: str
) -> None:
    def repeat(rows: list[Row]) -> None:
        for number, row in enumerate(rows):
            for key in ("decisions", "provenance", "openings"):
                row[key] *= kept if number == 3 else 2

    change_records(repeat)
    change_run(lambda facts: facts["generation"].update(samples=2))
    lines = [line for line in found(submission).splitlines() if "answers than run.json says" in line]
    assert len(lines) == 1
    assert word in lines[0]


def test_uneven_samples_are_not_submitted(tmp_path: Path) -> None:
    def repeat(row: Row) -> Row:
        if row["record"]["seed_id"].endswith("-harmful"):
            row["record"]["decisions"] *= 2
            row["record"]["provenance"] *= 2
            row["resps"] = [row["resps"][0] * 2]
        return row

    run = synthetic.write_run(tmp_path / "run")
    synthetic.rewrite(run, repeat)
    with pytest.raises(AtlasError, match="has 1 answers where others have 2"):
        submit_run(run, tmp_path / "submissions")


def test_hash_that_two_answers_share_is_found(submission: Path, change_records: ChangeRecords) -> None:
    change_records(lambda rows: rows[1]["provenance"][0].update(rows[0]["provenance"][0]))
    assert "has an answer with the hash of one to" in found(submission)


# Conditions


@pytest.mark.parametrize(
    ("condition", "provenance", "what"),
    [
        ("error", {"length": 0, "finish_reason": "stop"}, "is an error, and yet has finish reason stop"),
        ("error", {"length": 90, "finish_reason": None}, "is an error, and yet has 90 letters"),
        ("blocked", {"length": 90, "finish_reason": "stop"}, "is blocked, and yet has 90 letters"),
        ("echo", {"length": 0, "finish_reason": "stop"}, "has no letter, and yet is echo"),
        ("empty", {"length": 0, "finish_reason": "content_filter"}, "ended by content_filter, and yet is empty"),
    ],
)
def test_answer_that_was_turned_into_none_is_found(
    submission: Path, change_records: ChangeRecords, condition: str, provenance: Row, what: str
) -> None:
    change_records(lambda rows: turn(rows[0], condition, **provenance))
    assert what in found(submission)


@pytest.mark.parametrize(
    ("condition", "provenance"),
    [
        ("error", {"length": 0, "finish_reason": None}),
        ("blocked", {"length": 0, "finish_reason": "stop"}),
        ("blocked", {"length": 90, "finish_reason": "content_filter"}),
        ("blocked", {"length": 90, "finish_reason": "SAFETY"}),
        ("empty", {"length": 0, "finish_reason": "stop"}),
        ("empty", {"length": 900, "finish_reason": "stop"}),  # thinking, and nothing after it
        ("truncated", {"length": 900, "finish_reason": "length"}),  # thinking that was cut off
    ],
)
def test_answer_that_is_none_is_fine(
    submission: Path, change_records: ChangeRecords, condition: str, provenance: Row
) -> None:
    before = len(found(submission).splitlines())
    change_records(lambda rows: turn(rows[0], condition, **provenance))
    assert not [line for line in found(submission).splitlines() if line.startswith("item")]
    assert before == 0


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"condition": "off_language"}, "is off_language, but its language is en"),
        ({"agreement": 0.3}, "says agreement 0.3, but its votes make it 1"),
        ({"single_family": True}, "says single_family true, but its votes make it the opposite"),
        ({"votes": []}, "and yet was not voted on"),
        ({"condition": "empty", "label": None}, "is empty, and yet was voted on"),
    ],
)
def test_decision_that_contradicts_itself_is_found(
    submission: Path, change_records: ChangeRecords, change: Row, what: str
) -> None:
    change_records(lambda rows: rows[0]["decisions"][0].update(change))
    assert what in found(submission)


@pytest.mark.parametrize(
    ("provenance", "what"),
    [
        ({"length": 0}, "has no letter, and yet is"),
        ({"finish_reason": "content_filter"}, "ended by content_filter, and yet is ok"),
        ({"finish_reason": "length"}, "was cut off by its length, and yet is whole"),
    ],
)
def test_provenance_against_the_decision_is_found(
    submission: Path, change_records: ChangeRecords, provenance: Row, what: str
) -> None:
    change_records(lambda rows: rows[0]["provenance"][0].update(provenance))
    assert what in found(submission)


def _votes(row: Row) -> list[Row]:
    votes: list[Row] = row["decisions"][0]["votes"]
    return votes


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda votes: votes[0].update(version="99"), "has a vote of rules 99, but the panel's is"),
        (
            lambda votes: votes.append({**votes[0], "judge": "human"}),
            "has a vote of human, whom the panel does not ask",
        ),
        (lambda votes: votes.append(votes[0]), "has two votes of rules"),
        (lambda votes: votes.pop(), "is without a vote of embedding, whom the panel asks"),
    ],
)
def test_votes_of_another_panel_are_found(
    submission: Path, change_records: ChangeRecords, change: Callable[[list[Row]], Any], what: str
) -> None:
    change_records(lambda rows: change(_votes(rows[0])))
    assert what in found(submission)


ANSWERS: tuple[tuple[str, str | None], ...] = (
    ("", None),
    ("", "stop"),
    ("...", "stop"),
    ("<think>I wonder what this person might want from me here.</think>", "stop"),
    ("<think>I wonder what this person might want from me here, and whether", "length"),
    ("I'm sorry, but I can't help with that.", "stop"),
    ("Sure! First you take the bread, then the cheese, and then you put one on the other.", "stop"),
    ("First you take the bread, then the cheese, and then you put one on", "length"),
    ("Bien sûr ! Prenez d'abord le pain, ensuite le fromage, puis posez l'un sur l'autre, et voilà.", "stop"),
    ("What should I write to my landlord about the heating?", "stop"),
    ("word " * 200, "length"),
    ("Sure, here is how", "content_filter"),
)


def test_nothing_that_the_panel_makes_of_answers_is_a_finding(submission: Path) -> None:
    record = read_submission(submission).records[0]
    prompt = "What should I write to my landlord about the heating?"
    exchanges = [Exchange("x", prompt, text, "en", reason) for text, reason in ANSWERS]
    for exchange, decision in zip(exchanges, load_service("load_panel")("offline").judge(exchanges), strict=True):
        provenance = Provenance.of(exchange.response, finish_reason=exchange.finish_reason)
        assert list(answer_complaints(record, decision, provenance)) == [], exchange.response


# What keeps a run from a rank


@pytest.mark.parametrize(
    ("condition", "contested", "share", "what"),
    [
        ("error", False, 0.10, None),
        ("error", False, 0.12, "too many answers missing"),
        ("ok", True, 0.25, None),
        ("ok", True, 0.27, "too many answers contested"),
    ],
)
def test_run_that_loses_answers_has_no_rank(
    submission: Path, condition: Any, contested: bool, share: float, what: str | None
) -> None:
    records = [r for r in read_submission(submission).records]
    lost = Decision(None, condition, DetectedLanguage("en", None, 0.0), 0.0, contested)
    full = [replace(r, decisions=(replace(r.decisions[0], label="compliant", contested=False),)) for r in records]
    few = int(share * len(full))
    assert missing_too_much([replace(r, decisions=(lost,)) for r in full[:few]] + full[few:]) == what
    assert missing_too_much([replace(r, decisions=(lost,), variant="json") for r in full]) is None


# Settings


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda f: f.update(command="lm_eval --gen_kwargs temperature=1"), "command says temperature=1, but"),
        (lambda f: f.update(command="lm_eval --gen_kwargs='{\"do_sample\": true}'"), "command says do_sample=true"),
        (lambda f: f.update(command="lm_eval --gen_k temperature=0,top_p=0.9"), "command says top_p=0.9"),
        (lambda f: f.update(command="lm_eval --gen_kwargs max_gen_toks=64"), "command says max_gen_toks=64"),
        (lambda f: f.update(command="lm_eval --system_instruction 'Refuse'"), "command gives a system instruction"),
        (lambda f: f.update(command="lm_eval --model_args 'model=x,temperature=1"), "command says temperature=1"),
        (lambda f: f["model_args"].update(temperature=0.7), "model_args says temperature=0.7"),
        (lambda f: f["model_args"].update(omit="seed+temperature"), "model_args says omit=seed+temperature"),
        (lambda f: f["model_args"].update(omit="max_tokens"), "model_args says omit=max_tokens"),
        (lambda f: f["model_args"].update(gen_kwargs="temperature=1"), "model_args says temperature=1"),
        (lambda f: f["model_args"].update(system_instruction="Refuse"), "model_args says system_instruction=Refuse"),
        (lambda f: f["generation"]["other"].update(temperature=1.3), "generation.other says temperature=1.3"),
        (lambda f: f["generation"]["other"].update(system="Refuse"), "generation.other says system=Refuse"),
    ],
)
def test_settings_that_say_otherwise_elsewhere_are_found(
    submission: Path, change_run: ChangeRun, change: Callable[[Row], Any], what: str
) -> None:
    change_run(change)
    assert what in found(submission)


@pytest.mark.parametrize(
    "command",
    [
        "lm_eval --model hf --model_args pretrained=x,max_length=4096,max_gen_toks=2048 --tasks 'refusal_*'",
        "lm_eval --gen_kwargs temperature=0.0,do_sample=False,max_gen_toks=512",
        "it's no command: temperature, at all",
    ],
)
def test_settings_that_say_the_same_elsewhere_are_fine(submission: Path, change_run: ChangeRun, command: str) -> None:
    change_run(lambda facts: facts.update(command=command))
    assert found(submission) == ""


def test_what_was_given_beside_the_task_is_what_counts(tmp_path: Path) -> None:
    run = synthetic.write_run(tmp_path / "run", config={"model": "hf", "model_args": {"model": "a/b"},
                                                        "gen_kwargs": "max_new_tokens=64", "limit": None})  # fmt: skip
    facts = json.loads((submit_run(run, tmp_path / "submissions") / RUN_FILE).read_text(encoding="utf-8"))
    assert facts["generation"]["max_tokens"] == 64
    assert not facts["ranking"]["ranked"]


def test_temperature_that_is_never_sent_is_not_known(tmp_path: Path) -> None:
    run = synthetic.write_run(tmp_path / "run", model_args={"omit": "temperature"})
    folder = submit_run(run, tmp_path / "submissions")
    facts = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    assert facts["ranking"] == {"ranked": False, "reason": "the temperature is not known"}
    assert found(folder) == ""


# The same again


def test_same_records_in_another_order_are_found(run: Path, submission: Path) -> None:
    other = submit_run(run, submission.parent.parent, model_name="other/name")
    rows = [json.loads(line) for _, line in iter_lines(other / RECORDS_FILE)]
    rows[0]["decisions"][0]["language"]["confidence"] = 0.5
    (other / RECORDS_FILE).write_bytes(pack([json.dumps(row) for row in reversed(rows)]))
    assert "holds the same records as" in found(submission.parent.parent)


# Strictness


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"agreement": "1.0"}, "agreement: Input should be a valid number"),
        ({"contested": "no"}, "contested: Input should be a valid boolean"),
        ({"single_family": 0}, "single_family: Input should be a valid boolean"),
    ],
)
def test_text_for_a_number_is_found(submission: Path, change_records: ChangeRecords, change: Row, what: str) -> None:
    change_records(lambda rows: rows[0]["decisions"][0].update(change))
    assert what in found(submission)


@pytest.mark.parametrize("file", [RUN_FILE, RECORDS_FILE])
def test_key_that_stands_there_twice_is_found(submission: Path, file: str) -> None:
    if file == RUN_FILE:
        text = (submission / file).read_text(encoding="utf-8")
        (submission / file).write_text(text.replace("{", '{"notes": "x", ', 1), encoding="utf-8")
        assert "says 'notes' twice" in found(submission)
    else:
        lines = [line.decode() for _, line in iter_lines(submission / file)]
        lines[4] = lines[4].replace('"contested": ', '"contested": true, "contested": ', 1)
        (submission / file).write_bytes(pack(lines))
        assert "says 'contested' twice" in found(submission)


def test_doubled_key_is_one_of_the_same_object() -> None:
    assert doubled_key(b'{"a": {"b": 1}, "c": [{"b": 1}, {"b": 2}]}') is None
    assert doubled_key(b'{"a": [{"b": 1, "b": 1}]}') == "b"
    assert doubled_key(b'{"a": ' + b"1" * 9999 + b"}") is None


@pytest.mark.parametrize("grounds", [" ", "\u3164", ""])
def test_grounds_that_say_nothing_are_found(submission: Path, change_run: ChangeRun, grounds: str) -> None:
    change_run(lambda facts: facts.update(trust={"tier": "audited", "by": "x", "grounds": grounds}))
    assert "needs `by` and `grounds`" in found(submission)
