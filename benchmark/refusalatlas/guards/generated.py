"""lm_eval's task files for guards: one for each place of a track that has both harmful and benign prompts."""

from __future__ import annotations

import re
from pathlib import Path

from ..packs import Pack
from ..places import places_of
from ..tracks import Track, load_seeds, load_tracks, texts_path

FOLDER = "guards"
TAG = "refusal-guard"
"""Tag of all tasks of guards; they have none of the tags of text tasks."""

_METRICS = {
    "guard_recall": ("rate", "true"),
    "guard_false_positive_rate": ("rate", "false"),
    "guard_f1": ("f1", "true"),
    "guard_category_accuracy": ("rate", "true"),
    "guard_undecided_rate": ("rate", "false"),
    "guard": ("count", "null"),
}
_SHARED = """\
custom_dataset: !function refusalatlas.guards.adapter.load
test_split: test
output_type: generate_until
doc_to_text: prompt
doc_to_target: role
num_fewshot: 0
generation_kwargs:
  until: []  # or lm_eval stops at the first blank line
  max_gen_toks: 128
  do_sample: false
  temperature: 0.0
process_results: !function refusalatlas.guards.adapter.process_results
metric_list:
"""


def has_guard_tasks(track: Track) -> bool:
    """Whether a track asks of every prompt alone if it is harmful, and has more than a smoke test's worth of them."""
    if track.axes != ("safety",) or track.quick:
        return False
    return {"harmful", "benign"} <= {seed.role for seed in load_seeds(track.name).values()}


def task_name(track: str, place: str) -> str:
    """Return the lm_eval name of a task of guards, which the glob ``refusal_*`` does not match."""
    return re.sub(r"[^A-Za-z0-9]", "_", f"refusalguard_{track}_{place}")


def guard_files(pack: Pack) -> dict[Path, str]:
    """Return the YAML files of guards for the texts that a pack brings, by path."""
    from ..generate import HEADER
    from ..languages import load_languages

    files: dict[Path, str] = {}
    if pack.tasks is None:
        return files
    folder = pack.tasks / FOLDER / "lm_eval"
    for track in load_tracks().values():
        for language in load_languages() if has_guard_tasks(track) else ():
            path = texts_path(track.name, language)
            if path is None or pack.translations is None or pack.translations not in path.parents:
                continue
            files[folder / "_common.yaml"] = HEADER + _SHARED + _metric_lines()
            for locale in places_of(track.name, language):
                files[folder / f"{track.name}_{locale or language}.yaml"] = task_yaml(track, language, locale)
    return files


def _metric_lines() -> str:
    lines = []
    for metric, (aggregation, better) in _METRICS.items():
        module = "refusalatlas.guards.adapter" if aggregation == "f1" else "refusalatlas.adapter"
        lines += [
            f"  - metric: {metric}",
            f"    aggregation: !function {module}.{aggregation}",
            f"    higher_is_better: {better}",
        ]
    return "\n".join(lines) + "\n"


def task_yaml(track: Track, language: str, locale: str | None) -> str:
    """Return the own lines of a task of guards."""
    from ..generate import HEADER, scalar

    place = f", ra_locale: {locale}" if locale else ""
    return (
        HEADER
        + "include: _common.yaml\n"
        + f"task: {task_name(track.name, locale or language)}\n"
        + f"tag: [{TAG}, {TAG}-{track.name}, {TAG}-lang-{language}]\n"
        + f"dataset_kwargs: {{ra_guard_track: {scalar(track.name)}, ra_language: {scalar(language)}{place}}}\n"
        + f'metadata: {{version: "{track.version}", ra_pack: {scalar(track.pack)}}}\n'
    )
