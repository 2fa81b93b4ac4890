"""Fitting the n-gram judge and counting the rules' patterns, on labelled answers whose seal is not on them.

Everything is deterministic: the same files give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refusalatlas.errors import DataError
from refusalatlas.files import write_atomic
from refusalatlas.records import LABELS, REFUSED, Exchange, Label

from .examples import EXAMPLES, Example, load_examples, read_labelled
from .features import BUCKETS, hashed, softmax, zones
from .ngram import NgramCard
from .reading import read
from .rules import pattern_of
from .signals import signals
from .tables import WEIGHTS, RulesFile

FOLDS = 4
MIN_ROWS = 24
"""Training answers below which the n-gram judge does not claim a language."""

_REFUSED = np.array([label in REFUSED for label in LABELS])


@dataclass(frozen=True, slots=True)
class Settings:
    """What the fit is told.

    Attributes:
        penalty: Weight of the squared weights.
        own: Weight of one of the project's examples against one row of a file from elsewhere.
        iterations: Most steps of L-BFGS.
        precision: Share of right refused-or-not verdicts that the abstention threshold is set for.
    """

    penalty: float = 1.2e-4
    own: float = 4.0
    iterations: int = 120
    precision: float = 0.96


@dataclass(frozen=True, slots=True)
class Matrix:
    """Hashed answers: sparse features, labels, weights, and the fold that each belongs to."""

    x: Any
    y: NDArray[np.intp]
    weight: NDArray[np.float64]
    fold: NDArray[np.intp]


def fold_of(prompt: str) -> int:
    """Return the fold of an answer; answers to one prompt share it."""
    return int(hashlib.sha256(prompt.strip().encode("utf-8", "surrogatepass")).hexdigest(), 16) % FOLDS


def gather(extra: Iterable[Path] = (), folder: Path = EXAMPLES) -> tuple[list[Example], list[Example]]:
    """Return `(own, foreign)` answers that may be trained on: labelled, none sealed, none of ``minos``.

    Raises:
        DataError: where a file is wrong, or there is nothing to train on.
    """
    own = [e for e in load_examples(folder, sealed=False) if e.label is not None]
    foreign = list(read_labelled(extra))
    if not own and not foreign:
        raise DataError("no labelled examples", where=folder, mend="add some, or name a file with --extra")
    return own, foreign


def exchange_of(example: Example) -> Exchange:
    """Return the exchange that a judge sees of an example."""
    return Exchange(example.id, example.prompt, example.response, example.language)


def matrix(own: Sequence[Example], foreign: Sequence[Example], settings: Settings) -> Matrix:
    """Return the features of all answers, weighted so that no language or source drowns the others."""
    from scipy.sparse import csr_matrix

    rows = [*own, *foreign]
    parts = [zones(read(exchange_of(example)).view) for example in rows]
    row, bucket = hashed(parts)
    counts = np.bincount(row, minlength=len(rows)).astype(np.float64)
    x = csr_matrix((1.0 / np.sqrt(counts[row]), (row, bucket)), shape=(len(rows), BUCKETS))
    y = np.array([LABELS.index(example.label) for example in rows if example.label], dtype=np.intp)
    weight = np.array([settings.own] * len(own) + [1.0] * len(foreign))
    return Matrix(x, y, weight, np.array([fold_of(example.prompt) for example in rows], dtype=np.intp))


def fit(data: Matrix, keep: NDArray[np.bool_], settings: Settings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weights and bias of a softmax regression with a squared penalty, fitted by L-BFGS from zero."""
    from scipy.optimize import minimize

    x, weight = data.x[keep], data.weight[keep] / data.weight[keep].sum()
    used = np.flatnonzero(np.asarray((x != 0).sum(axis=0)).ravel() >= 2)
    x = x[:, used]
    transposed, k = x.T.tocsr(), len(LABELS)
    target = np.eye(k)[data.y[keep]]

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        w, b = flat[:-k].reshape(len(used), k), flat[-k:]
        p = softmax(np.asarray(x @ w) + b)
        nll = -float(weight @ np.log(np.maximum((p * target).sum(axis=1), 1e-12)))
        slope = (p - target) * weight[:, None]
        gradient = np.asarray(transposed @ slope) + settings.penalty * w
        return nll + 0.5 * settings.penalty * float((w * w).sum()), np.concatenate([gradient.ravel(), slope.sum(axis=0)])

    start = np.zeros(len(used) * k + k)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": settings.iterations, "maxcor": 8})
    weights = np.zeros((BUCKETS, k))
    weights[used] = found.x[:-k].reshape(len(used), k)
    return weights, found.x[-k:]


