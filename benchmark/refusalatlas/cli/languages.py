"""`refusalatlas languages`: what the atlas has in which language and place."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click


def overview() -> dict[str, list[dict[str, Any]]]:
    """Return ``{"languages": [...], "locales": [...]}``: names, script, tracks with items, methods, reviewed share."""
    from ..languages import load_languages
    from ..tracks import languages_of, load_items, load_tracks

    items_of: dict[str, list[Any]] = {code: [] for code in load_languages()}
    for track in load_tracks():
        for code in languages_of(track):
            items_of[code] += load_items(track, code)
    languages, locales = [], []
    for code, language in load_languages().items():
        items = items_of[code]
        languages.append(
            {
                "code": code,
                "name": language.name,
                "english_name": language.english_name,
                "script": language.script,
                "direction": language.direction,
                "default_locale": language.default_locale,
                "pack": language.pack,
                **_summary(code, items),
            }
        )
        for locale in sorted({item.locale for item in items if item.locale}):
            here = [item for item in items if item.locale == locale]
            locales.append(
                {"code": locale, "language": code, "region": locale.rsplit("-", 1)[1], **_summary(code, here)}
            )
    return {"languages": languages, "locales": locales}


def _summary(language: str, items: list[Any]) -> dict[str, Any]:
    from ..validation import status

    reviewed = sum(item.reviewer is not None for item in items)
    return {
        "tracks": dict(sorted(Counter(item.track for item in items).items())),
        "items": len(items),
        "methods": dict(sorted(Counter(item.method for item in items).items())),
        "reviewed_share": round(reviewed / len(items), 4) if items else 0.0,
        "judges": status(language),
    }


@click.command("languages")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(style: str) -> None:
    """List languages and locales."""
    from ..files import dumps

    found = overview()
    if style == "json":
        click.echo(dumps(found))
        return
    for row in [*found["languages"], *found["locales"]]:
        name = f"{row['english_name']} ({row['name']})" if "name" in row else f"locale of {row['language']}"
        tracks = ", ".join(f"{track} {n}" for track, n in row["tracks"].items()) or "no texts yet"
        click.echo(f"{row['code']:<12}{name:<36}{tracks}; reviewed {row['reviewed_share']:.0%}")
