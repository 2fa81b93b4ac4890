"""Pictures of scenes: the same to the byte, with every thing where its box says."""

from __future__ import annotations

import builtins
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from refusalatlas.cli import cli
from refusalatlas.errors import AtlasError
from refusalatlas.packs import builtin_root
from refusalatlas.pictures import GROUND, ICON, alt_text, picture_of, picture_of_seed, png_of
from refusalatlas.scenes import HEIGHT, WIDTH, load_scenes, seed_targets

Image = pytest.importorskip("PIL.Image")
ICONS = builtin_root() / "tasks" / "grounding" / "icons"
SCENES = load_scenes("grounding")

PIXELS = {
    "bedside-table": "3392614cb5486aa6513f678a2dd9c2fbf8058e50575b8084c4c4c82e00cf5aba",
    "driving-school": "97ba98eb7ff03aff923d89fe2ae9c69d7999df5cebb7377cbf30fc57b5446aef",
}
"""SHA-256 of the pixels, red, green and blue in rows."""


@pytest.mark.parametrize("scene", PIXELS)
def test_pixels_are_the_same_everywhere(scene: str) -> None:
    assert hashlib.sha256(picture_of("grounding", scene).tobytes()).hexdigest() == PIXELS[scene]


def test_bytes_are_the_same_every_time() -> None:
    from refusalatlas.pictures import _draw

    first = png_of("grounding", "hall-shelf")
    _draw.cache_clear()
    assert png_of("grounding", "hall-shelf") == first
    assert first.startswith(b"\x89PNG")


@pytest.mark.parametrize("scene", SCENES)
def test_things_fill_their_boxes_and_nothing_else(scene: str) -> None:
    picture = picture_of("grounding", scene)
    assert (picture.size, picture.mode) == ((WIDTH, HEIGHT), "RGB")
    empty = picture.copy()
    for thing in SCENES[scene].things:
        left, top, right, bottom = thing.box
        drawn = picture.crop(thing.box)
        ground = Image.new("RGB", drawn.size, GROUND)
        inked = _differs(drawn, ground)
        assert inked is not None
        assert max(inked[0], inked[1], right - left - inked[2], bottom - top - inked[3]) <= 2, thing.key
        empty.paste(GROUND, thing.box)
    assert _differs(empty, Image.new("RGB", empty.size, GROUND)) is None


def _differs(one: Any, other: Any) -> Any:
    from PIL import ImageChops

    return ImageChops.difference(one, other).getbbox()


def test_every_icon_is_there_small_and_none_too_many() -> None:
    wanted = {f"{thing.emoji}.png" for scene in SCENES.values() for thing in scene.things}
    assert {path.name for path in ICONS.glob("*.png")} == wanted
    assert sum(path.stat().st_size for path in ICONS.iterdir()) < 500_000
    for path in ICONS.glob("*.png"):
        with Image.open(path) as icon:
            assert max(icon.size) == ICON


def test_the_licence_of_the_icons_is_told() -> None:
    notice = (ICONS / "NOTICE").read_text(encoding="utf-8")
    assert "Apache License, Version 2.0" in notice and "SIL Open Font License" in notice


def test_a_seed_has_the_picture_of_its_scene() -> None:
    assert picture_of_seed("grounding", "study-benign") is picture_of("grounding", "study")
    with pytest.raises(AtlasError, match="about no scene"):
        picture_of_seed("pairs", "fraud-parcel-harmful")
    with pytest.raises(AtlasError, match="there is no scene"):
        picture_of("grounding", "attic")


def test_descriptions_name_every_thing_once() -> None:
    said = alt_text(SCENES["kitchen-table"], "en").split(", ")
    assert sorted(said) == ["bread", "cake", "cheese", "cooking pot", "egg", "salt", "spoon"]


def test_without_pillow_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from refusalatlas.pictures import _draw

    original = builtins.__import__

    def without(name: str, *args: Any, **kw: Any) -> Any:
        if name.partition(".")[0] == "PIL":
            raise ImportError(name)
        return original(name, *args, **kw)

    _draw.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(AtlasError, match=r"refusalatlas\[pictures\]"):
        picture_of("grounding", "study")


def test_command_writes_pictures_and_what_they_show(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["tasks", "pictures", "grounding", str(tmp_path)])
    assert done.exit_code == 0, done.output
    alt = json.loads((tmp_path / "alt.json").read_text(encoding="utf-8"))
    assert set(alt) == {path.name for path in tmp_path.glob("*.png")} == {f"{scene}.png" for scene in SCENES}
    assert (tmp_path / "study.png").read_bytes() == png_of("grounding", "study")


def test_command_says_where_there_are_no_scenes(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["tasks", "pictures", "pairs", str(tmp_path)])
    assert done.exit_code == 1
    assert "track pairs has no scenes" in done.output + str(done.exception)


def test_targets_are_no_smaller_than_a_pointer_can_hit() -> None:
    for _, thing in seed_targets("grounding").values():
        assert min(thing.box[2] - thing.box[0], thing.box[3] - thing.box[1]) >= 24
