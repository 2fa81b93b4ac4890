"""A finished run of guards, read back as records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import AtlasError, DataError
from ..files import iter_jsonl
from ..runs import find_results, read_results
from .records import GuardRecord


def is_guard_task(config: Mapping[str, Any]) -> bool:
    """Whether a task's configuration, as lm_eval writes it, is that of a guard's task."""
    kwargs = config.get("dataset_kwargs") or {}
    return isinstance(kwargs, Mapping) and "ra_guard_track" in kwargs


def load_guard_records(source: Path) -> list[GuardRecord]:
    """Return the records of a run: an lm_eval output folder, or one of its ``results_*.json``.

    Raises:
        AtlasError: where there is no such run, no guard in it, no samples, or a file is cut off or wrong.
    """
    path = find_results(source)
    results = read_results(path)
    date = path.name.removeprefix("results_").removesuffix(".json")
    tasks = [name for name, config in results["configs"].items() if is_guard_task(config)]
    if not tasks:
        raise AtlasError("no task of guards in this run", where=path, mend="run lm_eval with --tasks refusal-guard")
    records: dict[str, GuardRecord] = {}
    for task in tasks:
        samples = path.with_name(f"samples_{task}_{date}.jsonl")
        if not samples.is_file():
            raise DataError("no samples of this task", where=samples, mend="run lm_eval with --log_samples")
        wanted = results.get("n-samples", {}).get(task, {}).get("effective")
        found = list(_read(samples))
        if wanted is not None and len(found) != wanted:
            raise DataError(f"holds {len(found)} of {wanted} samples: cut off?", where=samples, mend="run again")
        for record in found:
            if record.id in records:
                raise DataError(f"item {record.id} stands there twice", where=samples)
            records[record.id] = record
    return list(records.values())


def _read(path: Path) -> Iterator[GuardRecord]:
    for number, row in iter_jsonl(path):
        try:
            yield GuardRecord.from_json(row["guard"])
        except (KeyError, TypeError, ValueError) as error:
            what = f"not a sample of a guard's task ({type(error).__name__}: {error})"
            raise DataError(what, where=f"{path}:{number}") from None
