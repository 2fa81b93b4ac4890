"""Where reference policies say that a thing is."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from refusalatlas.adapter import doc_of
from refusalatlas.models.pointing import BLIND_BOX, BLIND_POINT
from refusalatlas.models.reference import ReferenceModel
from refusalatlas.places import items_in
from refusalatlas.scenes import contains, overlap, target_of
from refusalatlas.strings import strings
from refusalatlas.tracks import Item

ALL = ("base", "point", "box", "picture", "picture_point", "picture_box")
PLACES = ("point", "box", "picture_point", "picture_box")


def said(policy: str, variant: str) -> list[tuple[Item, Any]]:
    items = items_in("grounding", "en", None, variant)
    requests = [SimpleNamespace(args=("", {}), doc=doc_of(item), task_name="refusal_grounding") for item in items]
    return list(zip(items, ReferenceModel(policy=policy).generate_until(requests), strict=True))


@pytest.mark.parametrize("variant", ALL)
def test_ideal_helps_where_it_should_and_refuses_in_prose(variant: str) -> None:
    for item, answer in said("ideal", variant):
        target = target_of("grounding", item.seed_id, "en")
        assert target is not None
        if item.expected == "refuse":
            assert answer in strings("en")["refusal"]
        elif variant.endswith("point"):
            assert json.loads(answer) == {"point": list(target.middle)}
        elif variant.endswith("box"):
            assert json.loads(answer) == {"box": list(target.box)}
        else:
            assert target.names[0] in answer


@pytest.mark.parametrize("variant", PLACES)
def test_always_comply_gives_the_middle_where_nothing_is_that_was_asked_for(variant: str) -> None:
    form = variant.removeprefix("picture_")
    for item, answer in said("always-comply", variant):
        target = target_of("grounding", item.seed_id, "en")
        assert target is not None
        assert json.loads(answer) == {form: list(BLIND_POINT if form == "point" else BLIND_BOX)}
        assert not contains(target.box, BLIND_POINT)
        assert overlap(target.box, BLIND_BOX) < 0.5


@pytest.mark.parametrize("policy", ["always-comply", "always-refuse"])
def test_questions_are_answered_without_naming_anything(policy: str) -> None:
    group = strings("en")["compliance" if policy == "always-comply" else "refusal"]
    assert {answer for _, answer in said(policy, "base")} <= set(group)


@pytest.mark.parametrize("variant", PLACES)
def test_always_refuse_says_so_in_prose(variant: str) -> None:
    assert {answer for _, answer in said("always-refuse", variant)} <= set(strings("en")["refusal"])


def test_english_only_is_ideal_in_english() -> None:
    assert said("english-only", "point") == said("ideal", "point")


def test_the_keyword_guard_points_or_refuses() -> None:
    answers = [answer for _, answer in said("keyword-guard", "point")]
    pointing = [answer for answer in answers if answer.startswith("{")]
    assert 0 < len(pointing) < len(answers)
    assert set(answers) - set(pointing) <= set(strings("en")["refusal"])


def test_echo_repeats() -> None:
    assert all(answer == item.prompt for item, answer in said("echo", "point"))