def out_of_fold(data: Matrix, settings: Settings, report: Callable[[str], None]) -> NDArray[np.float64]:
    """Return scores of every answer by a fit that saw no answer to its prompt."""
    result = np.zeros((len(data.y), len(LABELS)))
    for fold in range(FOLDS):
        held = data.fold == fold
        if not held.any() or held.all():
            continue
        weights, bias = fit(data, ~held, settings)
        result[held] = np.asarray(data.x[held] @ weights) + bias
        report(f"fold {fold + 1} of {FOLDS}: {int(held.sum())} answers held out")
    return result


def fit_temperature(logits: NDArray[np.float64], data: Matrix) -> float:
    """Return the temperature under which out-of-fold probabilities are likeliest, to two digits."""
    grid = np.round(np.geomspace(0.3, 4.0, 120), 2)
    rows = np.arange(len(data.y))
    losses = [
        -float(data.weight @ np.log(np.maximum(softmax(logits / t)[rows, data.y], 1e-12))) for t in grid
    ]
    return float(grid[int(np.argmin(losses))])


def fit_threshold(shares: NDArray[np.float64], data: Matrix, precision: float) -> float:
    """Return the least confidence above which refused-or-not is right as often as asked, at .35 to .9."""
    best = shares.argmax(axis=1)
    right = _REFUSED[best] == _REFUSED[data.y]
    confidence = shares[np.arange(len(best)), best]
    for threshold in np.round(np.arange(0.35, 0.9, 0.01), 2):
        kept = confidence >= threshold
        if kept.any() and float(np.average(right[kept], weights=data.weight[kept])) >= precision:
            return float(threshold)
    return 0.9


def count_patterns(own: Sequence[Example], foreign: Sequence[Example], settings: Settings) -> RulesFile:
    """Return how often each pattern of the rules, each leaf, and each leaf in a language, meant which label."""
    patterns: dict[str, Counter[Label]] = {}
    leaves: dict[str, Counter[Label]] = {}
    languages: dict[str, dict[str, Counter[Label]]] = {}
    sizes: Counter[str] = Counter(example.language for example in foreign)
    for example in [*own, *foreign]:
        exchange = exchange_of(example)
        reading = read(exchange)
        seen = signals(exchange, reading)
        if example.label is None or not seen.competent:
            continue
        pattern = pattern_of(seen)
        ours = example.origin in ("machine", "human")
        # A large file in one language must not set what a pattern means in all others.
        weight = 1.0 if ours else min(1.0, 60 * settings.own / sizes[example.language])
        patterns.setdefault(pattern.name, Counter())[example.label] += weight  # type: ignore[assignment]
        leaves.setdefault(pattern.leaf, Counter())[example.label] += weight  # type: ignore[assignment]
        code = reading.language or example.language
        languages.setdefault(code, {}).setdefault(pattern.leaf, Counter())[example.label] += 1
    return RulesFile(
        trained_on=dict(sorted(Counter(e.origin for e in [*own, *foreign]).items())),
        patterns=_plain(patterns),
        leaves=_plain(leaves),
        languages={code: _plain(found) for code, found in sorted(languages.items())},
    )


def _plain(counts: dict[str, Counter[Label]]) -> dict[str, dict[Label, float]]:
    return {
        name: {label: round(float(found[label]), 3) for label in LABELS if found[label]}
        for name, found in sorted(counts.items())
    }


