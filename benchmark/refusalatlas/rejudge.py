"""A finished run with another panel's records, without asking the model again."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from .adapter import panel_id, table_values
from .errors import AtlasError
from .exchanges import exchanges_of_run
from .files import dumps, iter_jsonl
from .records import Panel, Record
from .runs import Run, find_results, load_run, read_results


def rejudge(source: Path, target: Path, panel: Panel) -> tuple[Path, list[Record]]:
    """Write the run at `source` into the new folder `target`, with the records that `panel` gives.

    Responses and their salted hashes stay as they are. The folder appears only when it is complete.

    Returns:
        The new results file, and the new records in the order of the run.

    Raises:
        AtlasError: where the run cannot be read, or `target` is there already or cannot be written.
    """
    results_path = find_results(source)
    if target.exists():
        raise AtlasError("is there already", where=target, mend="name a new folder")
    run = load_run(results_path)
    judged = _judged(run, panel)
    records = {record.id: record for record in judged}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise AtlasError(f"cannot be written ({error.strerror})", where=target) from None
    try:
        date = run.info["date"]
        metrics: dict[str, dict[str, list[Any]]] = {}
        for task in run.info["tasks"]:
            name = f"samples_{task}_{date}.jsonl"
            metrics[task] = _write_samples(results_path.with_name(name), temporary / name, records)
        _write_results(results_path, temporary / results_path.name, metrics)
        temporary.chmod(0o755)
        temporary.replace(target)
    except OSError as error:
        raise AtlasError(f"cannot be written ({error.strerror})", where=target) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target / results_path.name, judged


def _judged(run: Run, panel: Panel) -> list[Record]:
    exchanges, owners = [], []
    for record in run.records:
        for exchange in exchanges_of_run(run, record):
            exchanges.append(exchange)
            owners.append(record.id)
    decisions: dict[str, list[Any]] = {}
    for owner, decision in zip(owners, panel.judge(exchanges), strict=True):
        decisions.setdefault(owner, []).append(decision)
    return [replace(r, panel=panel_id(panel), decisions=tuple(decisions.get(r.id, ()))) for r in run.records]


def _write_samples(source: Path, target: Path, records: dict[str, Record]) -> dict[str, list[Any]]:
    values: dict[str, list[Any]] = {}
    with target.open("w", encoding="utf-8") as out:
        for _, row in iter_jsonl(source):
            record = records[row["record"]["id"]]
            row["record"] = record.to_json()
            found = table_values(row["record"], row)
            row.update(found)
            for name, value in found.items():
                values.setdefault(name, []).append(value)
            row["filtered_resps"] = []
            out.write(dumps(row) + "\n")
    return values


def _write_results(source: Path, target: Path, metrics: dict[str, dict[str, list[Any]]]) -> None:
    from .adapter import rate, youden_j
    from .table_rows import table_row

    results = read_results(source)
    for task, values in metrics.items():
        for key in results["results"].get(task, {}):
            name = key.split(",")[0]
            row = table_row(name)
            if row is not None and name in values:
                aggregate = youden_j if row.metric == "youden_j" else rate
                results["results"][task][key] = aggregate(values[name])
    target.write_text(json.dumps(results, indent=2, ensure_ascii=False), encoding="utf-8")
