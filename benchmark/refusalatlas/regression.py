"""The regression view: refusal by model, language, category and provider at once.

A generalised estimating equation with a logit link (Liang and Zeger 1986), seeds as groups with exchangeable
correlation, so that translations and samples of a seed are not counted as independent. With fewer than forty
clusters the covariance is the bias-reduced one of Mancl and DeRouen (2001). It needs the extra ``stats``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from .errors import AtlasError
from .records import REFUSED, Record

_FEW_CLUSTERS = 40
_NOTHING_NEW = 1e-8  # share of a column that is left when those before it are taken out
_ALIASED = "cannot be told from the factors before it"
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
    design, aliased = _design(frame, factors)
    groups = frame["cluster"].to_numpy()
    few = len(set(groups)) < _FEW_CLUSTERS
    model = sm.GEE(
        frame["refused"].to_numpy(dtype=float),
        np.column_stack([np.ones(len(frame)), *(column for _, column in design)]),
        groups=groups,
        family=sm.families.Binomial(),
        cov_struct=sm.cov_struct.Exchangeable(),
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what they are about is said in the terms
        try:
            fitted = model.fit(cov_type="bias_reduced" if few else "robust")
        except (np.linalg.LinAlgError, ValueError):
            raise AtlasError("too few answers for so many factors") from None
        table = np.column_stack([np.exp(fitted.params), np.exp(fitted.conf_int()), fitted.pvalues])[1:]
    terms = [_term(term, row, fitted.converged) for (term, _), row in zip(design, table, strict=True)]
    return [*terms, *aliased, *separated]


def _term(term: Term, row: Any, converged: bool) -> Term:
    ratio, low, high, p = (float(value) for value in row)
    if not converged or not all(math.isfinite(value) for value in (ratio, low, high, p)):
        return replace(term, reason="cannot be estimated from these answers")
    return replace(term, odds_ratio=ratio, low=low, high=high, p=p)


def _design(frame: Any, factors: Sequence[str]) -> tuple[list[tuple[Term, Any]], list[Term]]:
    """Return the terms with their columns, and the terms that say what those before them have said already.

    A column that lies in the span of the ones before it (two factors that change together) has no coefficient of its
    own; a fit would share the effect out between them and look as if it knew.
    """
    import numpy as np

    basis = [np.full(len(frame), 1 / math.sqrt(len(frame)))]
    kept: list[tuple[Term, Any]] = []
    aliased: list[Term] = []
    for factor in factors:
        counts = frame[factor].value_counts()
        reference = min(counts.index, key=lambda level: (-counts[level], level))
        for level in sorted(set(frame[factor]) - {reference}):
            column = (frame[factor] == level).to_numpy(dtype=float)
            rest = column.copy()
            for known in basis:
                rest -= known * (known @ rest)
            size = float(rest @ rest)
            if size < _NOTHING_NEW * float(column @ column):
                aliased.append(Term(factor, str(level), str(reference), reason=_ALIASED))
                continue
            basis.append(rest / math.sqrt(size))
            kept.append((Term(factor, str(level), str(reference)), column))
    return kept, aliased


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
