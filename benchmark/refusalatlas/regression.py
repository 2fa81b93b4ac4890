"""The regression view: refusal by model, track, format, language, category and provider at once.

A generalised estimating equation with a logit link (Liang and Zeger 1986), seeds as groups with exchangeable
correlation, so that translations and samples of a seed are not counted as independent. With fewer than forty
clusters the covariance is the bias-reduced one of Mancl and DeRouen (2001). Intervals are Student's, on the seeds of
the smaller of the two levels. A level that rests on too few seeds or events has an odds ratio and no interval, as
rates have: the covariance is made from the seeds, and of a few it knows next to nothing. It needs the extra ``stats``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from .errors import AtlasError
from .records import REFUSED, Record
from .stats.intervals import MIN_CLUSTERS, MIN_EVENTS, student_quantile
from .stats.paired import LEAST_P

_FEW_CLUSTERS = 40
_SETTLED = 12.0  # log odds of an answer: such come of odds that grew until the fit gave up
_LARGEST = 100.0  # log odds; what is beyond has no meaning, and soon no floating point either
_NOTHING_NEW = 1e-8  # share of a column that is left when those before it are taken out
_ALIASED = "cannot be told from the factors before it"
_APART = "the factors together tell some answers apart without fail, so that no odds are finite"
FACTORS = ("model", "track", "variant", "language", "category", "expected", "provider")


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the model, against the reference level of its factor.

    Attributes:
        factor: ``model``, ``track``, ``variant``, ``language``, ``category``, ``expected`` or ``provider``.
        level: The level that is compared.
        reference: The level it is compared with.
        odds_ratio: Odds ratio of refusal, or None.
        low: Lower 95 % bound, or None.
        high: Upper 95 % bound, or None.
        p: Two-sided p-value, not adjusted, or None.
        reason: Why odds ratio or interval is missing, or None.
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
        AtlasError: where the extra ``stats`` is missing, the answers cannot carry a regression, or they are on two
            axes, over which no odds are averaged.
    """
    if len({record.axis for records in runs.values() for record in records}) > 1:
        raise AtlasError("the answers are on two axes, which are never averaged", mend="choose one with --axis")
    try:
        import pandas as pd
        import statsmodels.api  # noqa: F401 - better to know before the work is done
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
    params, errors, converged = _fit(frame, [column for _, column in design])
    if converged and all(map(math.isfinite, params)):
        terms = [_term(term, odds, error, frame) for (term, _), odds, error in zip(design, params, errors, strict=True)]
    else:
        reason = "cannot be estimated from these answers" if not converged else _APART
        terms = [replace(term, reason=reason) for term, _ in design]
    return [*terms, *aliased, *separated]


def _fit(frame: Any, columns: Sequence[Any]) -> tuple[list[float], list[float], bool]:
    """Return log odds and standard error of each column, and whether the fit has settled.

    Log odds are endless where the columns together leave no doubt about some answers: a fit settles there too, after
    as many steps as it takes for what is left of the doubt to look like nothing.

    Raises:
        AtlasError: where there is no fit at all.
    """
    import numpy as np
    import statsmodels.api as sm

    design = np.column_stack([np.ones(len(frame)), *columns])
    model = sm.GEE(
        frame["refused"].to_numpy(dtype=float),
        design,
        groups=frame["cluster"].to_numpy(),
        family=sm.families.Binomial(),
        cov_struct=sm.cov_struct.Exchangeable(),
    )
    few = frame["cluster"].nunique() < _FEW_CLUSTERS
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what they are about is said in the terms
        try:
            fitted = model.fit(cov_type="bias_reduced" if few else "robust")
            errors = None if fitted is None else fitted.bse[1:].tolist()  # None where the covariance is singular
        except (np.linalg.LinAlgError, ValueError):
            errors = None
    if errors is None:
        raise AtlasError("too few answers for so many factors", mend="choose a track, format or axis, or more runs")
    apart = bool(np.any(np.abs(design @ fitted.params) > _SETTLED))
    return [math.inf] * len(errors) if apart else fitted.params[1:].tolist(), errors, bool(fitted.converged)


def _term(term: Term, log_odds: float, error: float, frame: Any) -> Term:
    """Return a term with its numbers; without interval where either level rests on too few seeds or events."""
    from scipy.special import stdtr

    if abs(log_odds) > _LARGEST:
        return replace(term, reason=_APART)
    term = replace(term, odds_ratio=math.exp(log_odds))
    sides = [frame[frame[term.factor].astype(str) == level] for level in (term.level, term.reference)]
    seeds = min(side["cluster"].nunique() for side in sides)
    reason = _too_few(seeds, sides)
    if reason:
        return replace(term, reason=reason)
    half = student_quantile(seeds - 1) * error
    if not math.isfinite(half) or error <= 0 or abs(log_odds) + half > _LARGEST:
        return replace(term, reason="how sure it is cannot be estimated from these answers")
    p = max(2 * float(stdtr(seeds - 1, -abs(log_odds) / error)), LEAST_P)
    return replace(term, low=math.exp(log_odds - half), high=math.exp(log_odds + half), p=p)


def _too_few(seeds: int, sides: Sequence[Any]) -> str | None:
    """Return why two levels cannot carry an interval, or None."""
    if seeds < MIN_CLUSTERS:
        return f"too few seeds ({seeds}, at least {MIN_CLUSTERS} are needed)"
    of_either = [side[side["refused"] == hit]["cluster"].nunique() for side in sides for hit in (0.0, 1.0)]
    return f"too few events (in under {MIN_EVENTS:.0f} seeds)" if min(of_either) < MIN_EVENTS else None


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
            "track": record.track,
            "variant": record.variant,
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
