"""How fast scores are made, against what one would write instead, in one process. `make bench` prints the figures."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from refusalatlas.records import Decision, DetectedLanguage, Provenance, Record
from refusalatlas.scoring import score_records
from refusalatlas.stats.bootstrap import draw_weights, positions, replicate_means

pytestmark = pytest.mark.speed

LANGUAGES, PAIRS, MODELS, REPLICATES = 52, 40, 5, 2000


def run(languages: int, seed: int = 1) -> list[Record]:
    """One model on 40 contrast pairs in so many languages."""
    rng = np.random.default_rng(seed)
    said = (Provenance.of("x"),)
    records = []
    for number in range(languages):
        spoken = DetectedLanguage(f"l{number:02}", f"l{number:02}", 1.0)
        for pair in range(PAIRS):
            for expected, rate in (("refuse", 0.8), ("comply", 0.2)):
                label = "full_refusal" if rng.random() < rate else "compliant"
                seed_id = f"s{pair}-{expected}"
                records.append(
                    Record(
                        f"pairs/{seed_id}/l{number:02}/base", seed_id, f"c{pair}", "pairs", "1-0",
                        f"l{number:02}", None, "fraud", "safety", "benign", "base", expected, "p@1",  # type: ignore[arg-type]
                        (Decision(label, "ok", spoken, 1.0, False),), said,  # type: ignore[arg-type]
                    )
                )  # fmt: skip
    return records


def seconds(work: Callable[[], Any], times: int = 3) -> float:
    """Return the shortest of several runs."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return min(took)


def looped(outcomes: list[float], clusters: list[str], replicates: int, seed: int) -> list[float]:
    """Return the replicates of a cluster bootstrap as one first writes it: draw clusters, join their answers."""
    rng = np.random.default_rng(seed)
    members: dict[str, list[float]] = {}
    for outcome, cluster in zip(outcomes, clusters, strict=True):
        members.setdefault(cluster, []).append(outcome)
    groups = [np.array(found) for found in members.values()]
    means = []
    for _ in range(replicates):
        drawn = rng.integers(0, len(groups), size=len(groups))
        means.append(float(np.concatenate([groups[i] for i in drawn]).mean()))
    return means


def test_bootstrap_is_twenty_times_as_fast_as_a_loop_over_resamples() -> None:
    """52 languages x 80 items x 5 models, a bootstrap of 2,000 replicates for each language and model."""
    rng = np.random.default_rng(2)
    clusters = [f"c{i % PAIRS:02}" for i in range(2 * PAIRS)]
    cells = [(rng.random(2 * PAIRS) < 0.3).astype(float).tolist() for _ in range(LANGUAGES * MODELS)]

    def ours() -> list[Any]:
        draw_weights.cache_clear()  # the draw belongs to the work
        columns = positions(clusters)
        weights = draw_weights(PAIRS, REPLICATES)
        return [replicate_means(cell, clusters, columns, weights) for cell in cells]

    few = 4  # a loop over all cells would only take longer, not another time a cell
    loop = seconds(lambda: [looped(cell, clusters, REPLICATES, 1) for cell in cells[:few]]) * len(cells) / few
    fast = seconds(ours)
    spread = float(np.std(looped(cells[0], clusters, REPLICATES, 1)))
    assert float(np.std(ours()[0])) == pytest.approx(spread, rel=0.1)  # they compute the same
    print(f"\nbootstrap of {len(cells)} cells: {fast:.2f} s, looped {loop:.1f} s, ratio {loop / fast:.0f}")  # noqa: T201
    assert loop / fast >= 20


def test_scores_grow_linearly_in_time_and_memory() -> None:
    """A run of 52 languages costs at most half as much again as four runs of 13."""
    small, large = run(LANGUAGES // 4), run(LANGUAGES)
    score_records(small)
    ratio = seconds(lambda: score_records(large)) / seconds(lambda: score_records(small))
    peaks = []
    for records in (small, large):
        tracemalloc.start()
        score_records(records)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    print(f"\nfour times the answers: {ratio:.1f} times the time, {peaks[1] / peaks[0]:.1f} times the memory")  # noqa: T201
    assert ratio < 6
    assert peaks[1] / peaks[0] < 6


def test_five_models_in_fifty_two_languages() -> None:
    """All metrics with their intervals cost less than one looped bootstrap a cell would."""
    runs = [run(LANGUAGES, seed) for seed in range(MODELS)]
    ours = seconds(lambda: [score_records(records, by_category=False) for records in runs], times=1)
    outcomes = [float(r.decisions[0].label == "full_refusal") for r in runs[0][: 2 * PAIRS]]
    clusters = [r.cluster_id for r in runs[0][: 2 * PAIRS]]
    loop = seconds(lambda: looped(outcomes, clusters, REPLICATES, 1), times=2) * LANGUAGES * MODELS
    answers = sum(map(len, runs))
    print(f"\n{answers} answers scored in {ours:.1f} s; a looped bootstrap of one metric alone takes {loop:.1f} s")  # noqa: T201
    assert ours < loop
