"""From a finished run to a submission: checked, without answers, without secrets, written whole or not at all."""

from __future__ import annotations

import datetime
import hashlib
import platform
import shlex
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from refusalatlas.errors import AtlasError
from refusalatlas.external.sets import is_external
from refusalatlas.files import dumps, problems
from refusalatlas.models.command_settings import MINIMAL_SYSTEM
from refusalatlas.records import Record, salted_hash
from refusalatlas.scrub import scrub, scrub_mapping

from .external import suite_of
from .naming import model_slug, run_id
from .redact import submitted
from .schema import REFERENCE, Generation, Prompting, RunFile, Score, ranking_of
from .settings import LENGTH_KEYS, never_sent
from .storage import RECORDS_FILE, RUN_FILE, pack
from .suites import by_suite, complaint, pin

if TYPE_CHECKING:
    from refusalatlas.lines import Axis
    from refusalatlas.runs import Run

_NAME_KEYS = ("pretrained", "model", "path", "engine")
_FAILED = frozenset({"error", "empty"})
"""Conditions of a request that got no answer; a provider that blocks everything has given one."""

COMMAND = "refusalatlas-command"


def submit_run(
    source: Path,
    output: Path,
    *,
    submitter: str = "anonymous",
    model_name: str | None = None,
    notes: str | None = None,
) -> Path:
    """Write the submission of a run below `output` and return its folder.

    Args:
        source: Output folder of lm_eval, or one of its ``results_*.json``.
        output: Submissions folder; the run goes to ``<model slug>/<run id>`` in it.
        submitter: Who answers for the run.
        model_name: Name of the model, ``org/model``; by default the one that the run states.
        notes: Anything that readers should know.

    Raises:
        AtlasError: where the run is limited, empty, incomplete, mixed or changed since it was judged, where its
            model has no name, where it was submitted before, or where `output` cannot be written.
    """
    from refusalatlas.runs import load_run

    run = load_run(source)
    check_run(run, source)
    lines = [dumps(submitted(record, run.responses[record.id])) for record in sorted(run.records, key=lambda r: r.id)]
    facts = run_file(run, lines, submitter=submitter, model_name=model_name, notes=notes)
    folder = output / model_slug(facts.model.name) / facts.run_id
    _write(folder, output, {RUN_FILE: _pretty(facts), RECORDS_FILE: pack(lines)})
    return folder


def check_run(run: Run, source: Path) -> None:
    """Refuse a run that could not be compared with others.

    Raises:
        AtlasError: naming the first reason.
    """
    if not run.records:
        raise AtlasError("holds no answers", where=source, mend="run lm_eval with --log_samples")
    failed = Counter(d.condition for r in run.records for d in r.decisions if d.condition in _FAILED)
    if failed.total() == sum(len(r.decisions) for r in run.records):
        how = ", ".join(f"{count} {condition}" for condition, count in sorted(failed.items()))
        mend = "look at the backend's messages, then run again"
        raise AtlasError(f"holds no answer: all requests failed ({how})", where=source, mend=mend)
    if run.info.get("limit") is not None:
        raise AtlasError(f"was limited to {run.info['limit']}", where=source, mend="run again without --limit")
    _check_counts(run, source)
    panels = sorted({record.panel for record in run.records})
    if len(panels) > 1:
        raise AtlasError(
            f"was judged by {len(panels)} panels ({', '.join(p[:24] for p in panels)})",
            where=source,
            mend="judge all of it again with `refusalatlas judge`",
        )
    if not panels[0].partition("@")[2]:
        raise AtlasError("was not judged", where=source, mend="judge it with `refusalatlas judge`, then submit that")
    versions: dict[str, str] = {}
    for record in run.records:
        if versions.setdefault(record.track, record.version) != record.version:
            what = f"mixes versions {versions[record.track]} and {record.version} of {record.track}"
            raise AtlasError(what, where=source, mend="run the track again")
    for key, records in by_suite(run.records).items():
        wrong = complaint(key, records)
        if wrong:
            raise AtlasError(wrong, where=source, mend="run the whole task, with the same release of Refusal Atlas")
    for record in run.records:
        _check_answers(record, run.responses.get(record.id, ()), source)


def _check_counts(run: Run, source: Path) -> None:
    doubled = [item for item, count in Counter(r.id for r in run.records).items() if count > 1]
    if doubled:
        raise AtlasError(f"item {doubled[0]} stands there twice", where=source, mend="run again into an empty folder")
    samples = max(len(record.decisions) for record in run.records)
    fewer = next((record for record in run.records if len(record.decisions) < samples), None)
    if fewer is not None:
        what = f"item {fewer.id} has {len(fewer.decisions)} answers where others have {samples}"
        raise AtlasError(what, where=source, mend="run all tasks with as many repeats")


