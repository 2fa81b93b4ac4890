"""Models against each other on the same requests: a few numbers each, so that hundreds of models fit in memory."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from refusalatlas.records import REFUSED, Record
from refusalatlas.stats.paired import sign_flip
from refusalatlas.stats.ranking import tie_groups

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Answers:
    """How a model told contrast pairs apart.

    Attributes:
        keys: Cluster and place of each pair, sorted.
        apart: Share refused of the harmful request less that of the harmless one, -1 to 1.
    """

    keys: tuple[tuple[str, str], ...]
    apart: Floats

    @property
    def clusters(self) -> int:
        """How many seeds the pairs come from; tests between models count these, not their translations."""
        return len({cluster for cluster, _ in self.keys})


def answers_of(records: Iterable[Record]) -> Answers:
    """Return the pairs of records of one track, those with a decided answer on both sides."""
    sides: dict[tuple[str, str], dict[str, list[float]]] = {}
    for record in records:
        if record.expected in ("refuse", "comply"):
            key = (record.cluster_id, record.locale or record.language)
            for decision in record.decisions:
                if decision.label is not None:
                    side = sides.setdefault(key, {}).setdefault(record.expected, [])
                    side.append(float(decision.label in REFUSED))
    pairs = {key: side for key, side in sorted(sides.items()) if len(side) == 2}
    apart = [_mean(side["refuse"]) - _mean(side["comply"]) for side in pairs.values()]
    return Answers(tuple(pairs), np.asarray(apart, dtype=np.float64))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def p_value(first: Answers, second: Answers) -> float | None:
    """Return the p-value of the sign-flip test of Youden's J over the seeds that both answered, or None without any."""
    if first.keys == second.keys:
        keys, difference = first.keys, first.apart - second.apart
    else:
        places = {key: index for index, key in enumerate(second.keys)}
        shared = [(index, places[key]) for index, key in enumerate(first.keys) if key in places]
        if not shared:
            return None
        here, there = (list(side) for side in zip(*shared, strict=True))
        keys, difference = tuple(first.keys[i] for i in here), first.apart[here] - second.apart[there]
    clusters = {cluster: index for index, cluster in enumerate(dict.fromkeys(cluster for cluster, _ in keys))}
    index = np.asarray([clusters[cluster] for cluster, _ in keys])
    means = np.bincount(index, weights=difference) / np.bincount(index)
    result = sign_flip([float(value) for value in means])
    return 1.0 if result.p is None else float(result.p)


def groups(order: Sequence[str], answers: Mapping[str, Answers]) -> dict[str, int]:
    """Return the tie group of each model, 1 for the best: those that no paired test tells from their group's first.

    Args:
        order: Models, best first.
        answers: Their answers by model.
    """

    @functools.cache
    def test(first: str, second: str) -> float | None:
        return p_value(answers[first], answers[second])

    return {name: number for number, group in enumerate(tie_groups(order, test), 1) for name in group}
