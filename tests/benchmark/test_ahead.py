"""Answers are judged while others are asked for, and what comes of it is what the scorer alone would have found."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from refusalatlas import adapter
from refusalatlas.ahead import Ahead, _Desk
from refusalatlas.errors import AtlasError
from refusalatlas.models.asking import AskingModel
from refusalatlas.records import Answer, Decision, Exchange
from refusalatlas.tracks import load_items, load_tracks

DOCS = [adapter.doc_of(item) for item in load_items("pairs", "en")][:40]


class Counting:
    """A panel that may judge ahead; it labels by the answer, and keeps what it saw and in which thread."""

    name, sha256, ahead = "counting", "ab" * 32, True

    def __init__(self, wait: threading.Event | None = None) -> None:
        self.calls: list[tuple[str, list[str]]] = []
        self.began = threading.Event()
        self._wait = wait

    def judge(self, exchanges: Sequence[Exchange]) -> list[Decision]:
        self.calls.append((threading.current_thread().name, [exchange.response for exchange in exchanges]))
        self.began.set()
        if self._wait is not None and threading.current_thread() is not threading.main_thread():
            self._wait.wait(10)
        return [adapter.undecided(exchange) for exchange in exchanges]

    def seen(self, ahead: bool) -> list[str]:
        return [text for name, texts in self.calls if (name == "refusalatlas-ahead") == ahead for text in texts]


class Model(AskingModel):
    """Answers every request with its number, and calls `between` after each."""

    lm_eval_name, identity = "counting", {}

    def __init__(self, between: Callable[[int], None] = lambda number: None) -> None:
        super().__init__()
        self._between = between

    def ask_all(self, asks: Any, done: Callable[[int, Answer], None]) -> None:
        for position, _ in asks:
            done(position, Answer(f"answer {position}", finish_reason="stop"))
            self._between(position)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> _Desk:
    fresh = _Desk()
    monkeypatch.setattr("refusalatlas.adapter.DESK", fresh)
    monkeypatch.setattr("refusalatlas.models.asking.DESK", fresh)
    return fresh


def requests(docs: Sequence[Any]) -> list[Any]:
    return [SimpleNamespace(args=("?", {"until": []}), doc=doc) for doc in docs]


def scorer(panel: Any, monkeypatch: pytest.MonkeyPatch) -> adapter.PanelFilter:
    monkeypatch.setattr(adapter, "current_panel", lambda: panel)
    adapter.load(ra_track="minos", ra_language="en")
    return adapter.PanelFilter()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not true() and time.monotonic() < end:
        time.sleep(0.005)
    assert true()


def test_a_log_is_told_how_far_a_run_is_and_not_at_every_answer(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scorer(Counting(), monkeypatch)
    Model().generate_until(requests(DOCS))
    told = capsys.readouterr().err
    assert f"Asking: 100%|██████████| {len(DOCS)}/{len(DOCS)}" in told
    assert told.count("Asking") == 2, "at the start and at the end of a run of less than a minute"
    Model().generate_until(requests(DOCS), disable_tqdm=True)
    assert "Asking" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("generation", "warned"),
    [
        ({"do_sample": False, "temperature": 0.0}, True),
        ({"temperature": 0}, True),
        ({}, True),
        ({"do_sample": True, "temperature": 0.7}, False),
        ({"temperature": 0.7}, False),
        ({"do_sample": True}, False),
    ],
)
def test_repeats_without_sampling_are_warned_of(
    desk: _Desk, caplog: pytest.LogCaptureFixture, generation: dict[str, Any], warned: bool
) -> None:
    one = SimpleNamespace(args=("?", {"until": [], **generation}), doc={})
    Model().generate_until([one, one], disable_tqdm=True)
    assert ("repeats without sampling pay for one answer several times" in caplog.text) is warned
    caplog.clear()
    Model().generate_until([one], disable_tqdm=True)
    assert caplog.text == ""


def test_what_was_judged_ahead_is_not_judged_again(desk: _Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = Counting()
    judge = scorer(panel, monkeypatch)
    model = Model(lambda number: until(lambda: len(panel.seen(ahead=True)) == number + 1))
    answers = model.generate_until(requests(DOCS))
    found = judge.apply([[answer] for answer in answers], DOCS)
    assert panel.seen(ahead=True) == [f"answer {number}" for number in range(len(DOCS))]
    assert panel.seen(ahead=False) == []
    assert [entry["decision"] for [entry] in found] == [
        adapter.undecided(adapter.exchange_of(doc, answer)).to_json() for doc, answer in zip(DOCS, answers, strict=True)
    ]


def test_what_the_thread_has_not_come_to_the_scorer_judges_in_its_place(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = threading.Event()
    panel = Counting(wait)
    judge = scorer(panel, monkeypatch)
    answers = Model(lambda number: until(panel.began.is_set)).generate_until(requests(DOCS))
    threading.Timer(0.1, wait.set).start()
    found = judge.apply([[answer] for answer in answers], DOCS)
    assert panel.seen(ahead=True) == ["answer 0"]
    assert panel.seen(ahead=False) == [f"answer {number}" for number in range(1, len(DOCS))]
    assert len(found) == len(DOCS)


def test_several_answers_to_one_item_keep_their_decisions(desk: _Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = Counting()
    judge = scorer(panel, monkeypatch)
    asked = requests(DOCS[:2])
    answers = Model().generate_until([asked[0], asked[0], asked[1], asked[1]])
    blocked = Answer("", condition="blocked")
    found = judge.apply([[answers[0], answers[1]], [answers[2], blocked]], DOCS[:2])
    assert [[entry["decision"]["condition"] for entry in group] for group in found] == [["ok", "ok"], ["ok", "blocked"]]


class Failing(Counting):
    def judge(self, exchanges: Sequence[Exchange]) -> list[Decision]:
        super().judge(exchanges)
        raise RuntimeError("weights are gone")


def test_a_panel_that_fails_ahead_is_reported_by_the_scorer(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = scorer(Failing(), monkeypatch)
    answers = Model().generate_until(requests(DOCS), disable_tqdm=True)
    assert capsys.readouterr().err == ""
    [[entry], *_] = judge.apply([[answer] for answer in answers], DOCS)
    assert (entry["panel"], entry["decision"]["contested"]) == ("none@", True)
    assert "weights are gone" in capsys.readouterr().err


def test_another_panel_decides_for_itself(desk: _Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Counting(), Counting()
    judge = scorer(first, monkeypatch)
    answers = Model(lambda number: until(first.began.is_set)).generate_until(requests(DOCS[:3]))
    scorer(second, monkeypatch).apply([[answer] for answer in answers], DOCS[:3])
    assert second.seen(ahead=False) == ["answer 0", "answer 1", "answer 2"]
    judge.apply([[answer] for answer in answers], DOCS[:3])
    assert first.seen(ahead=True)[0] == "answer 0"


def test_a_new_round_of_asking_forgets_the_last(desk: _Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = Counting()
    judge = scorer(panel, monkeypatch)
    answers = Model(lambda number: until(panel.began.is_set)).generate_until(requests(DOCS[:1]))
    Model().generate_until(requests(DOCS[1:2]))
    judge.apply([answers], DOCS[:1])
    assert panel.seen(ahead=False) == ["answer 0"]


def test_loading_a_task_is_enough_since_lm_eval_makes_filters_after_asking(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = Counting()
    monkeypatch.setattr(adapter, "current_panel", lambda: panel)
    adapter.load(ra_track="minos", ra_language="en")
    Model(lambda number: until(panel.began.is_set)).generate_until(requests(DOCS[:1]))
    assert panel.seen(ahead=True) == ["answer 0"]


class Together(Counting):
    ahead = False


@pytest.mark.parametrize("panel", [Together(), None])
def test_no_thread_where_no_panel_can_use_it(panel: Any, desk: _Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer(panel, monkeypatch)
    assert desk.begin() is None


def test_docs_of_others_are_not_judged(desk: _Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = Counting()
    scorer(panel, monkeypatch)
    Model().generate_until(requests([{"question": "2 + 2?", "id": "1"}]))
    assert desk.known(panel) == {}
    assert panel.calls == []


def test_asking_that_breaks_off_ends_the_thread(desk: _Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer(Counting(), monkeypatch)

    def broken(number: int) -> None:
        raise AtlasError("no such model")

    with pytest.raises(AtlasError, match="no such model"):
        Model(broken).generate_until(requests(DOCS))
    assert not any(thread.name == "refusalatlas-ahead" and thread.is_alive() for thread in threading.enumerate())


def test_the_thread_ends_by_itself_when_all_is_judged() -> None:
    panel = Counting()
    ahead = Ahead(panel)
    for number in range(100):
        ahead.add(Exchange(str(number), "?", f"answer {number}"))
    ahead.end()
    ahead._thread.join(10)
    assert not ahead._thread.is_alive()
    assert panel.seen(ahead=True) == [f"answer {number}" for number in range(100)]
    assert len(ahead.stop()) == 100


def test_exchanges_of_every_track_can_be_looked_up() -> None:
    for track in load_tracks():
        for item in load_items(track, "en")[:50]:
            doc = adapter.doc_of(item)
            assert adapter.is_doc(doc)
            exchange = adapter.exchange_of(doc, Answer("Sure.", finish_reason="stop"))
            assert {exchange: 1}[adapter.exchange_of(doc, Answer("Sure.", finish_reason="stop"))] == 1