def _check_answers(record: Record, responses: Sequence[str], source: Path) -> None:
    if not len(responses) == len(record.decisions) == len(record.provenance):
        raise AtlasError(f"item {record.id} has not one decision an answer", where=source, mend="judge the run again")
    for response, provenance in zip(responses, record.provenance, strict=True):
        if provenance.salt is None:
            raise AtlasError(f"the hash of {record.id} has no salt", where=source, mend="submit the run folder itself")
        if salted_hash(response, provenance.salt) != provenance.response_sha256:
            what = f"the answer to {record.id} is not the one that was judged"
            raise AtlasError(what, where=source, mend="judge the run again")


def run_file(
    run: Run, lines: Sequence[str], *, submitter: str, model_name: str | None = None, notes: str | None = None
) -> RunFile:
    """Return what ``run.json`` says about a run.

    Raises:
        AtlasError: where the run does not say what it must.
    """
    info = run.info
    name, revision = model_name or _model_name(info), _revision(info)
    panel_name, _, panel_hash = run.records[0].panel.partition("@")
    generation = _generation(run)
    prompting = _prompting(info)
    digest = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    date = _date(info)
    fields: dict[str, Any] = {
        "schema_version": "1",
        "run_id": content_id(date, digest, name, revision),
        "date": date,
        "submitter": submitter,
        "model": {"name": name, "revision": revision},
        "backend": str(info.get("model") or "unknown"),
        "model_args": scrub_mapping(info.get("model_args") or {}),
        "command": command(info),
        "generation": generation,
        "prompting": prompting,
        "engines": _engines(info),
        "suites": _suites(run),
        "panel": {"name": panel_name, "sha256": panel_hash},
        "records": len(lines),
        "records_sha256": digest,
        "scores": scores(run.records),
        "ranking": ranking_of(generation, prompting),
        "notes": scrub(notes) if notes else None,
    }
    try:
        return RunFile.model_validate(fields)
    except ValidationError as error:
        raise AtlasError("; ".join(problems(error)[:5]), where=run.folder) from None


def content_id(date: datetime.date, records_sha256: str, name: str, revision: str | None) -> str:
    """Return the id of a run, which follows from what it holds."""
    return run_id(date.isoformat(), records_sha256, name, revision or "")


def _model_name(info: Mapping[str, Any]) -> str:
    arguments = info.get("model_args") or {}
    if info.get("model") == REFERENCE:
        return f"{REFERENCE}/{arguments.get('policy', 'ideal')}"
    name = next((str(arguments[key]) for key in _NAME_KEYS if arguments.get(key)), "")
    if name.startswith(("/", "~", ".")) or "\\" in name:
        name = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if not name:
        raise AtlasError("the run does not say which model answered", mend="name it with --model-name ORG/MODEL")
    return scrub(name)


def _revision(info: Mapping[str, Any]) -> str | None:
    found = info.get("model_sha") or (info.get("model_args") or {}).get("revision")
    return str(found) if found else None


def _date(info: Mapping[str, Any]) -> datetime.date:
    try:
        return datetime.date.fromisoformat(str(info.get("date"))[:10])
    except ValueError:
        raise AtlasError(
            f"the run's date {info.get('date')!r} is none", mend="keep the names that lm_eval gives"
        ) from None


def _generation(run: Run) -> Generation:
    settings = dict(run.info.get("generation") or {})
    given = run.info.get("gen_kwargs") or {}
    if isinstance(given, str):
        given = {key: text for key, _, text in (part.partition("=") for part in given.split(",")) if key}
    settings.update(given)
    limits = [stated[key] for stated in (given, settings) for key in LENGTH_KEYS if stated.get(key) is not None]
    length = next(iter(limits), None)
    temperature, sampled = settings.get("temperature"), settings.get("do_sample")
    if run.info.get("model") == COMMAND:  # decides by itself on both, and on the length
        length = temperature = sampled = None
    omitted = never_sent((run.info.get("model_args") or {}).get("omit"))
    if "temperature" in omitted:
        temperature = sampled = None
    if omitted & set(LENGTH_KEYS):
        length = None
    other = {k: v for k, v in settings.items() if k not in (*LENGTH_KEYS, "temperature", "do_sample")}
    try:
        return Generation(
            temperature=None if temperature is None else float(temperature),
            do_sample=None if sampled is None else str(sampled).lower() == "true",
            max_tokens=None if length is None else int(length),
            samples=max(len(record.decisions) for record in run.records),
            other=scrub_mapping(other),
        )
    except (ValueError, TypeError) as error:
        raise AtlasError(f"cannot read the generation settings ({error})", where=run.folder) from None


