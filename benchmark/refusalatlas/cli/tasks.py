"""`refusalatlas tasks`: list, locate and generate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ..errors import AtlasError


@click.group("tasks")
def command() -> None:
    """List, locate and generate the lm_eval tasks."""


def task_rows() -> list[dict[str, Any]]:
    """Return one row a task that lm_eval will find: name, track, version, axes, language, items and tags."""
    from ..generate import task_stem
    from ..hook import task_folders
    from ..places import items_in, places_of, variants_of
    from ..tracks import languages_of, load_tracks, task_name

    folders = task_folders()
    return [
        {
            "task": task_name(track.name, language, locale, variant),
            "track": track.name,
            "version": track.version,
            "axis": " and ".join(track.axes),
            "language": language,
            "locale": locale,
            "variant": variant,
            "items": len(items_in(track.name, language, locale, variant)),
            "quick": track.quick,
        }
        for track in load_tracks().values()
        for language in languages_of(track.name)
        for locale in places_of(track.name, language)
        for variant in variants_of(track.name, language)
        if any(
            (folder / track.name / "lm_eval" / f"{task_stem(language, locale, variant)}.yaml").is_file()
            for folder in folders
        )
    ]


def external_rows() -> list[dict[str, Any]]:
    """Return one row a task of a published set; how many items it has is known when the hub is asked, not before."""
    from ..external.generated import set_files, task_name
    from ..external.sets import load_sets
    from ..hook import task_folders
    from ..packs import packs

    folders = task_folders()
    found = {path.name for pack in packs() if pack.tasks in folders for path in set_files(pack) if path.is_file()}
    return [
        {
            "task": task_name(one.name, language),
            "track": one.name,
            "version": one.file.version,
            "axis": one.file.axis,
            "language": language,
            "locale": None,
            "variant": "base",
            "items": None,
            "quick": False,
            "external": f"{one.file.repository}@{one.file.revision}",
            "licence": one.file.licence,
            "access": one.file.access,
        }
        for one in load_sets().values()
        for language in one.languages
        if f"{one.name}_{language}.yaml" in found
    ]


def guard_rows() -> list[dict[str, Any]]:
    """Return one row a task of guards: the harmful and benign prompts of a track in one place."""
    from ..guards.adapter import ROLES
    from ..guards.generated import FOLDER, has_guard_tasks, task_name
    from ..hook import task_folders
    from ..places import items_in, places_of
    from ..tracks import languages_of, load_tracks

    folders = task_folders()
    return [
        {
            "task": task_name(track.name, locale or language),
            "track": track.name,
            "version": track.version,
            "axis": " and ".join(track.axes),
            "language": language,
            "locale": locale,
            "variant": "base",
            "items": sum(item.role in ROLES for item in items_in(track.name, language, locale)),
            "quick": False,
            "guard": True,
        }
        for track in filter(has_guard_tasks, load_tracks().values())
        for language in languages_of(track.name)
        for locale in places_of(track.name, language)
        if any((f / FOLDER / "lm_eval" / f"{track.name}_{locale or language}.yaml").is_file() for f in folders)
    ]


@command.command("list")
@click.option("--external", is_flag=True, help="Tasks of published sets, which are read from the hub when they run.")
@click.option("--guards", is_flag=True, help="Tasks of guards, which say whether a prompt is harmful.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_(style: str, external: bool, guards: bool) -> None:
    """List the tasks that `lm_eval --tasks` knows by name: those of `refusal_*`, or the others of which one asks."""
    from ..files import dumps

    rows = [*(external_rows() if external else ()), *(guard_rows() if guards else ())]
    if not (external or guards):
        rows = task_rows()
    if style == "json":
        click.echo(dumps(rows))
        return
    width = max((len(row["task"]) for row in rows), default=0)
    for row in rows:
        size = f"{row['items']:>4} items" if row["items"] is not None else f"from {row['external']}"
        kind = "  guard" if "guard" in row else "  published set" if "external" in row else ""
        click.echo(f"{row['task']:<{width}}  {size}  {row['axis']}  version {row['version']}{kind}")
    if not (external or guards):
        click.echo("Not in `refusal_*`: published sets (--external) and tasks of guards (--guards).", err=True)


@command.command("path")
def path() -> None:
    """Print the folder of the built-in tasks, for `lm_eval --include_path`."""
    from ..packs import packs

    click.echo(str(packs()[0].tasks))


@command.command("generate")
@click.option("--check", is_flag=True, help="Change nothing; exit with 3 where a file is not what the data give.")
@click.option("--rewrite-digests", is_flag=True, help="Accept changed texts of a version that was never released.")
@click.option("--pack", "pack_name", default="builtin", show_default=True, help="Name of an installed pack.")
def generate(check: bool, rewrite_digests: bool, pack_name: str) -> None:
    """Write lm_eval's task files and the digests from seeds and texts."""
    from ..generate import find_pack, refuse_installed, written
    from ..generate import generate as write

    pack = find_pack(pack_name)
    if pack.ours and not check and pack.tasks is not None and not (pack.tasks.parent / "pyproject.toml").is_file():
        raise AtlasError("this is no checkout of Refusal Atlas", where=pack.tasks, mend="name a pack with --pack")
    if not check:
        refuse_installed(pack)
    findings = write(pack, check=check, rewrite=rewrite_digests)
    for finding in findings:
        click.echo(_relative(finding), err=True)
    if findings:
        sys.exit(3)
    for line in written(pack):
        click.echo(line)
    click.echo(f"{pack.tasks}: {'as the data give' if check else 'written'}", err=True)


@command.command("pictures")
@click.argument("track")
@click.argument("output", type=click.Path(path_type=Path, file_okay=False))
@click.option("--language", default="en", show_default=True, help="Language of the descriptions.")
def pictures(track: str, output: Path, language: str) -> None:
    """Write the pictures of a TRACK to OUTPUT, with `alt.json`, which says in words what each shows."""
    from ..files import dumps, write_atomic
    from ..pictures import pictures_in

    found = pictures_in(track, language)
    output.mkdir(parents=True, exist_ok=True)
    for name, (png, _) in found.items():
        (output / f"{name}.png").write_bytes(png)
    write_atomic(output / "alt.json", dumps({f"{name}.png": alt for name, (_, alt) in found.items()}) + "\n")
    click.echo(f"{output}: {len(found)} pictures", err=True)


@command.command("icons")
@click.argument("track")
@click.argument("font", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def icons(track: str, font: Path) -> None:
    """Draw the icons of a TRACK's things again, from FONT: Noto Color Emoji, with bitmaps."""
    from ..pictures import draw_icons

    click.echo(f"{len(draw_icons(track, font))} icons drawn", err=True)


def _relative(finding: str) -> str:
    return finding.replace(f"{Path.cwd()}/", "")


def named_tasks(track: str | None, language: str | None) -> list[str]:
    """Return the names of the tasks of a track and a language, without those with pictures: no run can have both.

    Raises:
        AtlasError: where track or language is unknown, or there are no texts of the one in the other.
    """
    from ..languages import get_language
    from ..tracks import get_track
    from ..variants import is_pictured

    if track:
        get_track(track)
    if language:
        get_language(language)
    names = [
        row["task"]
        for row in task_rows()
        if (track is None or row["track"] == track)
        and (language is None or row["language"] == language)
        and not is_pictured(row["variant"])
    ]
    if not names:
        raise AtlasError(f"no task of track {track} in {language}", mend="see `refusalatlas tasks list`")
    return names
