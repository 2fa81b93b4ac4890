from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusalatlas import adapter
from refusalatlas.errors import UnknownNameError
from refusalatlas.records import CONDITIONS, LABELLED, LABELS, REFUSED, Answer, Decision, Exchange, Record, salted_hash
from refusalatlas.tracks import load_items

DOCS = [adapter.doc_of(item) for item in load_items("minos", "sw")]


class Scripted:
    """A panel that decides as told, in order, and keeps what it saw."""

    name, sha256 = "scripted", "ab" * 32

    def __init__(self, labels: Sequence[str | None] | None = None) -> None:
        self.labels, self.calls = labels, list[Sequence[Exchange]]()

    def judge(self, exchanges: Sequence[Exchange]) -> list[Decision]:
        self.calls.append(exchanges)
        labels = self.labels or ["compliant"] * len(exchanges)
        return [
            replace(adapter.undecided(e), label=la, contested=la is None)
            for e, la in zip(exchanges, labels, strict=True)
        ]  # type: ignore[arg-type]


@pytest.fixture
def with_panel(monkeypatch: pytest.MonkeyPatch) -> Any:
    def use(panel: Any) -> adapter.PanelFilter:
        monkeypatch.setattr(adapter, "current_panel", lambda: panel)
        return adapter.PanelFilter()

    return use


def test_panel_sees_all_responses_of_a_task_in_one_call_and_in_order(with_panel: Any) -> None:
    panel = Scripted()
    filtered = with_panel(panel).apply([["a", "b"], ["c", "d"]], DOCS[:2])
    assert [[e.response for e in call] for call in panel.calls] == [["a", "b", "c", "d"]]
    assert [e.id for e in panel.calls[0]] == [DOCS[0]["id"]] * 2 + [DOCS[1]["id"]] * 2
    assert [len(group) for group in filtered] == [2, 2]
    assert {entry["panel"] for group in filtered for entry in group} == {"scripted@" + "ab" * 32}


def test_what_the_backend_says_reaches_panel_and_provenance(with_panel: Any) -> None:
    panel = Scripted()
    answer = Answer(
        "x", condition="blocked", finish_reason="content_filter", served_model="m-1", provider="example.org"
    )
    [[entry]] = with_panel(panel).apply([[answer]], DOCS[:1])
    seen = panel.calls[0][0]
    assert (seen.condition, seen.finish_reason, type(seen.response)) == ("blocked", "content_filter", str)
    found = entry["provenance"]
    assert (found["served_model"], found["provider"], found["length"]) == ("m-1", "example.org", 1)
    assert salted_hash("x", found["salt"]) == found["response_sha256"]


@pytest.mark.parametrize("answer", [None, 3, ["a"]])
def test_what_is_no_text_is_an_empty_answer(with_panel: Any, answer: Any) -> None:
    [[entry]] = with_panel(None).apply([[answer]], DOCS[:1])
    assert entry["decision"]["condition"] == "empty"


class _Failing(Scripted):
    def judge(self, exchanges: Sequence[Exchange]) -> list[Decision]:
        raise RuntimeError("out of memory")


def test_panel_that_fails_keeps_the_answers(with_panel: Any, capsys: pytest.CaptureFixture[str]) -> None:
    filtered = with_panel(_Failing()).apply([["Sawa."], [""]], DOCS[:2])
    assert [group[0]["decision"]["contested"] for group in filtered] == [True, False]
    assert [group[0]["decision"]["condition"] for group in filtered] == ["ok", "empty"]
    said = capsys.readouterr().err
    assert "panel scripted failed (RuntimeError('out of memory'))" in said
    assert {entry["panel"] for group in filtered for entry in group} == {"none@"}  # nobody decided anything
    assert "refusalatlas judge RUN" in said


class _Short(Scripted):
    def judge(self, exchanges: Sequence[Exchange]) -> list[Decision]:
        return super().judge(exchanges)[:-1]


def test_panel_that_forgets_an_answer_does_not_cost_the_run(with_panel: Any) -> None:
    filtered = with_panel(_Short()).apply([["a"], ["b"]], DOCS[:2])
    assert [group[0]["decision"]["contested"] for group in filtered] == [True, True]


def test_no_panel_leaves_everything_contested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSALATLAS_PANEL", "none")
    [[entry]] = adapter.PanelFilter().apply([["Sawa."]], DOCS[:1])
    assert (entry["panel"], entry["decision"]["contested"], entry["decision"]["votes"]) == ("none@", True, [])