def _prompting(info: Mapping[str, Any]) -> Prompting:
    template = info.get("chat_template_sha")
    system = info.get("system_instruction")
    backend = str(info.get("model"))
    if backend == COMMAND and not system:
        system = (info.get("model_args") or {}).get("system") or MINIMAL_SYSTEM
    return Prompting(
        # A chat endpoint applies the model's template itself, and lm_eval then has nothing to hash.
        chat_template=template is not None or "chat" in backend or backend in (REFERENCE, COMMAND),
        chat_template_sha256=template or None,
        system_prompt=scrub(str(system)) if system else None,
        system_prompt_sha256=(info.get("system_instruction_sha") or None) if system else None,
    )


def _engines(info: Mapping[str, Any]) -> dict[str, str]:
    found = {key.removesuffix("_version"): value for key, value in info.items() if key.endswith("_version") and value}
    return {**{key: str(value) for key, value in sorted(found.items())}, "python": platform.python_version()}


def _suites(run: Run) -> list[dict[str, Any]]:
    rows = []
    for key, members in by_suite(run.records).items():
        if is_external(key.track):
            rows.append(suite_of(key, members, run.prompts, run.sources).model_dump())
            continue
        pinned = pin(key)
        assert pinned is not None  # noqa: S101 - check_run has been here
        rows.append(
            {
                "track": key.track,
                "version": key.version,
                "language": key.language,
                "locale": key.locale or None,
                "variant": key.variant,
                "n": len(members),
                "ids": pinned.ids,
                "texts": pinned.texts,
            }
        )
    return rows


def scores(records: Sequence[Record]) -> tuple[Score, ...]:
    """Return every number of a run, by track, variant, axis, language, locale and metric."""
    from refusalatlas.awareness import on_several_axes
    from refusalatlas.scoring import score_records

    rows, several = [], on_several_axes(records)
    for variant in sorted({record.variant for record in records}):
        chosen = [record for record in records if record.variant == variant]
        for cell in score_records(chosen, by_category=False, pooled=False):
            value = None if cell.value is None else round(cell.value, 6)
            assert cell.language is not None  # noqa: S101 - pooled cells were not asked for
            rows.append(
                Score(
                    track=cell.track,
                    language=cell.language,
                    locale=cell.locale,
                    variant=variant,
                    axis=cast("Axis", cell.axis) if cell.track in several else None,
                    metric=cell.metric,
                    value=value,
                    n=cell.n,
                )
            )
    return tuple(rows)


def command(info: Mapping[str, Any]) -> str:
    """Return the command that makes such a run again, without secrets."""
    arguments = scrub_mapping(info.get("model_args") or {})
    parts = ["lm_eval", "--model", str(info.get("model") or "unknown")]
    if arguments:
        parts += ["--model_args", ",".join(f"{key}={value}" for key, value in arguments.items())]
    parts += ["--tasks", ",".join(info.get("tasks") or ())]
    given = info.get("gen_kwargs")
    if given:
        shown = given if isinstance(given, str) else ",".join(f"{k}={v}" for k, v in scrub_mapping(given).items())
        parts += ["--gen_kwargs", scrub(shown)]
    if info.get("chat_template_sha") is not None:
        parts.append("--apply_chat_template")
    if info.get("system_instruction"):
        parts += ["--system_instruction", scrub(str(info["system_instruction"]))]
    return shlex.join([*parts, "--log_samples", "--output_path", "out"])


def _pretty(run: RunFile) -> bytes:
    return (run.model_dump_json(indent=1) + "\n").encode()


def _write(folder: Path, root: Path, files: Mapping[str, bytes]) -> None:
    if folder.exists():
        raise AtlasError("is submitted already", where=folder, mend="remove the folder to submit the run again")
    temporary: Path | None = None
    try:
        root.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=root, prefix=".submit-"))
        temporary.chmod(0o755)
        for name, data in files.items():
            (temporary / name).write_bytes(data)
        folder.parent.mkdir(exist_ok=True)
        temporary.rename(folder)
    except OSError as error:
        what = f"cannot be written ({error.strerror or error})"
        raise AtlasError(what, where=root, mend="choose another folder with --output") from None
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
