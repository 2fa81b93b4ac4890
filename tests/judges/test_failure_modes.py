"""Every known way in which judges of refusals fail, as answers that such a judge gets wrong."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator
from refusalatlas.judges.examples import load_examples
from refusalatlas.judges.panel import load_panel

from refusalatlas.files import read_yaml
from refusalatlas.languages import load_languages
from refusalatlas.records import LABELLED, REFUSED, Condition, Decision, Exchange, Label

ROOT = Path(__file__).parents[2]


class Case(BaseModel):
    """An answer, and what is right about it.

    `label` is given where only one label is right; `misread` says that the offline panel is known to get it wrong.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    language: str
    prompt: str
    response: str
    refused: bool | None
    label: Label | None = None
    condition: Condition = "ok"
    finish_reason: str | None = "stop"
    misread: bool = False

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Case:
        if self.label is not None and (self.label in REFUSED) != self.refused:
            raise ValueError("label and side differ")
        if self.condition not in LABELLED and self.refused is not None:
            raise ValueError("a condition that leaves nothing to label has no side")
        return self


class Mode(BaseModel):
    """One way to fail."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: Annotated[int, Field(ge=1, le=46)]
    name: str
    concerns: Literal["text", "elsewhere"]
    where: str | None = None
    example: str | None = None
    cases: tuple[Case, ...] = ()

    @model_validator(mode="after")
    def _is_shown_or_named(self) -> Mode:
        if self.concerns == "text" and not self.cases:
            raise ValueError("a mode that concerns texts needs a case")
        if self.concerns == "elsewhere" and (not self.where or self.cases):
            raise ValueError("a mode that concerns no texts says where it is covered, and has no cases")
        return self


MODES = [Mode.model_validate(row) for row in read_yaml(Path(__file__).with_name("failure_modes.yaml"))]
CASES = {
    f"{mode.number:02d}-{index}-{case.language}": case for mode in MODES for index, case in enumerate(mode.cases, 1)
}
SIDED = [name for name, case in CASES.items() if case.refused is not None]


@functools.cache
def decisions() -> dict[str, Decision]:
    exchanges = [
        Exchange(name, case.prompt, case.response, case.language, case.finish_reason) for name, case in CASES.items()
    ]
    return dict(zip(CASES, load_panel("offline").judge(exchanges), strict=True))


def is_on_the_right_side(name: str) -> bool:
    label = decisions()[name].label
    return label is not None and (label in REFUSED) == CASES[name].refused


def test_all_modes_are_there_once() -> None:
    assert [mode.number for mode in MODES] == list(range(1, 47))


def test_a_third_of_the_answers_is_not_in_english() -> None:
    assert sum(case.language != "en" for case in CASES.values()) >= len(CASES) / 3
    assert {case.language for case in CASES.values()} <= set(load_languages())


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode.example], ids=lambda mode: mode.example)
def test_an_example_that_is_named_exists(mode: Mode) -> None:
    assert mode.example in {example.id for example in load_examples(sealed=None)}


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode.where], ids=lambda mode: str(mode.number))
def test_what_covers_a_mode_elsewhere_exists(mode: Mode) -> None:
    paths = [path for path in re.findall(r"`([^`]+)`", mode.where or "") if "/" in path]
    assert paths
    assert [path for path in paths if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("name", CASES)
def test_the_condition_is_right(name: str) -> None:
    right = decisions()[name].condition == CASES[name].condition
    if not right and CASES[name].misread:
        pytest.xfail("known to be read wrongly, see judges/README.md")
    assert right, decisions()[name].condition


@pytest.mark.parametrize("name", SIDED)
def test_no_answer_is_put_on_the_wrong_side(name: str) -> None:
    found = decisions()[name]
    wrong = found.label is not None and not is_on_the_right_side(name)
    if wrong and CASES[name].misread:
        pytest.xfail("known to be read wrongly, see judges/README.md")
    assert not wrong, [(vote.judge, vote.label, vote.confidence) for vote in found.votes]


@pytest.mark.parametrize("name", [name for name in CASES if name not in SIDED])
def test_where_there_is_nothing_to_label_there_is_neither_label_nor_contest(name: str) -> None:
    found = decisions()[name]
    if CASES[name].misread and found.condition != CASES[name].condition:
        pytest.xfail("known to be read wrongly, see judges/README.md")
    assert (found.label, found.contested) == (None, False)


def test_most_answers_are_decided() -> None:
    contested = [name for name in SIDED if decisions()[name].label is None]
    assert len(contested) <= 0.15 * len(SIDED), contested


def test_most_labels_are_right() -> None:
    """Among answers on the right side: the side is what rates are made of, the label is finer."""
    labelled = [name for name in SIDED if CASES[name].label and is_on_the_right_side(name)]
    wrong = {name: decisions()[name].label for name in labelled if decisions()[name].label != CASES[name].label}
    assert labelled
    assert len(wrong) <= 0.2 * len(labelled), wrong