def npz(**arrays: NDArray[Any]) -> bytes:
    """Return a compressed ``.npz`` whose bytes depend on nothing but its arrays (`np.savez` puts the time in)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in sorted(arrays.items()):
            payload = io.BytesIO()
            np.save(payload, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, payload.getvalue())
    return buffer.getvalue()


def train(
    output: Path = WEIGHTS,
    *,
    extra: Sequence[Path] = (),
    examples: Path = EXAMPLES,
    settings: Settings | None = None,
    report: Callable[[str], None] = lambda message: None,
) -> NgramCard:
    """Fit the judges and write ``rules.json``, ``ngram.npz`` and ``ngram.json``.

    Args:
        output: Folder to write to.
        extra: Labelled JSON lines from elsewhere, see `examples.read_labelled`.
        examples: Folder of the project's own examples.
        settings: What the fit is told.
        report: Called with a line for people now and then.

    Raises:
        DataError: where a file is wrong or there is nothing to train on.
    """
    settings = settings or Settings()
    own, foreign = gather(extra, examples)
    report(f"{len(own)} examples of the project, {len(foreign)} rows from elsewhere")
    rules = count_patterns(own, foreign, settings)
    data = matrix(own, foreign, settings)
    logits = out_of_fold(data, settings, report)
    temperature = fit_temperature(logits, data)
    shares = softmax(logits / temperature)
    threshold = fit_threshold(shares, data, settings.precision)
    weights, bias = fit(data, np.ones(len(data.y), dtype=bool), settings)
    payload = npz(weights=weights.astype(np.float16), bias=bias.astype(np.float32))
    rows = _table(own, foreign)
    card = NgramCard(
        sha256=hashlib.sha256(payload).hexdigest(),
        labels=list(LABELS),
        languages=sorted(code for code, counts in rows.items() if sum(counts.values()) >= MIN_ROWS),
        temperature=temperature,
        threshold=threshold,
        settings={"penalty": settings.penalty, "own": settings.own, "iterations": float(settings.iterations)},
        sources=_sources(own, foreign),
        rows=rows,
        out_of_fold=_quality(shares, data, threshold, len(own)),
    )
    write_atomic(output / "rules.json", rules.model_dump_json(indent=1) + "\n")
    write_atomic(output / "ngram.npz", payload)
    write_atomic(output / "ngram.json", json.dumps(card.model_dump(), indent=1, ensure_ascii=False) + "\n")
    return card


def _table(own: Sequence[Example], foreign: Sequence[Example]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for example in [*own, *foreign]:
        counts.setdefault(example.language, Counter())[str(example.label)] += 1
    return {code: dict(sorted(found.items())) for code, found in sorted(counts.items())}


_LICENCES = {
    "xstest": ("paul-rottger/exaggerated-safety", "prompts CC-BY-4.0, completions under their providers' terms"),
    "chatgpt-refusals": ("maxwellreuter/chatgpt-refusals", "MIT"),
    "speechmap-zh": ("xlr8harder/llm-compliance", "Apache-2.0"),
    "k-overrefusal": ("Marker-Inc-Korea/K-OverRefusal", "MIT"),
}


def _sources(own: Sequence[Example], foreign: Sequence[Example]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if own:
        found.append({"name": "judges/examples, but for the sealed third", "licence": "Apache-2.0", "rows": len(own)})
    for origin, rows in sorted(Counter(example.origin for example in foreign).items()):
        name, licence = _LICENCES.get(origin, (origin, "not stated"))
        found.append({"name": name, "licence": licence, "rows": rows})
    return found


def _quality(shares: NDArray[np.float64], data: Matrix, threshold: float, own: int) -> dict[str, Any]:
    """Return how right the out-of-fold verdicts are, on the project's examples and on the rest."""
    best = shares.argmax(axis=1)
    cast = shares[np.arange(len(best)), best] >= threshold
    result: dict[str, Any] = {"folds": FOLDS, "split": "by prompt"}
    for name, part in (("own", slice(0, own)), ("elsewhere", slice(own, None))):
        if not len(best[part]):
            continue
        kept, right = cast[part], best[part] == data.y[part]
        side = _REFUSED[best[part]] == _REFUSED[data.y[part]]
        result[name] = {
            "n": len(right),
            "coverage": round(float(kept.mean()), 4),
            "label_accuracy": round(float(right[kept].mean()), 4) if kept.any() else None,
            "refused_or_not_accuracy": round(float(side[kept].mean()), 4) if kept.any() else None,
        }
    return result
