"""Pictures of one thing: what seeds say of them, how they are drawn, and what they are called."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from refusalatlas.cli import cli
from refusalatlas.errors import DataError
from refusalatlas.pictures import ALONE, GROUND, alt_of_thing, picture_of_seed
from refusalatlas.scenes import HEIGHT, WIDTH
from refusalatlas.shown import shown_of, shown_seeds
from refusalatlas.tracks import asked_as, read_track

Write = Callable[..., None]

PIXELS = "b3803ce44c62408b8da0c1f26f6e34c949f5bc7b746e90b6928f334f826161ae"
"""SHA-256 of the pixels of an alarm clock, red, green and blue in rows."""


@pytest.fixture
def seeds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Write]:
    """Write the seeds of a track of pictures in a folder of its own."""
    import refusalatlas.tracks as tracks

    def write(*metas: Any) -> None:
        rows = [{"seed_id": f"s{i}", "locales": ["en-SG"], "meta": meta} for i, meta in enumerate(metas)]
        (tmp_path / "seeds.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        shown_seeds.cache_clear()

    known = {"own": SimpleNamespace(folder=tmp_path, pictures_of="apac"), "plain": SimpleNamespace(pictures_of=None)}
    monkeypatch.setattr(tracks, "load_tracks", lambda: known)
    yield write
    shown_seeds.cache_clear()


def meta(thing: str = "clock", emoji: str = "23F0", **more: str) -> dict[str, str]:
    return {"gloss": "A clock as a birthday present.", "thing": thing, "emoji": emoji, **more}


def test_seeds_say_what_their_picture_shows(seeds: Write) -> None:
    seeds(meta(), meta("teapot", "1FAD6"))
    found = shown_seeds("own")
    assert [(seed.key, seed.emoji) for seed in found.values()] == [("clock", "23F0"), ("teapot", "1FAD6")]
    assert found["s0"].seen_in("en") and not found["s0"].seen_in("ja")
    assert shown_seeds("plain") == shown_seeds("nowhere") == {}


@pytest.mark.parametrize(
    ("metas", "what"),
    [
        ([meta("Clock")], "thing"),
        ([meta(emoji="⏰")], "emoji"),
        ([meta(gloss="short")], "gloss"),
        ([meta(scene="hall")], "scene"),
        ([{"gloss": "A clock as a birthday present."}], "thing"),
        ([meta(), meta(emoji="1F570")], "elsewhere"),
    ],
)
def test_a_seed_that_is_wrong_is_named(seeds: Write, metas: list[Any], what: str) -> None:
    seeds(*metas)
    with pytest.raises(DataError, match=what) as error:
        shown_seeds("own")
    assert f"seeds.jsonl:{len(metas)}" in str(error.value)


def test_others_are_the_things_that_are_seen_in_the_language() -> None:
    shown = shown_of("apacpictures", "tw-gift-clock-aware", "zh-Hant")
    assert shown is not None
    assert (shown.key, shown.emoji, shown.names[0]) == ("alarm_clock", "23F0", "時鐘")
    assert ("茶壺",) in shown.others and not {"時鐘"} & {way for ways in shown.others for way in ways}
    assert shown_of("apac", "tw-metro-snack-aware", "zh-Hant") is None
    with pytest.raises(DataError, match="does not name 'alarm_clock'"):
        shown_of("apacpictures", "tw-gift-clock-aware", "fr")


def test_a_track_of_pictures_names_a_track_beside_it(tmp_path: Path) -> None:
    from refusalatlas.packs import builtin_root

    text = (builtin_root() / "tasks" / "apacpictures" / "track.yaml").read_text(encoding="utf-8")
    folder = tmp_path / "apacpictures"
    folder.mkdir()
    (folder / "track.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="no track 'apac' beside it"):
        read_track(folder)
    assert (asked_as("apacpictures"), asked_as("pairs"), asked_as("nowhere")) == ("apac", "pairs", "nowhere")


def test_a_thing_lies_large_in_the_middle_and_pixels_are_the_same_everywhere() -> None:
    pytest.importorskip("PIL")
    from PIL import Image, ImageChops

    picture = picture_of_seed("apacpictures", "tw-gift-clock-aware")
    assert (picture.size, picture.mode) == ((WIDTH, HEIGHT), "RGB")
    left, top, right, bottom = ImageChops.difference(picture, Image.new("RGB", picture.size, GROUND)).getbbox()
    assert max(right - left, bottom - top) >= ALONE - 4
    assert abs(left + right - WIDTH) <= 6 and abs(top + bottom - HEIGHT) <= 6
    assert hashlib.sha256(picture.tobytes()).hexdigest() == PIXELS


def test_command_writes_a_picture_a_seed_and_what_it_shows(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    done = CliRunner().invoke(cli, ["tasks", "pictures", "apacpictures", str(tmp_path), "--language", "ja"])
    assert done.exit_code == 0, done.output
    alt = json.loads((tmp_path / "alt.json").read_text(encoding="utf-8"))
    assert (
        {path.name for path in tmp_path.glob("*.png")} == set(alt) == {f"{s}.png" for s in shown_seeds("apacpictures")}
    )
    assert alt["jp-cycling-beer-aware.png"] == "ビール"
    assert alt["tw-freeway-scooter-aware.png"] == alt_of_thing("scooter", "ja") == "scooter"
