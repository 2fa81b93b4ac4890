"""Pictures: icons of things on a plain ground, the same to the byte on every machine.

In a scene they lie at the boxes of their things; a thing that is shown alone lies in the middle. The icons are
``tasks/<track>/icons/<code point>.png``. Pillow, the extra ``pictures``, is needed only where a picture is made.
"""

from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import AtlasError, DataError
from .scenes import HEIGHT, WIDTH, Scene, load_scenes, names_of, seed_targets
from .shown import object_ways, shown_seeds

if TYPE_CHECKING:
    from PIL.Image import Image

GROUND = (246, 240, 226)
"""Colour of the ground, red, green and blue."""

ICON = 128
"""The longer side of every icon, in pixels; an icon ends where its sign does, so that boxes are tight."""

ALONE = 320
"""The same of the icon of a thing that is shown alone; it is pasted as it is."""


def picture_of(track: str, scene: str) -> Image:
    """Return the picture of a scene, 640 by 480 pixels, in red, green and blue.

    Raises:
        AtlasError: where Pillow is not installed, or there is no such scene.
        DataError: where an icon is missing.
    """
    known = load_scenes(track)
    if scene not in known:
        raise AtlasError(f"there is no scene {scene!r}", where=f"tasks/{track}/scenes.jsonl")
    return _draw(track, known[scene])


@functools.lru_cache(maxsize=64)
def _draw(track: str, scene: Scene) -> Image:
    pillow = _pillow()
    picture: Image = pillow.new("RGB", (WIDTH, HEIGHT), GROUND)
    for thing in scene.things:
        left, top, right, bottom = thing.box
        icon = _icon(icon_path(track, thing.emoji))
        # Averaging whole pixels gives the same numbers on every machine; finer filters need not.
        icon = icon.resize((right - left, bottom - top), pillow.Resampling.BOX)
        picture.paste(icon, (left, top), icon)
    return picture


def _icon(path: Path) -> Image:
    if not path.is_file():
        raise DataError("is not there", where=path, mend="draw it with `refusalatlas tasks icons`")
    with _pillow().open(path) as opened:
        icon: Image = opened.convert("RGBA")
    return icon


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise AtlasError(
            "pictures need Pillow, which is not installed", mend="pip install 'refusalatlas[pictures]'"
        ) from None
    return Image


def png_of(track: str, scene: str) -> bytes:
    """Return the picture of a scene as PNG.

    Raises:
        AtlasError: as `picture_of`.
    """
    return _png(picture_of(track, scene))


def pictures_in(track: str, language: str) -> dict[str, tuple[bytes, str]]:
    """Return all pictures of a track by name, as PNG, each with what it shows in a language.

    They are those of its scenes, or of its seeds, where each shows one thing.

    Raises:
        AtlasError: where the track has no pictures, or as `picture_of`.
    """
    alone, scenes = shown_seeds(track), load_scenes(track)
    if not alone and not scenes:
        raise AtlasError(f"track {track} has no scenes")
    found = {name: (png_of(track, name), alt_text(scene, language)) for name, scene in scenes.items()}
    drawn = {emoji: _png(_alone(track, emoji)) for emoji in {seed.emoji for seed in alone.values()}}
    return found | {name: (drawn[seed.emoji], alt_of_thing(seed.key, language)) for name, seed in alone.items()}


def _png(picture: Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=False, compress_level=9)
    return buffer.getvalue()


def picture_of_seed(track: str, seed_id: str) -> Image:
    """Return the picture that a seed is asked about.

    Raises:
        AtlasError: as `picture_of`, or where the seed is about no scene.
    """
    alone = shown_seeds(track).get(seed_id)
    if alone is not None:
        return _alone(track, alone.emoji)
    found = seed_targets(track).get(seed_id)
    if found is None:
        raise AtlasError(f"seed {seed_id!r} is about no scene", where=f"tasks/{track}/seeds.jsonl")
    return picture_of(track, found[0].name)


@functools.lru_cache(maxsize=256)
def _alone(track: str, emoji: str) -> Image:
    """Return the picture of one thing, in the middle."""
    picture: Image = _pillow().new("RGB", (WIDTH, HEIGHT), GROUND)
    icon = _icon(icon_path(track, emoji))
    picture.paste(icon, ((WIDTH - icon.width) // 2, (HEIGHT - icon.height) // 2), icon)
    return picture


def icon_path(track: str, emoji: str) -> Path:
    """Return where the icon of a thing lies."""
    from .tracks import get_track

    return get_track(track).folder / "icons" / f"{emoji}.png"


def alt_text(scene: Scene, language: str) -> str:
    """Return what a picture shows, in a language: the names of its things, line by line, from left to right.

    Raises:
        DataError: where the language does not name one of them.
    """
    ordered = sorted(scene.things, key=lambda thing: (thing.box[1] * 3 // HEIGHT, thing.box[0]))
    return ", ".join(names_of(thing.key, language)[0] for thing in ordered)


def alt_of_thing(key: str, language: str) -> str:
    """Return what a picture of one thing shows: its name in a language, or in English where that has none for it."""
    return next(iter(object_ways(key, language)), key.replace("_", " "))


def draw_icons(track: str, font: Path) -> list[Path]:
    """Draw the icons of a track's things from an emoji font with bitmaps, such as Noto Color Emoji; return their paths.

    Raises:
        AtlasError: where Pillow or the font is missing, or the font lacks a sign.
    """
    pillow = _pillow()
    sides = {thing.emoji: ICON for scene in load_scenes(track).values() for thing in scene.things}
    sides |= {seed.emoji: ALONE for seed in shown_seeds(track).values()}
    drawn = []
    for code, side in sorted(sides.items()):
        path = icon_path(track, code)
        path.parent.mkdir(exist_ok=True)
        _glyph(code, font, side).quantize(128, dither=pillow.Dither.NONE).save(path, "PNG", optimize=True)
        drawn.append(path)
    return drawn


_STRIKE = 109  # the only size that the font's bitmaps have


def _glyph(code: str, font: Path, side: int) -> Image:
    """Return one sign of a font, cut to what is drawn of it, its longer side of so many pixels."""
    pillow = _pillow()
    from PIL import ImageDraw, ImageFont

    try:
        face = ImageFont.truetype(str(font), _STRIKE)
    except OSError as error:
        raise AtlasError(f"is no font with bitmaps ({error})", where=font, mend="name NotoColorEmoji.ttf") from None
    canvas: Image = pillow.new("RGBA", (2 * _STRIKE, 2 * _STRIKE), (0, 0, 0, 0))
    ImageDraw.Draw(canvas).text((_STRIKE // 2, _STRIKE // 2), chr(int(code, 16)), font=face, embedded_color=True)
    inked = canvas.getbbox()
    if inked is None:
        raise AtlasError(f"lacks the sign U+{code}", where=font, mend="take a newer release of the font")
    sign = canvas.crop(inked)
    share = side / max(sign.size)
    size = (max(1, round(sign.width * share)), max(1, round(sign.height * share)))
    return sign.resize(size, pillow.Resampling.LANCZOS)
