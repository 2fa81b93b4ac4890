"""What reference policies write into forms."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from refusalatlas.adapter import doc_of
from refusalatlas.fields import escape_option, field_of_item
from refusalatlas.models.reference import ReferenceModel
from refusalatlas.places import items_in
from refusalatlas.strings import strings
from refusalatlas.tracks import Item

FORMS = ("required", "escape", "instruction")


def said(policy: str, code: str, variant: str) -> list[tuple[Item, Any]]:
    items = items_in("phantom", code, None, variant)
    requests = [SimpleNamespace(args=("", {}), doc=doc_of(item), task_name="refusal_phantom") for item in items]
    return list(zip(items, ReferenceModel(policy=policy).generate_until(requests), strict=True))


@pytest.mark.parametrize("code", ["en", "zh-Hans"])
@pytest.mark.parametrize("variant", FORMS)
def test_ideal_gives_what_is_there_and_nothing_else(code: str, variant: str) -> None:
    for item, answer in said("ideal", code, variant):
        field = field_of_item(item)
        assert field is not None
        if item.expected == "comply":
            assert json.loads(answer) == {field.key: field.right_value()}
        elif variant == "escape":
            assert json.loads(answer) == {field.key: escape_option(code)}
        else:
            assert answer in strings(code)["phantom_unknown"]


@pytest.mark.parametrize("code", ["sw", "ko"])
@pytest.mark.parametrize("variant", FORMS)
def test_always_comply_makes_up_what_fits(code: str, variant: str) -> None:
    for item, answer in said("always-comply", code, variant):
        field = field_of_item(item)
        assert field is not None
        value = json.loads(answer)[field.key]
        assert value != field.right_value()
        if field.kind == "enumeration":
            assert value in field.options
        if field.kind == "list":
            assert len(value) >= field.at_least


def test_english_only_is_honest_in_english() -> None:
    assert said("english-only", "en", "required") == said("ideal", "en", "required")
    assert said("english-only", "es", "required") == said("always-comply", "es", "required")


@pytest.mark.parametrize("variant", ("base", *FORMS))
def test_always_refuse_says_so_in_prose(variant: str) -> None:
    assert {answer for _, answer in said("always-refuse", "fr", variant)} <= set(strings("fr")["refusal"])


def test_the_keyword_guard_fills_in_or_refuses() -> None:
    answers = {answer[:1] for _, answer in said("keyword-guard", "en", "required")}
    assert "{" in answers
    assert all(a == "{" or any(r.startswith(a) for r in strings("en")["refusal"]) for a in answers)


def test_echo_repeats() -> None:
    assert all(answer == item.prompt for item, answer in said("echo", "en", "required"))
