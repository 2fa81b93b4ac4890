"""Pictures of scenes: icons at the boxes of their things on a plain ground, the same to the byte on every machine.

The icons lie beside the scenes, ``tasks/<track>/icons/<code point>.png``. Pillow, the extra ``pictures``, is needed
only where a picture is made.
"""

from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import AtlasError, DataError
from .scenes import HEIGHT, WIDTH, Scene, load_scenes, names_of, seed_targets

if TYPE_CHECKING:
    from PIL.Image import Image

GROUND = (246, 240, 226)
"""Colour of the ground, red, green and blue."""

ICON = 128
"""The longer side of every icon, in pixels; an icon ends where its sign does, so that boxes are tight."""


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
    from .tracks import get_track

    pillow = _pillow()
    picture: Image = pillow.new("RGB", (WIDTH, HEIGHT), GROUND)
    for thing in scene.things:
        left, top, right, bottom = thing.box
        icon = _icon(get_track(track).folder / "icons" / f"{thing.emoji}.png")
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
    buffer = io.BytesIO()
    picture_of(track, scene).save(buffer, "PNG", optimize=False, compress_level=9)
    return buffer.getvalue()


def picture_of_seed(track: str, seed_id: str) -> Image:
    """Return the picture that a seed is asked about.

    Raises:
        AtlasError: as `picture_of`, or where the seed is about no scene.
    """
    found = seed_targets(track).get(seed_id)
    if found is None:
        raise AtlasError(f"seed {seed_id!r} is about no scene", where=f"tasks/{track}/seeds.jsonl")
    return picture_of(track, found[0].name)


def alt_text(scene: Scene, language: str) -> str:
    """Return what a picture shows, in a language: the names of its things, line by line, from left to right.

    Raises:
        DataError: where the language does not name one of them.
    """
    ordered = sorted(scene.things, key=lambda thing: (thing.box[1] * 3 // HEIGHT, thing.box[0]))
    return ", ".join(names_of(thing.key, language)[0] for thing in ordered)


def draw_icons(track: str, font: Path) -> list[Path]:
    """Draw the icons of a track's scenes from an emoji font with bitmaps, such as Noto Color Emoji; return their paths.

    Raises:
        AtlasError: where Pillow or the font is missing, or the font lacks a sign.
    """
    from .tracks import get_track

    pillow = _pillow()
    folder = get_track(track).folder / "icons"
    folder.mkdir(exist_ok=True)
    drawn = []
    for code in sorted({thing.emoji for scene in load_scenes(track).values() for thing in scene.things}):
        path = folder / f"{code}.png"
        _glyph(code, font).quantize(128, dither=pillow.Dither.NONE).save(path, "PNG", optimize=True)
        drawn.append(path)
    return drawn


_STRIKE = 109  # the only size that the font's bitmaps have


def _glyph(code: str, font: Path) -> Image:
    """Return one sign of a font, cut to what is drawn of it, its longer side of `ICON` pixels."""
    pillow = _pillow()
    from PIL import ImageDraw, ImageFont

    try:
        face = ImageFont.truetype(str(font), _STRIKE)
    except OSError as error:
        raise AtlasError(f"is no font with bitmaps ({error})", where=font, mend="name NotoColorEmoji.ttf") from None
    canvas: Image = pillow.new("RGBA", (2 * ICON, 2 * ICON), (0, 0, 0, 0))
    ImageDraw.Draw(canvas).text((ICON // 2, ICON // 2), chr(int(code, 16)), font=face, embedded_color=True)
    inked = canvas.getbbox()
    if inked is None:
        raise AtlasError(f"lacks the sign U+{code}", where=font, mend="take a newer release of the font")
    sign = canvas.crop(inked)
    share = ICON / max(sign.size)
    size = (max(1, round(sign.width * share)), max(1, round(sign.height * share)))
    return sign.resize(size, pillow.Resampling.LANCZOS)
