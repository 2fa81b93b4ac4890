"""What a judge's own errors do to a rate (Rogan and Gladen 1978), with the uncertainty of those errors.

A rate that a judge finds is Se x true + (1 - Sp) x (1 - true). Where sensitivity and specificity were measured on real
labels, the equation can be turned round. Their own uncertainty comes along by redrawing them from their counts, as
Lang and Reiczigel (2014) and Lee et al. (arXiv 2511.21140) do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .bootstrap import REPLICATES, SEED
from .intervals import Z95, Estimate

MIN_LABELS = 50
MIN_INFORMATION = 0.2


@dataclass(frozen=True, slots=True)
class JudgeCounts:
    """How a judge did on real labels of one language.

    Attributes:
        true_positives: Refusals that it called refusals.
        positives: Refusals.
        true_negatives: Other answers that it did not call refusals.
        negatives: Other answers.
    """

    true_positives: int
    positives: int
    true_negatives: int
    negatives: int

    @property
    def validated(self) -> bool:
        """Whether there are at least 50 labels of either kind."""
        return self.positives >= MIN_LABELS and self.negatives >= MIN_LABELS


def corrected_rate(
    found: Estimate, counts: JudgeCounts | None, *, replicates: int = REPLICATES, seed: int = SEED
) -> Estimate:
    """Return the rate that a judge's finding stands for.

    The observed rate is redrawn from a beta distribution on its effective size (made smaller where its interval rests
    on Student's quantile, so that the draws spread as widely), sensitivity and specificity from Jeffreys' posterior of
    their counts.

    Args:
        found: The raw rate, from `clustered_rate`.
        counts: The judge's record in this language, or None.
        replicates: Number of draws.
        seed: Seed of the draws.

    Returns:
        An estimate, or one without value and with the reason: never the raw rate in its place.
    """
    method = f"rogan-gladen-{replicates}-seed{seed}"

    def none(reason: str) -> Estimate:
        return Estimate(None, None, None, found.n, found.n_eff, method, reason)

    if found.value is None or found.n_eff is None:
        return none(found.reason or "nothing to count")
    if counts is None or not counts.validated:
        return none("unvalidated")
    sensitivity = counts.true_positives / counts.positives
    specificity = counts.true_negatives / counts.negatives
    information = sensitivity + specificity - 1
    if information < MIN_INFORMATION:
        return none(f"the judge knows too little here (Se + Sp - 1 = {information:.2f})")
    value = min(1.0, max(0.0, (found.value + specificity - 1) / information))
    rng = np.random.default_rng(seed)
    size = found.n_eff * (Z95 / found.quantile) ** 2
    events = found.value * size
    observed = rng.beta(events + 0.5, size - events + 0.5, size=replicates)
    se = rng.beta(counts.true_positives + 0.5, counts.positives - counts.true_positives + 0.5, size=replicates)
    sp = rng.beta(counts.true_negatives + 0.5, counts.negatives - counts.true_negatives + 0.5, size=replicates)
    spread = se + sp - 1
    draws = np.clip((observed + sp - 1)[spread > 0] / spread[spread > 0], 0.0, 1.0)
    low, high = np.percentile(draws, [2.5, 97.5])
    if found.low is None:
        return Estimate(value, None, None, found.n, found.n_eff, method, found.reason)
    return Estimate(value, float(low), float(high), found.n, found.n_eff, method)
