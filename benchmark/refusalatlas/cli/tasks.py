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
    """Return one row a task that lm_eval will find: name, track, version, language, items and tags."""
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
            "axis": track.axis,
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


@command.command("list")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_(style: str) -> None:
    """List the tasks that `lm_eval --tasks` knows by name."""
    from ..files import dumps

    rows = task_rows()
    if style == "json":
        click.echo(dumps(rows))
        return
    width = max((len(row["task"]) for row in rows), default=0)
    for row in rows:
        click.echo(f"{row['task']:<{width}}  {row['items']:>4} items  {row['axis']}  version {row['version']}")


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
    from ..generate import find_pack
    from ..generate import generate as write

    pack = find_pack(pack_name)
    if pack.ours and not check and pack.tasks is not None and not (pack.tasks.parent / "pyproject.toml").is_file():
        raise AtlasError("this is no checkout of Refusal Atlas", where=pack.tasks, mend="name a pack with --pack")
    findings = write(pack, check=check, rewrite=rewrite_digests)
    for finding in findings:
        click.echo(_relative(finding), err=True)
    if findings:
        sys.exit(3)
    click.echo(f"{pack.tasks}: {'as the data give' if check else 'written'}", err=True)


def _relative(finding: str) -> str:
    return finding.replace(f"{Path.cwd()}/", "")


def named_tasks(track: str | None, language: str | None) -> list[str]:
    """Return the names of the tasks of a track and a language.

    Raises:
        AtlasError: where track or language is unknown, or there are no texts of the one in the other.
    """
    from ..languages import get_language
    from ..tracks import get_track

    if track:
        get_track(track)
    if language:
        get_language(language)
    names = [
        row["task"]
        for row in task_rows()
        if (track is None or row["track"] == track) and (language is None or row["language"] == language)
    ]
    if not names:
        raise AtlasError(f"no task of track {track} in {language}", mend="see `refusalatlas tasks list`")
    return names
