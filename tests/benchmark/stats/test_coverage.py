"""How often what says 95 % holds the truth, and how often a test finds what is not there: 2,000 seeded trials a case.

`make test-slow` runs it; `-s` prints the figures that docs/method.md quotes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from refusalatlas.stats.bootstrap import youden
from refusalatlas.stats.intervals import MIN_EVENTS, Estimate, Floats, clustered_rate
from refusalatlas.stats.judge_error import JudgeCounts, corrected_rate
from refusalatlas.stats.multiplicity import holm
from refusalatlas.stats.paired import clustered_difference, mcnemar, paired_rate_difference, sign_flip
from refusalatlas.stats.ranking import tie_groups
from refusalatlas.stats.tetrachoric import refusal_index, spearman_of

pytestmark = pytest.mark.slow

TRIALS = 2000
LEAST = 0.93
RATES = (0.01, 0.05, 0.1, 0.2, 0.5)
CORRELATIONS = (0.0, 0.1, 0.3, 0.6)  # of two translations of one seed
BOUND = 3.0902  # 99.9 % one-sided normal quantile


def some_seeds_always(rng: np.random.Generator, rate: float, correlation: float, seeds: int) -> Floats:
    """Return each seed's own rate: a few seeds that nearly always trigger and many that hardly do."""
    high = min(1.0, correlation + 0.2)
    share = min(0.5, rate * 0.5 / high)
    low = max(0.0, (rate - share * high) / (1 - share))
    return np.where(rng.random(seeds) < share, high, low)


def spread_seeds(rng: np.random.Generator, rate: float, correlation: float, seeds: int) -> Floats:
    """Return each seed's own rate from the beta distribution with this mean and intraclass correlation."""
    if correlation == 0:
        return np.full(seeds, rate)
    scale = (1 - correlation) / correlation
    return rng.beta(rate * scale, (1 - rate) * scale, size=seeds)


SEED_EFFECTS = (spread_seeds, some_seeds_always)


def answers(rng: np.random.Generator, own: Floats, translations: int) -> Floats:
    """Return 0 or 1 for each answer, seed by seed."""
    return (rng.random((len(own), translations)) < own[:, None]).astype(float).ravel()


class Tally:
    """Counts how many of the intervals that were given hold the truth."""

    def __init__(self, truth: float) -> None:
        self.truth, self.given, self.held, self.width = truth, 0, 0, 0.0

    def add(self, found: Estimate) -> None:
        assert found.value is None or np.isfinite(found.value)
        if found.low is None or found.high is None:
            assert found.reason
            return
        self.given += 1
        self.held += found.low - 1e-12 <= self.truth <= found.high + 1e-12
        self.width += found.high - found.low

    @property
    def coverage(self) -> float:
        return self.held / self.given if self.given else 1.0


def effective_events(rate: float, correlation: float, seeds: int, translations: int) -> float:
    """Return the expected number of effective events: what is left of them after the design effect."""
    return rate * seeds * translations / (1 + (translations - 1) * correlation)


def rate_cases(seeds: int) -> Iterator[tuple[int, float, float, Callable[..., Floats]]]:
    for translations, rate, correlation in itertools.product((1, 2, 12, 52), RATES, CORRELATIONS):
        if translations == 1 and correlation > 0:
            continue  # one answer a seed shows no correlation
        for effect in SEED_EFFECTS[: 2 if correlation else 1]:
            if effective_events(rate, correlation, seeds, translations) >= MIN_EVENTS - 1e-9:
                yield translations, rate, correlation, effect


@pytest.mark.parametrize("seeds", [20, 40, 100, 500])
def test_intervals_of_rates_cover(seeds: int) -> None:
    found = {}
    for translations, rate, correlation, effect in rate_cases(seeds):
        rng = np.random.default_rng([seeds, translations, int(rate * 100), int(correlation * 10)])
        tally, clusters = Tally(rate), np.repeat(np.arange(seeds), translations)
        for _ in range(TRIALS):
            own = effect(rng, rate, correlation, seeds)
            tally.add(clustered_rate(answers(rng, own, translations), clusters))  # type: ignore[arg-type]
        found[translations, rate, correlation, effect.__name__] = (tally.coverage, tally.given / TRIALS)
    report(f"rates, {seeds} seeds", found)
    check(found)


