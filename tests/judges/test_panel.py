from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import pytest
from refusalatlas.judges import panel as panels
from refusalatlas.judges.examples import load_examples
from refusalatlas.judges.gate import GatePolicy, JudgeEntry, PanelFile, decide
from refusalatlas.judges.ngram import load_ngram
from refusalatlas.judges.panel import OfflinePanel, load_panel
from refusalatlas.judges.rules import RulesJudge

from refusalatlas.errors import AtlasError, UnknownNameError
from refusalatlas.files import read_jsonl, read_yaml
from refusalatlas.languages import load_languages
from refusalatlas.packs import builtin_root
from refusalatlas.records import REFUSED, Decision, Exchange, Label, Panel, Verdict

# A language that is being written may lack a file; its own tests say so.
FILES = ("strings.yaml", "minos.jsonl", "lexicon.yaml")
CODES = sorted(
    code for code, language in load_languages().items() if all((language.folder / name).is_file() for name in FILES)
)
STRINGS: dict[str, Label] = {
    "refusal": "full_refusal",
    "partial_refusal": "partial_refusal",
    "compliance": "compliant",
    "capability_limitation": "capability_limitation",
    "clarification": "clarification",
    "evasion": "evasion",
}


def one(response: str, **rest: str) -> Decision:
    return load_panel().judge([Exchange("x", "How do I bake bread?", response, **{"language": "en", **rest})])[0]  # type: ignore[arg-type]


def test_the_panel_is_loaded_once_and_is_a_panel() -> None:
    assert load_panel() is load_panel("offline")
    assert isinstance(load_panel(), Panel)
    assert len(load_panel().sha256) == 64


def test_an_unknown_panel_is_named() -> None:
    with pytest.raises(UnknownNameError, match="offline"):
        load_panel("offlin")


def test_a_refusal_is_decided_with_votes_reasons_and_features() -> None:
    found = one("I’m sorry, but I can’t help with that, because it is illegal.")
    assert (found.label, found.condition, found.contested) == ("full_refusal", "ok", False)
    assert {vote.judge for vote in found.votes} == {"rules", "ngram", "embedding"}
    assert {finding.name for finding in found.reasons} == {"law"}


def test_an_answer_is_decided_as_one() -> None:
    steps = "\n".join(f"{n}. Mix flour and water, wait {n} hours, and fold the dough." for n in range(1, 8))
    assert one(f"Sure! Here is how to bake bread:\n\n{steps}\n\nEnjoy your bread!").label == "compliant"


def test_a_refusal_in_another_language_is_off_language_and_labelled() -> None:
    found = one("I'm sorry, but I can't help with that request.", language="sw")
    assert (found.label, found.condition, found.language.detected) == ("full_refusal", "off_language", "en")


@pytest.mark.parametrize("response", ["", "How do I bake bread?", "and then " * 200])
def test_where_there_is_nothing_to_label_nobody_votes(response: str) -> None:
    found = one(response)
    assert (found.label, found.contested, found.votes) == (None, False, ())


def test_decisions_come_in_order_over_several_batches() -> None:
    answers = ["I'm sorry, but I can't help with that.", "", "Sure. " + "Mix the flour with water and salt. " * 3] * 100
    exchanges = [Exchange(str(i), "How do I bake bread?", answer, "en") for i, answer in enumerate(answers)]
    assert [d.label is not None and d.label in REFUSED for d in load_panel().judge(exchanges)] == [
        True,
        False,
        False,
    ] * 100


def test_no_exchanges_no_decisions() -> None:
    assert load_panel().judge([]) == []


def test_stored_votes_give_the_same_decision() -> None:
    exchanges = [Exchange(e.id, e.prompt, e.response, e.language) for e in load_examples()[::14]]
    voted = [found for found in load_panel().judge(exchanges) if found.votes]
    assert len(voted) > 100
    for found in voted:
        again = decide("offline", Decision.from_json(found.to_json()).to_json()["votes"])
        assert (again.label, again.contested, again.single_family) == (
            found.label,
            found.contested,
            found.single_family,
        )


def test_judging_twice_gives_the_same() -> None:
    exchanges = [Exchange(e.id, e.prompt, e.response, e.language) for e in load_examples()[::33]]
    assert load_panel().judge(exchanges) == load_panel().judge(exchanges)


def test_alone_or_in_a_batch_an_answer_is_judged_alike() -> None:
    exchanges = [Exchange(e.id, e.prompt, e.response, e.language) for e in load_examples()[::46]]
    together = load_panel().judge(exchanges)
    for judge in load_panel().judges:
        if judge.name == "embedding":
            judge._scores.known.clear()
    assert [load_panel().judge([exchange])[0] for exchange in exchanges] == together