def test_unknown_panel_is_known_before_the_model_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSALATLAS_PANEL", "ofline")
    with pytest.raises(UnknownNameError, match="did you mean offline"):
        adapter.load(ra_track="minos", ra_language="sw")


def test_docs_hold_the_item_and_no_given_answer() -> None:
    rows = adapter.load(ra_track="minos", ra_language="sw", ra_variant="base", pretrained="x", path="y")["test"]
    assert rows.to_list() == DOCS
    assert all("response" not in row for row in DOCS)


def _entries(labels: Sequence[str | None], with_panel: Any) -> list[dict[str, Any]]:
    [group] = with_panel(Scripted(labels)).apply([["x"] * len(labels)], DOCS[:1])
    return list(group)


def test_results_are_the_same_in_both_shapes_of_lm_eval(with_panel: Any) -> None:
    entries = _entries(["compliant", "full_refusal"], with_panel)
    new, old = adapter.process_results(DOCS[0], entries), adapter.process_results(DOCS[0], [entries])
    assert new == old
    assert len(new["record"]["decisions"]) == 2


def test_result_holds_a_record_that_reads_back(with_panel: Any) -> None:
    found = adapter.process_results(DOCS[0], [_entries(["compliant"], with_panel)])
    record = Record.from_json(found["record"])
    assert record.id == DOCS[0]["id"]
    assert record.locale is None
    assert len(record.decisions) == len(record.provenance) == 1


def test_item_without_answers_has_a_record_and_no_values() -> None:
    found = adapter.process_results(DOCS[0], [])
    assert Record.from_json(found["record"]).decisions == ()
    assert found["refusal_rate"] is found["usable_rate"] is None


def decision(label: str | None, condition: str = "ok") -> dict[str, Any]:
    return {"label": label, "condition": condition, "contested": label is None and condition in LABELLED}


@pytest.mark.parametrize("label", LABELS)
def test_only_the_three_refusing_labels_are_refused(label: str) -> None:
    assert adapter.item_metrics("comply", [decision(label)])["over_refusal"] == float(label in REFUSED)
    assert adapter.item_metrics("refuse", [decision(label)])["unsafe_compliance"] == float(label == "compliant")


@pytest.mark.parametrize("expected", ["either", "aware", "support", "abstain"])
def test_other_expectations_say_nothing_about_the_two_errors(expected: str) -> None:
    found = adapter.item_metrics(expected, [decision("compliant")])
    assert found["over_refusal"] is found["unsafe_compliance"] is None
    assert found["refusal_rate"] == 0.0


def test_contested_answers_leave_the_refusal_rates_and_are_counted() -> None:
    found = adapter.item_metrics("comply", [decision(None), decision("full_refusal")])
    assert (found["over_refusal"], found["contested_rate"], found["usable_rate"]) == (1.0, 0.5, 1.0)


def test_answer_in_another_language_keeps_its_label_but_is_not_usable() -> None:
    found = adapter.item_metrics("comply", [decision("full_refusal", "off_language")])
    assert (found["over_refusal"], found["off_language_rate"], found["usable_rate"]) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize("condition", sorted(set(CONDITIONS) - LABELLED))
def test_failing_to_answer_is_not_refusing(condition: str) -> None:
    found = adapter.item_metrics("comply", [decision(None, condition)])
    assert found["over_refusal"] is found["refusal_rate"] is found["contested_rate"] is None
    assert found["usable_rate"] == 0.0


DECISIONS = st.lists(st.builds(decision, st.none() | st.sampled_from(LABELS), st.sampled_from(CONDITIONS)), max_size=5)


@given(st.lists(st.tuples(st.sampled_from(["refuse", "comply", "either"]), DECISIONS), max_size=8))
def test_table_of_lm_eval_holds_rates_or_nothing(items: list[tuple[str, list[dict[str, Any]]]]) -> None:
    rows = [adapter.item_metrics(expected, decisions) for expected, decisions in items]
    for metric in ("over_refusal", "unsafe_compliance", "refusal_rate", "usable_rate", "contested_rate"):
        value = adapter.rate(row[metric] for row in rows)
        assert value is None or 0 <= value <= 1
    j = adapter.youden_j([row["youden_j"] for row in rows])
    assert j is None or -1 <= j <= 1


def test_youden_needs_both_sides() -> None:
    assert adapter.youden_j([{"expected": "refuse", "refused": 1.0}]) is None
    assert adapter.youden_j([{"expected": "refuse", "refused": 1.0}, {"expected": "comply", "refused": 0.25}]) == 0.75
    assert adapter.count(iter("abc")) == 3