def check(found: dict[tuple[object, ...], tuple[float, float]]) -> None:
    """Ask for coverage where an interval is mostly given; where it is mostly withheld, that it seldom misleads."""
    for case, (coverage, given) in found.items():
        assert given < 0.5 or coverage >= LEAST, case
        assert (1 - coverage) * given <= 1 - LEAST, case


def report(title: str, found: dict[tuple[object, ...], tuple[float, float]]) -> None:
    worst = sorted(found.items(), key=lambda pair: pair[1][0])[:5]
    mean = np.mean([coverage for coverage, _ in found.values()])
    print(f"\n{title}: {len(found)} cases, mean coverage {mean:.3f}")  # noqa: T201
    for case, (coverage, given) in worst:
        print(f"  {coverage:.4f} (interval given in {given:.3f} of trials) {case}")  # noqa: T201


def pairs_of(
    rng: np.random.Generator, effect: Callable[..., Floats], rates: tuple[float, float], seeds: int, translations: int
) -> tuple[list[float], list[float]]:
    own = [effect(rng, rate, 0.3, seeds) for rate in (1 - rates[0], rates[1])]
    return (1 - answers(rng, own[0], translations)).tolist(), answers(rng, own[1], translations).tolist()


RATE_PAIRS = ((0.9, 0.1), (0.8, 0.2), (0.6, 0.3), (0.5, 0.5))


@pytest.mark.parametrize(("seeds", "translations"), [(20, 1), (40, 1), (100, 1), (20, 12), (40, 12), (100, 12)])
def test_intervals_of_youden_cover(seeds: int, translations: int) -> None:
    clusters = np.repeat([f"c{i:03}" for i in range(seeds)], translations).tolist()
    found = {}
    for rates, effect in itertools.product(RATE_PAIRS, SEED_EFFECTS):
        rarest = min(1 - rates[0], rates[1])
        if effective_events(rarest, 0.3, seeds, translations) < MIN_EVENTS - 1e-9:
            continue
        rng = np.random.default_rng([seeds, translations, int(rates[0] * 100)])
        tally = Tally(rates[0] - rates[1])
        for _ in range(TRIALS):
            harmful, benign = pairs_of(rng, effect, rates, seeds, translations)
            tally.add(youden(harmful, clusters, benign, clusters, replicates=1000))
        found[rates, effect.__name__] = (tally.coverage, tally.given / TRIALS)
    report(f"Youden's J, {seeds} pairs x {translations}", found)
    check(found)


@pytest.mark.parametrize(("seeds", "translations"), [(20, 1), (40, 1), (100, 1), (20, 12), (40, 12), (100, 12)])
def test_intervals_of_paired_differences_cover(seeds: int, translations: int) -> None:
    """The second model triggers on the same seeds, seven tenths as often."""
    clusters = np.repeat([f"c{i:03}" for i in range(seeds)], translations).tolist()
    found = {}
    for rate, effect in itertools.product((0.1, 0.2, 0.5), SEED_EFFECTS):
        rng = np.random.default_rng([seeds, translations, int(rate * 100), 7])
        tally = Tally(rate * 0.3)
        for _ in range(TRIALS):
            own = effect(rng, rate, 0.3, seeds)
            first, second = (answers(rng, p, translations).tolist() for p in (own, own * 0.7))
            if translations == 1:
                tally.add(paired_rate_difference(first, second))
            else:
                tally.add(clustered_difference(first, clusters, second, clusters, replicates=1000))
        found[rate, effect.__name__] = (tally.coverage, tally.given / TRIALS)
    report(f"differences, {seeds} seeds x {translations}", found)
    check(found)


