"""Finished runs: what lm_eval wrote, read back as records, responses and facts about the run."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .errors import AtlasError, DataError
from .files import Span, iter_jsonl, problems, read_text
from .plugins import load_service
from .records import Record

_RESULTS = re.compile(r"^results_(?P<date>.+)\.json$")
_SUBMITTED = "records.jsonl.gz"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of lm_eval with our tasks.

    Attributes:
        folder: Where its files lie.
        results_path: The ``results_*.json`` file, or None where only samples are there.
        records: One record an item, in the order of tasks and docs.
        responses: The answers to each item by its id, as lm_eval wrote them.
        prompts: What was asked, by item id.
        cues: By item id, the phrases by which an answer shows that it may know the local norm; of most items none.
        info: Facts about the run; see `run_info`.
        sources: By item id, ``<repository>@<revision>`` that it was read from; of published sets only.
    """

    folder: Path
    results_path: Path | None
    records: tuple[Record, ...]
    responses: Mapping[str, tuple[str, ...]]
    prompts: Mapping[str, str]
    info: Mapping[str, Any] = field(default_factory=dict)
    cues: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of a ``samples_*.jsonl``: a record, its answers, the prompt, its line, and the source of its item."""

    record: Record
    responses: tuple[str, ...]
    prompt: str
    cues: tuple[str, ...]
    line: int
    source: str | None = None


def find_results(source: Path) -> Path:
    """Return the one results file that a path stands for: the file itself, or the only one in a folder.

    Raises:
        AtlasError: where there is none, or more than one.
    """
    try:
        if not stat.S_ISDIR(source.stat().st_mode):
            if not _RESULTS.match(source.name):
                raise AtlasError("is not a results_*.json file of lm_eval", where=source)
            return source
        next(source.iterdir(), None)  # rglob passes over a folder that it may not read
        found = sorted(p for p in source.rglob("results_*.json") if _RESULTS.match(p.name))
    except (FileNotFoundError, NotADirectoryError):
        raise AtlasError("no such run", where=source, mend="give the folder that was lm_eval's --output_path") from None
    except OSError as error:
        raise AtlasError(f"cannot be read ({error.strerror})", where=source) from None
    if not found:
        if next(source.rglob(_SUBMITTED), None):
            mend = (
                "give the run that was submitted; `score` and `compare` read a submission, the folder of its run.json"
            )
            raise AtlasError("holds submissions, which have no answers", where=source, mend=mend)
        samples = next(source.rglob("samples_*.jsonl"), None)
        what = "holds samples but no results_*.json" if samples else "holds no run of lm_eval"
        raise AtlasError(what, where=source, mend="give lm_eval --output_path FOLDER --log_samples")
    if len(found) > 1:
        names = ", ".join(str(path.relative_to(source)) for path in found[:3])
        raise AtlasError(f"holds {len(found)} runs ({names}{', …' * (len(found) > 3)})", where=source, mend="name one")
    return found[0]


def is_submission(source: Path) -> bool:
    """Whether a path is a submission, the folder of its ``run.json``, and not a run."""
    return (source / _SUBMITTED).is_file()


def load_records(source: Path) -> tuple[Record, ...]:
    """Read the records of a run, or of a submission (the folder of its ``run.json``), which has them without answers.

    Raises:
        AtlasError: as `load_run`, or where the submission is damaged.
    """
    if is_submission(source):
        submission = load_service("read_submission")(source)
        return tuple(submission.records)
    return load_run(source).records


def load_run(source: Path) -> Run:
    """Read a run: an lm_eval output folder, or one of its ``results_*.json``.

    Raises:
        AtlasError: where there is no run, more than one, no samples, or a file is cut off or wrong.
    """
    results_path = find_results(source)
    results = read_results(results_path)
    files = sample_files(results_path, results)
    records: list[Record] = []
    responses: dict[str, tuple[str, ...]] = {}
    prompts: dict[str, str] = {}
    cues: dict[str, tuple[str, ...]] = {}
    sources: dict[str, str] = {}
    for file in files:
        path = file.path
        read = list(read_samples(path))
        file.check(len(read))
        for sample in read:
            name = sample.record.id
            if name in responses:
                raise DataError(f"item {name} stands there twice", where=path)
            records.append(sample.record)
            responses[name], prompts[name] = sample.responses, sample.prompt
            if sample.cues:
                cues[name] = sample.cues
            if sample.source:
                sources[name] = sample.source
    info = run_info(results, _date(results_path), [file.task for file in files])
    return Run(results_path.parent, results_path, tuple(records), responses, prompts, info, cues, sources)


@dataclass(frozen=True, slots=True)
class SampleFile:
    """The samples of one task of a run, and how many the results file says there are (None where it does not)."""

    task: str
    path: Path
    samples: int | None

    def check(self, found: int) -> None:
        """Compare with the number that was found.

        Raises:
            DataError: where it is another.
        """
        if self.samples is not None and found != self.samples:
            few = found < self.samples
            what = f"holds {found} of {self.samples} samples: " + ("cut off?" if few else "written to by two runs?")
            raise DataError(what, where=self.path, mend="run again" if few else "run again into a folder of its own")


def sample_files(results_path: Path, results: Mapping[str, Any]) -> list[SampleFile]:
    """Return the samples files of our tasks, in the order of the run.

    Raises:
        AtlasError: where the run has no task of ours, or a task no samples.
    """
    ours = [name for name, config in results["configs"].items() if _is_ours(config)]
    if not ours:
        guards = any("ra_guard_track" in (config.get("dataset_kwargs") or {}) for config in results["configs"].values())
        mend = "score guards with `refusalatlas guards`" if guards else None
        raise AtlasError("no task of Refusal Atlas in this run", where=results_path, mend=mend)
    files = []
    for task in ours:
        path = results_path.with_name(f"samples_{task}_{_date(results_path)}.jsonl")
        if not path.is_file():
            raise DataError("no samples of this task", where=path, mend="run lm_eval with --log_samples")
        files.append(SampleFile(task, path, results.get("n-samples", {}).get(task, {}).get("effective")))
    return files


def _date(results_path: Path) -> str:
    return results_path.name.removeprefix("results_").removesuffix(".json")


class _ResultsFile(BaseModel):
    """What we rely on in a ``results_*.json``; lm_eval writes much more, and more with every release."""

    model_config = ConfigDict(extra="ignore")

    configs: dict[str, dict[str, Any]]
    results: dict[str, dict[str, Any]]
    counts: dict[str, dict[str, int | None]] = Field(default_factory=dict, alias="n-samples")
    versions: dict[str, Any] = Field(default_factory=dict)
    config: dict[str, Any] | None = None


def read_results(path: Path) -> dict[str, Any]:
    """Return what a ``results_*.json`` holds.

    Raises:
        DataError: where it is cut off or not a results file of lm_eval.
    """
    try:
        results: dict[str, Any] = json.loads(read_text(path))
        _ResultsFile.model_validate(results)
    except (ValueError, RecursionError) as error:
        reason = problems(error)[0] if isinstance(error, ValidationError) else error
        raise DataError(f"is not a results file of lm_eval ({reason})", where=path, mend="run again") from None
    return results


def _is_ours(config: Mapping[str, Any]) -> bool:
    kwargs = config.get("dataset_kwargs") or {}
    return isinstance(kwargs, Mapping) and "ra_track" in kwargs


def read_samples(path: Path, span: Span | None = None) -> Iterator[Sample]:
    """Yield a sample for each line of a ``samples_*.jsonl``, or of a span of it.

    Raises:
        DataError: naming the line that is cut off, wrong, or not of one of our tasks.
    """
    for number, row in iter_jsonl(path, span):
        try:
            record = Record.from_json(row["record"])
            texts = tuple(str(text) for text in row["resps"][0])
            if not 0 < len(texts) == len(record.decisions) == len(record.provenance):
                raise ValueError("each answer needs one decision and one provenance")
            cues = tuple(str(cue) for cue in row["doc"].get("cues") or ())
            source = row["doc"].get("source")
            yield Sample(record, texts, str(row["doc"]["prompt"]), cues, number, str(source) if source else None)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise DataError(
                f"not a sample of a Refusal Atlas task ({type(error).__name__}: {error})", where=f"{path}:{number}"
            ) from None


def run_info(results: Mapping[str, Any], date: str, tasks: list[str]) -> dict[str, Any]:
    """Return the facts of a run that its results file states.

    Keys: ``model`` (lm_eval's name of the backend), ``model_args`` (mapping), ``model_name``, ``model_sha``,
    ``date``, ``lm_eval_version``, ``transformers_version``, ``refusalatlas_version``, ``limit``, ``gen_kwargs``,
    ``generation`` (of the tasks), ``chat_template_sha``, ``system_instruction``, ``system_instruction_sha``,
    ``seeds``, ``tasks``, ``n`` (by task), ``versions`` (by task), ``seconds``. What lm_eval does not say is None.
    """
    from . import __version__

    config = results.get("config") or {}
    first = results["configs"][tasks[0]]
    return {
        "model": config.get("model"),
        "model_args": _mapping(config.get("model_args")),
        "model_name": results.get("model_name"),
        "model_sha": config.get("model_sha"),
        "date": date,
        "lm_eval_version": results.get("lm_eval_version"),
        "transformers_version": results.get("transformers_version"),
        "refusalatlas_version": __version__,
        "limit": config.get("limit"),
        "gen_kwargs": config.get("gen_kwargs") or None,
        "generation": first.get("generation_kwargs"),
        "chat_template_sha": results.get("chat_template_sha"),
        "system_instruction": results.get("system_instruction"),
        "system_instruction_sha": results.get("system_instruction_sha"),
        "seeds": {k: config.get(k) for k in ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")},
        "tasks": tasks,
        "n": {task: results.get("n-samples", {}).get(task, {}) for task in tasks},
        "versions": {task: results.get("versions", {}).get(task) for task in tasks},
        "seconds": results.get("total_evaluation_time_seconds"),
    }


def _mapping(value: Any) -> dict[str, Any]:
    """Return model arguments as a mapping; lm_eval writes them as one or as ``a=b,c=d``."""
    if isinstance(value, Mapping):
        return dict(value)
    pairs = (part.partition("=") for part in str(value or "").split(",") if part)
    return {key: text for key, _, text in pairs}


def short_names(paths: Sequence[Path]) -> list[str]:
    """Return a short name for each run: the shortest end of its path that tells it from the others.

    Of a submission the folder above, which is the model's, is a part of it.
    """
    for depth in range(2 if any(map(is_submission, paths)) else 1, 8):
        names = ["/".join(path.resolve().parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{path}#{number}" for number, path in enumerate(paths, 1)]