def test_the_panel_without_a_network_may_judge_answers_as_they_come() -> None:
    assert load_panel("offline").ahead
    assert not OfflinePanel("x", load_panel().file, [RulesJudge(), Broken()], "0" * 64).ahead
    assert not OfflinePanel("x", load_panel().file, [RulesJudge()], "0" * 64, [Broken()]).ahead


class Broken:
    name, version, family, languages = "broken", "1", "broken", None

    def judge(self, exchanges: Sequence[Exchange]) -> list[Verdict]:
        raise RuntimeError("out of order")


def test_a_judge_that_raises_abstains_and_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    file = PanelFile(
        description="x",
        judges=[JudgeEntry(name="rules", family="rules"), JudgeEntry(name="broken", family="broken")],
        gate=GatePolicy(families=1),
    )
    panel = OfflinePanel("x", file, [RulesJudge(), Broken()], "0" * 64)
    exchange = Exchange("x", "Do it.", "I'm sorry, but I can't help with that.", "en")
    with caplog.at_level(logging.WARNING):
        found = [panel.judge([exchange])[0] for _ in range(3)]
    assert [d.label for d in found] == ["full_refusal"] * 3
    assert sum("broken" in record.message for record in caplog.records) == 1


def write_panel(folder: Path, text: str) -> None:
    (folder / "mine.yaml").write_text(f"description: x\njudges: {text}\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        ("[{name: nobody, family: rules}]", "unknown judge 'nobody'"),
        ("[{name: rules, family: other}]", "is of family rules"),
        ("[{name: rules, family: rules, params: {speed: 3}}]", "cannot be made"),
        ("[{name: ngram, family: ngram, params: {folder: /nowhere}}]", "no weights"),
    ],
)
def test_a_panel_that_cannot_be_made_is_named(tmp_path: Path, judges: str, message: str) -> None:
    write_panel(tmp_path, judges)
    with pytest.raises(AtlasError, match=message):
        panels._load("mine", tmp_path)


def test_the_hash_of_a_panel_changes_with_its_thresholds(tmp_path: Path) -> None:
    write_panel(tmp_path, "[{name: rules, family: rules}]\ngate: {dissent: 0.5}")
    first = panels._load("mine", tmp_path).sha256
    panels._load.cache_clear()
    write_panel(tmp_path, "[{name: rules, family: rules}]\ngate: {dissent: 0.6}")
    assert panels._load("mine", tmp_path).sha256 != first


def strings_of(code: str) -> list[tuple[str, Label]]:
    groups = read_yaml(load_languages()[code].strings)
    return [(text, label) for group, label in STRINGS.items() for text in groups.get(group, ())]


MISREAD_SENTENCES = {("ko", "partial_refusal")}
"""What the panel is known to take for its contrary of what the reference model says; nothing may join it."""

MISREAD_MINOS = {
    "ombudsman": {"ja", "pcm"},
    "vocabulary": {"ig", "om", "sw", "ur"},
}
"""Answers of minos that the panel is known to take for refusals, by language; see judges/README.md."""


@pytest.mark.parametrize("code", CODES)
def test_what_the_reference_model_says_is_not_taken_for_its_contrary(code: str) -> None:
    texts = strings_of(code)
    decisions = load_panel().judge([Exchange(text, "", text, code) for text, _ in texts])
    wrong = [
        (code, label)
        for d, (_, label) in zip(decisions, texts, strict=True)
        if d.label is not None and (d.label in REFUSED) != (label in REFUSED)
    ]
    assert set(wrong) <= MISREAD_SENTENCES
    assert len(wrong) <= 1


@pytest.mark.parametrize("code", [code for code in CODES if code in load_ngram().card.languages])
def test_most_of_what_the_reference_model_says_is_decided(code: str) -> None:
    texts = strings_of(code)
    decisions = load_panel().judge([Exchange(text, "", text, code) for text, _ in texts])
    decided = [d.label is not None for d in decisions]
    assert sum(decided) >= 0.5 * len(decided)
    assert {d.condition for d in decisions} == {"ok"}


@pytest.mark.parametrize("code", CODES)
def test_the_minos_answers_are_not_taken_for_their_contrary(code: str) -> None:
    expected = {row["seed_id"]: row["expected"] for row in read_jsonl(builtin_root() / "tasks/minos/seeds.jsonl")}
    rows = read_jsonl(load_languages()[code].folder / "minos.jsonl")
    decisions = load_panel().judge([Exchange(r["seed_id"], r["text"], r["response"], code) for r in rows])
    wrong = [
        (row["seed_id"], d.label)
        for row, d in zip(rows, decisions, strict=True)
        if d.label is not None and (d.label in REFUSED) != (expected[row["seed_id"]] == "refuse")
    ]
    assert [(seed, label) for seed, label in wrong if code not in MISREAD_MINOS.get(seed, ())] == []
    assert {d.condition for d in decisions} == {"ok"}
