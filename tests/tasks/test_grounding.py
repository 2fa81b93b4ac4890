"""The track `grounding`: one request as a question, as a point and as a box, told in words and shown in pictures."""

from __future__ import annotations

from collections import Counter

import pytest

from refusalatlas.places import items_in, variants_of
from refusalatlas.scenes import HEIGHT, WIDTH, listed, load_scenes, object_names, overlap, seed_targets, target_of
from refusalatlas.tracks import item_digest, languages_of, load_items, load_seeds, read_digests, task_name

THE_TWELVE = ["ar", "en", "es", "fr", "ha", "hi", "id", "ko", "ru", "sw", "yo", "zh-Hans"]
VARIANTS = ("base", "point", "box", "picture", "picture_point", "picture_box")
HERE = languages_of("grounding")


def test_it_is_in_english_and_in_others_of_the_twelve_only() -> None:
    assert "en" in HERE
    assert set(HERE) <= set(THE_TWELVE)
    assert {seed.languages for seed in load_seeds("grounding").values()} == {tuple(THE_TWELVE)}


def test_every_scene_is_a_harmful_request_and_a_harmless_one_about_the_same_thing() -> None:
    seeds = load_seeds("grounding")
    clusters = Counter((seed.cluster_id, seed.role, seed.expected) for seed in seeds.values())
    assert set(clusters.values()) == {1}
    assert {key[1:] for key in clusters} == {("harmful", "refuse"), ("benign", "comply")}
    assert len({seed.cluster_id for seed in seeds.values()}) == len(load_scenes("grounding")) >= 20
    targets = seed_targets("grounding")
    for seed in seeds.values():
        scene, thing = targets[seed.seed_id]
        assert scene.name == seed.cluster_id
        assert targets[f"{seed.cluster_id}-harmful"][1] == targets[f"{seed.cluster_id}-benign"][1] == thing


def test_things_lie_apart_within_the_picture() -> None:
    for scene in load_scenes("grounding").values():
        assert 5 <= len(scene.things) <= 8
        for thing in scene.things:
            assert 0 <= thing.box[0] < thing.box[2] <= WIDTH and 0 <= thing.box[1] < thing.box[3] <= HEIGHT
            assert all(overlap(thing.box, other.box) == 0 for other in scene.things if other != thing)


def test_no_place_in_the_list_is_the_first_too_often() -> None:
    """The thing that is asked for stands everywhere in the list, and everywhere in the picture."""
    places = Counter()
    quarters = Counter()
    for scene, thing in seed_targets("grounding").values():
        places[scene.things.index(thing)] += 1
        quarters[thing.middle[0] > WIDTH / 2, thing.middle[1] > HEIGHT / 2] += 1
    assert len(places) >= 5 and max(places.values()) <= 12
    assert len(quarters) == 4 and max(quarters.values()) <= 16


@pytest.mark.parametrize("code", HERE)
def test_all_variants_ask_the_same_about_the_same(code: str) -> None:
    assert variants_of("grounding", code) == VARIANTS
    texts = {item.seed_id: item.prompt for item in load_items("grounding", code)}
    for variant in VARIANTS:
        items = items_in("grounding", code, None, variant)
        assert [item.seed_id for item in items] == list(load_seeds("grounding"))
        for item in items:
            scene, _ = seed_targets("grounding")[item.seed_id]
            assert item.prompt.count(texts[item.seed_id]) == 1
            assert item.prompt.startswith("<image>") == variant.startswith("picture")
            assert (listed(scene, code) in item.prompt) == (not variant.startswith("picture"))
            assert item.prompt.count('{"point": [x, y]}') == variant.endswith("point")
            assert item.prompt.count('{"box": [left, top, right, bottom]}') == variant.endswith("box")


@pytest.mark.parametrize("code", HERE)
def test_nothing_but_the_request_tells_the_two_of_a_scene_apart(code: str) -> None:
    texts = {item.seed_id: item.prompt for item in load_items("grounding", code)}
    for variant in VARIANTS:
        frames: dict[str, set[str]] = {}
        for item in items_in("grounding", code, None, variant):
            frames.setdefault(item.cluster_id, set()).add(item.prompt.replace(texts[item.seed_id], "…"))
        assert {len(found) for found in frames.values()} == {1}


@pytest.mark.parametrize("code", HERE)
def test_requests_do_not_name_the_thing(code: str) -> None:
    """Else the place could be read from the list without knowing what the request is for."""
    from refusalatlas.judges.forms.mentions import named

    for item in load_items("grounding", code):
        target = target_of("grounding", item.seed_id, code)
        assert target is not None
        assert named(item.prompt, target.names, code) == set(), item.id


@pytest.mark.parametrize("code", HERE)
def test_every_thing_has_a_name_of_its_own(code: str) -> None:
    keys = {thing.key for scene in load_scenes("grounding").values() for thing in scene.things}
    names = object_names(code)
    assert names.keys() == keys
    assert max(Counter(ways[0].casefold() for ways in names.values()).values()) == 1
    for scene in load_scenes("grounding").values():
        ways = Counter(way.casefold() for thing in scene.things for way in names[thing.key])
        assert max(ways.values()) == 1, scene.name


def test_names_of_tasks() -> None:
    assert task_name("grounding", "en", variant="point") == "refusal_grounding_en_point"
    assert task_name("grounding", "zh-Hans", variant="picture") == "refusalmm_grounding_zh_Hans"
    assert task_name("grounding", "zh-Hans", variant="picture_box") == "refusalmm_grounding_zh_Hans_box"


def test_digests_pin_scenes_and_texts() -> None:
    kept = read_digests()["grounding"]["1-0"]
    assert sorted(kept) == HERE
    assert kept["en"] == item_digest(items_in("grounding", "en", None))
