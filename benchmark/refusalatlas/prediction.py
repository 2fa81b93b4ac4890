"""What in a prompt goes with refusal: a cross-validated linear model of its n-grams.

After "I'm Afraid I Can't Do That: Predicting Prompt Refusal in Black-Box Generative Language Models" (2023). The
model never sees the answers, only the prompts and whether each was refused. Folds keep the seeds of a cluster
together; the permutation baseline shows what the same procedure finds where there is nothing to find.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .languages import load_languages
from .records import REFUSED, Record
from .stats.bootstrap import SEED

MIN_SIDE = 10  # refused and not refused seeds that a language needs, so that its folds hold some of either
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Feature:
    """One n-gram, with the weight of its presence (log odds of refusal) and the number of prompts that have it."""

    text: str
    weight: float
    prompts: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """How well prompts predict refusal in one language.

    Attributes:
        language: Language of the prompts.
        axis: Axis of the items.
        tracks: Tracks of the prompts, taken together.
        variants: Format variants of the prompts, likewise.
        n: Number of decided answers.
        refused: How many of them are refusals.
        auc: Area under the ROC curve of out-of-fold scores, 0 to 1, or None.
        baseline: 95th percentile of the AUC with refusals shuffled among prompts, or None.
        p: Share of shuffles that did as well (permutation p-value), or None.
        features: N-grams that go most with refusal, then those that go least, of the model on all prompts.
        categories: ``(category, refused, decided)``, most refused first.
        reason: Why nothing was fitted, or None.
    """

    language: str
    axis: str
    tracks: tuple[str, ...]
    variants: tuple[str, ...]
    n: int
    refused: int
    auc: float | None
    baseline: float | None
    p: float | None
    features: tuple[Feature, ...]
    categories: tuple[tuple[str, int, int], ...]
    reason: str | None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Sample:
    prompts: list[str]
    refused: np.ndarray
    clusters: list[str]
    seeds: list[str]


def predict_refusals(
    records: Sequence[Record], prompts: Mapping[str, str], *, top: int = 8, permutations: int = 200
) -> list[Prediction]:
    """Return a prediction for each language of a run, sorted by code, and for each axis (safety first).

    Args:
        records: Records of one run, or of several together.
        prompts: What was asked, by item id.
        top: How many n-grams to name on either side.
        permutations: Number of shuffles behind baseline and p-value.
    """
    found = []
    for language, _, axis in sorted({(r.language, r.axis != "safety", r.axis) for r in records}):
        here = [r for r in records if (r.language, r.axis) == (language, axis)]
        found.append(_of_language(language, axis, here, prompts, top, permutations))
    return found


def _of_language(
    language: str, axis: str, records: Sequence[Record], prompts: Mapping[str, str], top: int, permutations: int
) -> Prediction:
    # In one order whatever that of the files is: answers to a seed are shuffled as one, place by place.
    ordered = sorted(records, key=lambda r: (r.track, r.seed_id, r.variant, r.id))
    rows = [(r, d.label in REFUSED) for r in ordered for d in r.decisions if d.label is not None]
    refused = np.array([hit for _, hit in rows], dtype=float)
    clusters, seeds = ([f"{r.track}/{name(r)}" for r, _ in rows] for name in (_cluster, _seed))
    sample = _Sample([prompts[r.id] for r, _ in rows], refused, clusters, seeds)
    categories = _categories(rows)
    tracks, variants = (tuple(sorted({name(r) for r, _ in rows})) for name in (_track, _variant))
    place = (language, axis, tracks, variants, len(rows), int(refused.sum()))
    reason = _too_few(sample)
    if reason:
        return Prediction(*place, None, None, None, (), categories, reason)
    matrix, names = _matrix(sample.prompts, language)
    if not names:
        reason = "no n-gram stands in two prompts"
        return Prediction(*place, None, None, None, (), categories, reason)
    auc = _cross_validated_auc(matrix, sample.refused, sample.clusters)
    draws = _shuffled_aucs(matrix, sample, permutations)
    p = (1 + int((draws >= auc).sum())) / (1 + len(draws))
    features = _features(matrix, names, sample.refused, top)
    baseline = float(np.percentile(draws, 95))
    return Prediction(*place, auc, baseline, p, features, categories, None)


def _too_few(sample: _Sample) -> str | None:
    """Return why there is nothing to fit, or None: either kind needs seeds, and clusters in every fold."""

    def fewest(names: Sequence[str]) -> int:
        return min(len({n for n, hit in zip(names, sample.refused, strict=True) if hit == kind}) for kind in (0, 1))

    seeds, clusters = fewest(sample.seeds), fewest(sample.clusters)
    if seeds < MIN_SIDE:
        return f"too few seeds of either kind ({seeds}, at least {MIN_SIDE} are needed)"
    if clusters < FOLDS:
        return f"too few clusters of either kind ({clusters}, at least {FOLDS} are needed)"
    every = len(set(sample.clusters))
    return f"too few clusters ({every}, at least {MIN_SIDE} are needed)" if every < MIN_SIDE else None


_cluster, _seed, _track, _variant = (
    operator.attrgetter(name) for name in ("cluster_id", "seed_id", "track", "variant")
)


def _categories(rows: Sequence[tuple[Record, bool]]) -> tuple[tuple[str, int, int], ...]:
    decided = Counter(r.category for r, _ in rows)
    refused = Counter(r.category for r, hit in rows if hit)
    ordered = sorted(decided, key=lambda c: (-refused[c] / decided[c], c))
    return tuple((category, refused[category], decided[category]) for category in ordered)


def _matrix(prompts: Sequence[str], language: str) -> tuple[Any, list[str]]:
    """Return presence of n-grams: words and pairs of words, or two to four characters where words are not spaced."""
    from sklearn.feature_extraction.text import CountVectorizer

    known = load_languages().get(language)
    spaced = known.spaced if known else True
    options = {"ngram_range": (1, 2), "token_pattern": r"(?u)[\w\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff'’]+"}
    if not spaced:
        options = {"ngram_range": (2, 4), "analyzer": "char"}
    vectorizer = CountVectorizer(binary=True, min_df=2, lowercase=True, **options)
    try:
        matrix = vectorizer.fit_transform(prompts)
    except ValueError:  # its way of saying that no n-gram is left
        return None, []
    return matrix, list(vectorizer.get_feature_names_out())


def _model() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=0.5, solver="liblinear", random_state=0, class_weight="balanced")


def _cross_validated_auc(matrix: Any, refused: np.ndarray, clusters: Sequence[str]) -> float:
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedGroupKFold

    folds = StratifiedGroupKFold(n_splits=FOLDS, shuffle=True, random_state=SEED % 2**32)
    scores = np.full(len(refused), np.nan)
    for train, test in folds.split(matrix, refused, clusters):
        if 0 < refused[train].sum() < len(train):
            scores[test] = _model().fit(matrix[train], refused[train]).decision_function(matrix[test])
    seen = np.isfinite(scores)
    return float(roc_auc_score(refused[seen], scores[seen])) if len(set(refused[seen])) == 2 else 0.5


def _shuffled_aucs(matrix: Any, sample: _Sample, permutations: int) -> np.ndarray:
    """Return the AUC of the same procedure with refusals shuffled among the seeds.

    Several answers to one seed (of several runs, formats, places or samples) move together: they resemble each other
    whatever the words are, and shuffled one by one they would make nearly everything look significant.
    """
    rng = np.random.default_rng(SEED)
    rows: dict[str, list[int]] = {}
    for index, seed in enumerate(sample.seeds):
        rows.setdefault(seed, []).append(index)
    blocks: dict[int, list[list[int]]] = {}
    for found in rows.values():
        blocks.setdefault(len(found), []).append(found)
    draws = np.empty(permutations)
    for number in range(permutations):
        shuffled = sample.refused.copy()
        for same_size in blocks.values():
            here = np.array(same_size)
            shuffled[here] = sample.refused[here[rng.permutation(len(here))]]
        draws[number] = _cross_validated_auc(matrix, shuffled, sample.clusters)
    return draws


def _features(matrix: Any, names: Sequence[str], refused: np.ndarray, top: int) -> tuple[Feature, ...]:
    weights = _model().fit(matrix, refused).coef_[0]
    counts = np.asarray(matrix.sum(axis=0)).ravel()
    order = np.argsort(-weights, kind="stable")
    chosen = [i for i in order[:top] if weights[i] > 0] + [i for i in order[::-1][:top][::-1] if weights[i] < 0]
    return tuple(Feature(names[i], round(float(weights[i]), 4), int(counts[i])) for i in chosen)
