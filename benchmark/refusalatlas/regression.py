"""The regression view: refusal by model, language, category and provider at once.

A generalised estimating equation with a logit link (Liang and Zeger 1986), seeds as groups with exchangeable
correlation, so that translations and samples of a seed are not counted as independent. With fewer than forty
clusters the covariance is the bias-reduced one of Mancl and DeRouen (2001). It needs the extra ``stats``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .errors import AtlasError
from .records import REFUSED, Record

_FEW_CLUSTERS = 40
FACTORS = ("model", "language", "category", "expected", "provider")


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the model, against the reference level of its factor.

    Attributes:
        factor: ``model``, ``language``, ``category``, ``expected`` or ``provider``.
        level: The level that is compared.
        reference: The level it is compared with.
        odds_ratio: Odds ratio of refusal, or None.
        low: Lower 95 % bound, or None.
        high: Upper 95 % bound, or None.
        p: Two-sided p-value, not adjusted, or None.
        reason: Why there is no odds ratio, or None.
    """

    factor: str
    level: str
    reference: str | None
    odds_ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return asdict(self)


def regress(runs: Mapping[str, Sequence[Record]]) -> list[Term]:
    """Return the terms of the model over one run or several.

    Factors with a single level are left out; the reference is the most frequent level.

    Args:
        runs: Records by name of the model.

    Raises:
        AtlasError: where the extra ``stats`` is missing, or the answers cannot carry a regression.
    """
    try:
        import numpy as np
        import pandas as pd
        import statsmodels.api as sm
    except ImportError as error:
        raise AtlasError(f"the regression needs {error.name}", mend="pip install 'refusalatlas[stats]'") from None
    rows = [row for name, records in runs.items() for row in _rows(name, records)]
    frame = pd.DataFrame(rows)
    if len(frame) == 0 or frame["refused"].nunique() < 2:
        raise AtlasError("every decided answer is alike, so that there is nothing to regress")
    frame, separated = _without_separation(frame)
    factors = [f for f in FACTORS if frame[f].nunique() > 1]
    if not factors or frame["refused"].nunique() < 2:
        raise AtlasError("no factor has two levels with both refused and answered requests")
    columns, names = [np.ones(len(frame))], []
    for factor in factors:
        counts = frame[factor].value_counts()
        reference = min(counts.index, key=lambda level: (-counts[level], level))
        for level in sorted(set(frame[factor]) - {reference}):
            columns.append((frame[factor] == level).to_numpy(dtype=float))
            names.append((factor, str(level), str(reference)))
    groups = frame["cluster"].to_numpy()
    few = len(set(groups)) < _FEW_CLUSTERS
    model = sm.GEE(
        frame["refused"].to_numpy(dtype=float),
        np.column_stack(columns),
        groups=groups,
        family=sm.families.Binomial(),
        cov_struct=sm.cov_struct.Exchangeable(),
    )
    fitted = model.fit(cov_type="bias_reduced" if few else "robust")
    bounds = fitted.conf_int()
    terms = []
    for index, (factor, level, reference) in enumerate(names, 1):
        ratio, low, high = (float(np.exp(v)) for v in (fitted.params[index], *bounds[index]))
        terms.append(Term(factor, level, reference, ratio, low, high, float(fitted.pvalues[index])))
    return terms + separated


def _without_separation(frame: Any) -> tuple[Any, list[Term]]:
    """Take out the levels in which all answers are alike: their odds ratio is 0 or endless, and none can be fitted."""
    separated: list[Term] = []
    settled = False
    while not settled:
        settled = True
        for factor in FACTORS:
            rates = frame.groupby(factor)["refused"].mean()
            for level in sorted(rates.index[(rates == 0) | (rates == 1)]):
                what = "every" if rates[level] == 1 else "no"
                separated.append(Term(factor, str(level), None, reason=f"{what} decided answer is a refusal"))
                frame = frame[frame[factor] != level]
                settled = False
    return frame, separated


def _rows(name: str, records: Sequence[Record]) -> list[dict[str, Any]]:
    return [
        {
            "model": name,
            "language": record.locale or record.language,
            "category": record.category,
            "expected": record.expected,
            "provider": provenance.provider or "unknown",
            "cluster": f"{record.track}/{record.cluster_id}",
            "refused": float(decision.label in REFUSED),
        }
        for record in records
        for decision, provenance in zip(record.decisions, record.provenance, strict=True)
        if decision.label is not None
    ]


def access_paths(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return, by provider, served model and finish reason, how many answers there were and what became of them.

    Keys: ``provider``, ``served_model``, ``finish_reason`` (``null`` where the backend does not say), ``answers``,
    ``decided``, ``refused``, ``blocked``, ``errors``; most answers first.
    """
    found: dict[tuple[str | None, str | None, str | None], dict[str, Any]] = {}
    for record in records:
        for decision, provenance in zip(record.decisions, record.provenance, strict=True):
            key = (provenance.provider, provenance.served_model, provenance.finish_reason)
            row = found.setdefault(key, dict.fromkeys(("answers", "decided", "refused", "blocked", "errors"), 0))
            row["answers"] += 1
            row["decided"] += decision.label is not None
            row["refused"] += decision.label in REFUSED
            row["blocked"] += decision.condition == "blocked"
            row["errors"] += decision.condition == "error"
    ordered = sorted(found.items(), key=lambda pair: (-pair[1]["answers"], tuple(part or "" for part in pair[0])))
    return [dict(zip(("provider", "served_model", "finish_reason"), key, strict=True)) | row for key, row in ordered]
