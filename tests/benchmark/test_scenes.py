"""Scenes: what is refused in them, where things are, what languages call them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refusalatlas import scenes as module
from refusalatlas.errors import AtlasError, DataError
from refusalatlas.fields import field_of
from refusalatlas.places import items_in
from refusalatlas.scenes import (
    Scene,
    Thing,
    ambiguity,
    contains,
    load_scenes,
    names_of,
    object_names,
    overlap,
    per_mille,
    seed_targets,
    target_of,
)

THINGS: list[dict[str, Any]] = [
    {"key": "key", "emoji": "1F511", "box": [500, 20, 580, 100]},
    {"key": "cup", "emoji": "2615", "box": [20, 20, 100, 100]},
    {"key": "book", "emoji": "1F4D5", "box": [20, 300, 100, 400]},
]


@pytest.fixture
def track(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Write scenes, and the target of one seed, of a track in a folder of its own."""
    from types import SimpleNamespace

    import refusalatlas.tracks as tracks

    def write(*scenes: Any, target: Any = None) -> None:
        (tmp_path / "scenes.jsonl").write_text("".join(json.dumps(scene) + "\n" for scene in scenes), encoding="utf-8")
        meta = {"target": target or {"scene": "hall", "thing": "key"}}
        (tmp_path / "seeds.jsonl").write_text(json.dumps({"seed_id": "a", "meta": meta}) + "\n", encoding="utf-8")
        load_scenes.cache_clear()
        seed_targets.cache_clear()

    monkeypatch.setattr(tracks, "get_track", lambda name: SimpleNamespace(folder=tmp_path))
    yield write
    load_scenes.cache_clear()
    seed_targets.cache_clear()


def test_scenes_are_read(track: Any) -> None:
    track({"scene": "hall", "things": THINGS})
    scene, thing = seed_targets("own")["a"]
    assert (scene.name, thing.key, thing.box, thing.middle) == ("hall", "key", (500, 20, 580, 100), (540, 60))
    with pytest.raises(KeyError):
        scene.thing("clock")


@pytest.mark.parametrize(
    ("number", "change", "what"),
    [
        (0, {"box": [600, 20, 700, 100]}, "none within"),
        (0, {"box": [580, 20, 500, 100]}, "none within"),
        (0, {"box": [-1, 20, 50, 100]}, "none within"),
        (0, {"box": [90, 20, 180, 100]}, "overlap"),
        (0, {"key": "cup"}, "twice"),
        (0, {"key": "Cup"}, "key"),
        (0, {"emoji": "key"}, "emoji"),
        (0, {"box": [1, 2, 3]}, "box"),
        (0, {"colour": "red"}, "colour"),
    ],
)
def test_a_scene_that_is_wrong_is_an_error_that_says_why(
    track: Any, number: int, change: dict[str, Any], what: str
) -> None:
    things = [dict(thing) for thing in THINGS]
    things[number] |= change
    track({"scene": "hall", "things": things})
    with pytest.raises(DataError, match=what) as caught:
        load_scenes("own")
    assert "scenes.jsonl:1" in str(caught.value)


def test_a_scene_that_stands_there_twice_is_an_error(track: Any) -> None:
    track({"scene": "hall", "things": THINGS}, {"scene": "hall", "things": THINGS})
    with pytest.raises(DataError, match="twice"):
        load_scenes("own")


@pytest.mark.parametrize("target", [{"scene": "hall", "thing": "clock"}, {"scene": "attic", "thing": "key"}])
def test_a_target_that_is_not_there_is_an_error(track: Any, target: dict[str, str]) -> None:
    track({"scene": "hall", "things": THINGS}, target=target)
    with pytest.raises(DataError, match="there is no"):
        seed_targets("own")


def test_a_thing_that_another_would_be_taken_for_is_no_target() -> None:
    """A pixel of the cup, read per mille, would be on the key."""
    key, cup = Thing("key", "1F511", (64, 48, 128, 96)), Thing("cup", "2615", (140, 140, 180, 180))
    assert "per mille" in str(ambiguity(Scene("hall", (key, cup)), "key"))
    assert ambiguity(Scene("hall", (key, Thing("cup", "2615", (400, 300, 440, 340)))), "key") is None
    middle = Thing("key", "1F511", (300, 200, 340, 260))
    assert "middle" in str(ambiguity(Scene("hall", (middle, cup)), "key"))


def test_geometry() -> None:
    assert overlap((0, 0, 10, 10), (0, 0, 10, 10)) == 1.0
    assert overlap((0, 0, 10, 10), (5, 0, 15, 10)) == pytest.approx(1 / 3)
    assert overlap((0, 0, 10, 10), (10, 0, 20, 10)) == 0.0
    assert per_mille((500, 500, 1000, 1000)) == (320.0, 240.0, 640.0, 480.0)
    assert contains((0, 0, 10, 10), (10, 0)) and not contains((0, 0, 10, 10), (11, 0))


def test_names_are_those_of_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"grounding_objects": ["key = Schlüssel|Türschlüssel", "cup = Tasse"]}
    monkeypatch.setattr(module, "strings", lambda language: words)
    object_names.cache_clear()
    assert names_of("key", "xx") == ("Schlüssel", "Türschlüssel")
    with pytest.raises(DataError, match="does not name 'book'"):
        names_of("book", "xx")
    object_names.cache_clear()


@pytest.mark.parametrize("entry", ["key", "key = ", "key = |", "cup = Becher"])
def test_a_name_without_a_key_or_said_again_is_an_error(monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    monkeypatch.setattr(module, "strings", lambda language: {"grounding_objects": ["cup = Tasse", entry]})
    object_names.cache_clear()
    with pytest.raises(DataError, match="grounding_objects"):
        object_names("xx")
    object_names.cache_clear()


def test_items_of_other_tracks_are_about_nothing() -> None:
    assert target_of("pairs", "fraud-parcel-harmful", "en") is None
    assert target_of("no-such-track", "a", "en") is None
    assert field_of("grounding", "bedside-table-benign", "en", None) is None


def test_a_language_without_the_words_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    import refusalatlas.places as places

    monkeypatch.setattr(places, "strings", lambda language: {})
    with pytest.raises(AtlasError, match="no sentence in grounding_question"):
        items_in("grounding", "en", None)
