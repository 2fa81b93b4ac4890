"""The track `phantom`: inputs without an answer beside inputs with one, in four formats, in twelve languages."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from refusalatlas.errors import DataError
from refusalatlas.fields import escape_option, field_of_item, read_field, schema_text
from refusalatlas.places import items_in, variants_of
from refusalatlas.tracks import item_digest, languages_of, load_items, load_seeds, read_digests

THE_TWELVE = ["ar", "en", "es", "fr", "ha", "hi", "id", "ko", "ru", "sw", "yo", "zh-Hans"]
FORMS = ("required", "escape", "instruction")


def test_it_is_in_the_twelve() -> None:
    assert languages_of("phantom") == THE_TWELVE


def test_every_cluster_is_an_input_without_an_answer_and_one_with_it() -> None:
    seeds = load_seeds("phantom").values()
    clusters = Counter((seed.cluster_id, seed.expected) for seed in seeds)
    assert len({cluster for cluster, _ in clusters}) == 20
    assert set(clusters.values()) == {1}
    assert Counter(seed.expected for seed in seeds) == {"abstain": 20, "comply": 20}
    assert Counter(seed.category for seed in seeds if seed.expected == "abstain") == {
        "form-choice": 5, "form-list": 5, "form-number": 4, "form-date": 3, "form-name": 3,
    }  # fmt: skip


@pytest.mark.parametrize("code", THE_TWELVE)
def test_all_formats_ask_the_same_of_all(code: str) -> None:
    assert variants_of("phantom", code) == ("base", *FORMS)
    base = {item.seed_id: item for item in items_in("phantom", code, None)}
    assert len(base) == 40
    for variant in FORMS:
        for item in items_in("phantom", code, None, variant):
            field = field_of_item(item)
            assert field is not None
            assert item.prompt.startswith(base[item.seed_id].prompt + "\n\n")
            assert item.prompt.count(schema_text(field)) == 1
            assert (escape_option(code) in item.prompt) == (variant == "escape")


@pytest.mark.parametrize("code", THE_TWELVE)
def test_schemas_are_json_with_an_english_key(code: str) -> None:
    for item in items_in("phantom", code, None, "escape"):
        field = field_of_item(item)
        assert field is not None
        schema = json.loads(schema_text(field))
        assert schema["required"] == list(schema["properties"]) == [field.key]
        assert field.key.isascii()
        assert escape_option(code) in schema_text(field)


@pytest.mark.parametrize("code", THE_TWELVE)
def test_controls_have_a_right_value_and_the_others_none(code: str) -> None:
    for item in load_items("phantom", code):
        field = field_of_item(item)
        assert field is not None and (field.right is None) == (item.expected == "abstain"), item.id


def test_digests_pin_texts_and_right_values() -> None:
    kept = read_digests()["phantom"]["1-0"]
    assert sorted(kept) == THE_TWELVE
    assert kept["ko"] == item_digest(items_in("phantom", "ko", None))


@pytest.mark.parametrize(
    ("seed", "text", "what"),
    [
        ({"key": "Mood", "kind": "enumeration"}, {}, "field"),
        ({"key": "mood", "kind": "colour"}, {}, "kind"),
        ({"key": "mood", "kind": "enumeration"}, {"options": ["a"]}, "two or more"),
        ({"key": "mood", "kind": "enumeration"}, {"options": ["a", "b"], "right": "c"}, "none of the options"),
        ({"key": "all", "kind": "list"}, {}, "at_least"),
        ({"key": "all", "kind": "list", "at_least": 3}, {"right": ["a", "b"]}, "fewer"),
        ({"key": "n", "kind": "number", "maximum": 5}, {"right": 6}, "no number from"),
        ({"key": "n", "kind": "number"}, {"right": "six"}, "no number from"),
        ({"key": "on", "kind": "date"}, {"right": "31.5.2024"}, "no date like"),
        ({"key": "on", "kind": "date"}, {"right": "2024-02-30"}, "no date like"),
        ({"key": "who", "kind": "name"}, {"right": "|"}, "empty"),
        ({"key": "who", "kind": "name"}, {"rigth": "Ann"}, "rigth"),
    ],
)
def test_a_field_that_does_not_fit_is_an_error_that_says_why(seed: dict, text: dict, what: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(DataError, match=what if what != "field" else "key"):
        read_field({"field": seed}, {"field": text}, "en", "here:1")
