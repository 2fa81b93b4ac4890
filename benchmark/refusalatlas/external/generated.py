"""lm_eval's task files for published sets; they are written without asking the hub for anything."""

from __future__ import annotations

import re
from pathlib import Path

from ..packs import Pack
from .sets import FOLDER, ExternalSet, load_sets

TAG = "refusal-ext"
"""Tag of all tasks of published sets; they have none of the tags of ours, which must not reach the hub."""


def task_name(name: str, language: str) -> str:
    """Return the lm_eval name of a set's task, which the glob ``refusal_*`` does not match."""
    return re.sub(r"[^A-Za-z0-9]", "_", f"refusalext_{name}_{language}")


def set_files(pack: Pack) -> dict[Path, str]:
    """Return the YAML files of the published sets that a pack brings, by path."""
    from ..generate import shared_yaml

    if pack.tasks is None:
        return {}
    folder = pack.tasks / FOLDER / "lm_eval"
    files: dict[Path, str] = {}
    for one in load_sets().values():
        if one.path.parent != folder.parent:
            continue
        rows = [(metric, metric) for metric in one.metrics]
        files[folder / f"_{one.name}.yaml"] = shared_yaml("refusalatlas.external.adapter", one.file.max_tokens, rows)
        for language in one.languages:
            files[folder / f"{one.name}_{language}.yaml"] = task_yaml(one, language)
    return files


def task_yaml(one: ExternalSet, language: str) -> str:
    """Return the own lines of a set's task in a language."""
    from ..generate import HEADER, scalar

    file = one.file
    return (
        HEADER.replace("the seeds and texts", f"{FOLDER}/{one.path.name}")
        + f"include: _{one.name}.yaml\n"
        + f"task: {task_name(one.name, language)}\n"
        + f"tag: [{TAG}, {TAG}-{one.name}]\n"
        + f"dataset_kwargs: {{ra_track: {scalar(one.name)}, ra_language: {scalar(language)}}}\n"
        + f'metadata: {{version: "{file.version}", ra_external: true, ra_repository: {scalar(file.repository)}, '
        + f"ra_revision: {scalar(file.revision)}, ra_pack: {scalar(one.pack)}}}\n"
    )
