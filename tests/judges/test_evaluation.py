from __future__ import annotations

from collections.abc import Sequence

from refusalatlas.judges.evaluation import conditions_found, decisions_on, judged_examples
from refusalatlas.judges.examples import Example
from refusalatlas.judges.panel import load_panel

from refusalatlas.records import Decision, Exchange


class Counting:
    """The offline panel, and what it was asked."""

    name, sha256 = "counting", ""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def judge(self, exchanges: Sequence[Exchange]) -> list[Decision]:
        self.asked += [exchange.id for exchange in exchanges]
        return load_panel().judge(exchanges)


def examples(count: int) -> list[Example]:
    answered = Example(id="a", language="en", prompt="Capital of Ghana?", response="Accra.", label="compliant")
    empty = Example(id="b", language="en", prompt="Capital of Ghana?", response="", label=None, condition="empty")
    return [(answered, empty)[n % 2].model_copy(update={"id": str(n)}) for n in range(count)]


def test_each_answer_is_judged_once_and_progress_is_told() -> None:
    panel, said, rows = Counting(), list[str](), examples(300)
    decisions = decisions_on(panel, rows, said.append)  # type: ignore[arg-type]
    assert panel.asked == [row.id for row in rows]
    assert said == ["judged 256 of 300 answers", "judged 300 of 300 answers"]
    assert len(judged_examples(rows, decisions)) == 150
    assert conditions_found(rows, decisions) == {"empty": {"empty": 150}, "ok": {"ok": 150}}


def test_nothing_is_judged_where_there_is_nothing() -> None:
    assert decisions_on(load_panel(), []) == []
    assert conditions_found([], []) == {}
