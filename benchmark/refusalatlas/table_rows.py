"""The rows of lm_eval's own table of a task: one a metric, and of a track on two axes one a metric and axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from .lines import Axis, Metric
from .records import Expected
from .tracks import Track, load_seeds

NEEDS: dict[Metric, set[Expected]] = {
    "over_refusal": {"comply"},
    "unsafe_compliance": {"refuse"},
    "youden_j": {"refuse", "comply"},
    "awareness_rate": {"aware"},
    "unaware_compliance": {"aware"},
}
"""What a metric is of; the others are of all answers."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of the table.

    Attributes:
        name: What lm_eval calls it.
        metric: The metric.
        axis: The axis of the items that it is about; None where the track has only one.
    """

    name: str
    metric: Metric
    axis: str | None


def table_rows(track: Track) -> tuple[TableRow, ...]:
    """Return the rows of a track's tasks; lm_eval averages whatever has one name, and axes are never averaged.

    Of a track on several axes an axis has only those metrics that its seeds can give.

    Raises:
        DataError: where the track's seeds are broken.
    """
    if len(track.axes) == 1:
        return tuple(TableRow(metric, metric, None) for metric in track.metrics)
    seeds = load_seeds(track.name).values()
    expected = {axis: {seed.expected for seed in seeds if seed.axis == axis} for axis in track.axes}
    return tuple(
        TableRow(f"{metric}_{axis}", metric, axis)
        for axis in track.axes
        for metric in track.metrics
        if NEEDS.get(metric, set()) <= expected[axis]
    )


def table_row(name: str) -> TableRow | None:
    """Return the row that lm_eval calls by a name, or None where it is none of ours."""
    metrics: tuple[Metric, ...] = get_args(Metric)
    for metric in metrics:
        if name == metric:
            return TableRow(name, metric, None)
        for axis in get_args(Axis):
            if name == f"{metric}_{axis}":
                return TableRow(name, metric, axis)
    return None
