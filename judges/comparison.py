"""What `judges agree` compares: two panels on the same answers, or a panel with the decisions that a run holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refusalatlas.errors import DataError
from refusalatlas.exchanges import exchanges_of_run, read_exchanges
from refusalatlas.records import Exchange, Label

from .metrics import concordance
from .panel import load_panel


def compare_panels(source: Path, panels: Sequence[str]) -> dict[str, Any]:
    """Return `metrics.concordance` of two panels, or of one panel with the decisions that `source` holds.

    Args:
        source: With two panels anything that `refusalatlas judge` reads; with one, an lm_eval output folder.
        panels: One or two names.

    Raises:
        AtlasError: where the source holds no answers.
        UnknownNameError: where there is no such panel.
    """
    if len(panels) == 2:
        exchanges = list(read_exchanges(str(source)))
        first = _labels(panels[0], exchanges)
    else:
        exchanges, first = _decided(source)
    names = {"first": panels[0] if len(panels) == 2 else source.name, "second": panels[-1]}
    return {**names, **concordance(list(zip(first, _labels(panels[-1], exchanges), strict=True)))}


def _labels(panel: str, exchanges: Sequence[Exchange]) -> list[Label | None]:
    return [decision.label for decision in load_panel(panel).judge(exchanges)]


def _decided(source: Path) -> tuple[list[Exchange], list[Label | None]]:
    from refusalatlas.runs import find_results, load_run

    if source.is_file() and not source.name.startswith("results_"):
        raise DataError("holds no decisions to compare with", where=source, mend="name two panels")
    run = load_run(find_results(source))
    exchanges: list[Exchange] = []
    labels: list[Label | None] = []
    for record in run.records:
        exchanges += exchanges_of_run(run, record)
        labels += [decision.label for decision in record.decisions]
    return exchanges, labels