@pytest.mark.parametrize("translations", [1, 12])
def test_intervals_of_corrected_rates_cover(translations: int) -> None:
    """A judge of sensitivity .85 and specificity .92, measured anew on 80 labels of either kind in every trial."""
    found = {}
    for seeds, rate in itertools.product((40, 100), (0.1, 0.2, 0.5)):
        rng = np.random.default_rng([seeds, translations, int(rate * 100), 11])
        tally, clusters = Tally(rate), np.repeat(np.arange(seeds), translations)
        for _ in range(TRIALS):
            true = answers(rng, spread_seeds(rng, rate, 0.3, seeds), translations) > 0
            seen = np.where(true, rng.random(len(true)) < 0.85, rng.random(len(true)) < 0.08).astype(float)
            counts = JudgeCounts(int(rng.binomial(80, 0.85)), 80, int(rng.binomial(80, 0.92)), 80)
            raw = clustered_rate(seen, clusters)  # type: ignore[arg-type]
            tally.add(corrected_rate(raw, counts, replicates=1000))
        found[seeds, rate] = (tally.coverage, tally.given / TRIALS)
    report(f"corrected rates, {translations} translations", found)
    check(found)


@pytest.mark.parametrize("rho", [-0.3, 0.0, 0.5, 0.9])
def test_intervals_of_the_refusal_index_cover(rho: float) -> None:
    """Two latent scores with correlation rho; a third is refused and 40 % are wrong when forced."""
    rng = np.random.default_rng([2, int(100 * (rho + 1))])
    tally, clusters = Tally(float(spearman_of(np.array(rho)))), [f"q{i}" for i in range(120)]
    for _ in range(TRIALS):
        first = rng.standard_normal(120)
        second = rho * first + np.sqrt(1 - rho**2) * rng.standard_normal(120)
        refused, wrong = (first > 0.43073).astype(float), (second > 0.25335).astype(float)
        tally.add(refusal_index(refused.tolist(), wrong.tolist(), clusters))
    found = {(rho,): (tally.coverage, tally.given / TRIALS)}
    report("Refusal Index, 120 questions", found)
    check(found)


def lower_bound(found: int) -> float:
    """Return the 99.9 % lower bound (Wilson) of a share of the trials."""
    share, z = found / TRIALS, BOUND
    half = z * np.sqrt(share * (1 - share) / TRIALS + z * z / (4 * TRIALS * TRIALS))
    return float((share + z * z / (2 * TRIALS) - half) / (1 + z * z / TRIALS))


def models_alike(rng: np.random.Generator, effect: Callable[..., Floats], rate: float, models: int) -> Floats:
    """Return the answers of models that differ by chance alone: model x language x seed, 12 languages, 40 seeds."""
    own = effect(rng, rate, 0.3, 40)
    return (rng.random((models, 12, 40)) < own).astype(float)


@pytest.mark.parametrize("effect", SEED_EFFECTS)
@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
def test_comparisons_of_equals_rarely_find_a_difference(rate: float, effect: Callable[..., Floats]) -> None:
    rng = np.random.default_rng([3, int(rate * 100)])
    by_language = over_all = 0
    for _ in range(TRIALS):
        first, second = models_alike(rng, effect, rate, 2)
        change = first - second
        tests = [mcnemar(int((row > 0).sum()), int((row < 0).sum())).p for row in change]
        by_language += any(p is not None and p < 0.05 for p in holm(tests))
        whole = sign_flip(change.mean(axis=0).tolist(), replicates=1999).p
        over_all += whole is not None and whole < 0.05
    print(f"\nfalse positives at {rate}: by language {by_language / TRIALS:.4f}, over all {over_all / TRIALS:.4f}")  # noqa: T201
    assert max(lower_bound(by_language), lower_bound(over_all)) <= 0.05


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
def test_models_that_are_alike_are_one_tie_group(rate: float) -> None:
    """Models are put in the order of the very data that they are tested on, as the site does it."""
    rng = np.random.default_rng([4, int(rate * 100)])
    split = 0
    for _ in range(TRIALS):
        means = models_alike(rng, spread_seeds, rate, 6).mean(axis=1)
        order = sorted(map(str, range(6)), key=lambda name: float(means[int(name)].mean()))

        def p_value(first: str, second: str, means: Floats = means) -> float | None:
            return sign_flip((means[int(first)] - means[int(second)]).tolist(), replicates=1999).p

        split += len(tie_groups(order, p_value)) > 1
    print(f"\ntie groups of six equals at {rate}: more than one in {split / TRIALS:.4f}")  # noqa: T201
    assert lower_bound(split) <= 0.05
