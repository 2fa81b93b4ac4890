"""Fitting the n-gram judge and counting the rules' patterns, on labelled answers whose seal is not on them.

Everything is deterministic: the same files give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refusalatlas.errors import DataError
from refusalatlas.files import read_yaml, write_atomic
from refusalatlas.languages import load_languages
from refusalatlas.records import LABELS, Exchange, Label

from .examples import EXAMPLES, Example, load_examples, read_labelled
from .features import BUCKETS, hashed, softmax, zones
from .fitting import FOLDS, Matrix, Settings, fit, fit_temperature, fit_threshold, out_of_fold
from .ngram import REFUSED_MASK, NgramCard
from .reading import read
from .rules import pattern_of
from .signals import signals
from .tables import WEIGHTS, RulesFile

MIN_ROWS, RICH_ROWS = 12, 300
"""Training answers from which the n-gram judge claims a language, and from which it knows it well."""

OURS = ("machine", "human", "")
"""Origins of the project's own examples."""

KIND_WEIGHTS: Mapping[str, float] = {
    "late_refusal": 0.1, "polite_indirect": 0.5, "colloquial": 0.5, "other_language": 0.5, "after_empathy": 0.6,
    "lecture": 0.5, "other_task": 0.5, "balanced": 0.5, "partial": 0.5,
    "direct": 2.0, "very_short": 2.0, "plain": 2.5, "text_only": 2.5,
}  # fmt: skip
"""Hard kinds are many times more frequent among the examples than among answers of models; this evens it out."""

_STRINGS: Mapping[str, Label] = {
    "refusal": "full_refusal",
    "partial_refusal": "partial_refusal",
    "compliance": "compliant",
    "capability_limitation": "capability_limitation",
    "clarification": "clarification",
    "evasion": "evasion",
}
_LICENCES = {
    "xstest": ("paul-rottger/exaggerated-safety", "prompts CC-BY-4.0, completions under their providers' terms"),
    "chatgpt-refusals": ("maxwellreuter/chatgpt-refusals", "MIT"),
    "speechmap-zh": ("xlr8harder/llm-compliance", "Apache-2.0"),
    "k-overrefusal": ("Marker-Inc-Korea/K-OverRefusal", "MIT"),
}


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is trained on.

    Attributes:
        own: The project's examples, but for the sealed third.
        strings: What the reference model says, from each language's ``strings.yaml``.
        foreign: Rows of labelled files from elsewhere.
    """

    own: tuple[Example, ...]
    strings: tuple[Example, ...]
    foreign: tuple[Example, ...]

    @property
    def rows(self) -> tuple[Example, ...]:
        """All of them, in that order."""
        return self.own + self.strings + self.foreign

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many answers of each label there are, by language."""
        found: dict[str, Counter[str]] = {}
        for example in self.rows:
            found.setdefault(example.language, Counter())[str(example.label)] += 1
        return {code: dict(sorted(labels.items())) for code, labels in sorted(found.items())}


@dataclass(frozen=True, slots=True)
class Fitted:
    """What training found.

    Attributes:
        logits: Out-of-fold scores of `corpus.rows`, one row each.
        rich: For each row, whether its language is one that the judge knows well.
    """

    corpus: Corpus
    data: Matrix
    rules: RulesFile
    weights: NDArray[np.float64]
    bias: NDArray[np.float64]
    logits: NDArray[np.float64]
    rich: NDArray[np.bool_]
    temperatures: dict[str, float]
    thresholds: dict[str, float]

    def shares(self) -> NDArray[np.float64]:
        """Return calibrated out-of-fold probabilities of `corpus.rows`."""
        heat = np.where(self.rich, self.temperatures["rich"], self.temperatures["other"])
        return softmax(self.logits / heat[:, None])


def fold_number(prompt: str, folds: int = FOLDS) -> int:
    """Return the fold of an answer; answers to one prompt share it."""
    return int(hashlib.sha256(b"fold:" + prompt.strip().encode("utf-8", "surrogatepass")).hexdigest(), 16) % folds


def gather(extra: Iterable[Path] = (), folder: Path = EXAMPLES) -> Corpus:
    """Return what may be trained on: labelled, nothing sealed, nothing of ``minos``.

    Raises:
        DataError: where a file is wrong, or there is nothing to train on.
    """
    own = tuple(e for e in load_examples(folder, sealed=False) if e.label is not None)
    foreign = tuple(read_labelled(extra))
    if not own and not foreign:
        raise DataError("no labelled examples", where=folder, mend="add some, or name a file with --extra")
    return Corpus(own, tuple(_strings()), foreign)


def _strings() -> Iterable[Example]:
    for code, language in load_languages().items():
        if not language.strings.is_file():
            continue
        groups = read_yaml(language.strings)
        for group, label in _STRINGS.items():
            for number, text in enumerate(groups.get(group, ())):
                name = f"{code}/{group}/{number}"
                yield Example(id=name, language=code, prompt=name, response=text, label=label, origin="strings")


def exchange_of(example: Example) -> Exchange:
    """Return the exchange that a judge sees of an example."""
    return Exchange(example.id, example.prompt, example.response, example.language)


def weight_of(example: Example, sizes: Mapping[str, int], settings: Settings) -> float:
    """Return what an answer counts for, so that no source drowns the others and hard kinds are not the rule."""
    if example.origin == "strings":
        return settings.own / 2
    if example.origin in OURS:
        return settings.own * KIND_WEIGHTS.get(example.kind, 1.0)
    return min(1.0, 1200 / max(1, sizes[example.language]))


def _weights(corpus: Corpus, settings: Settings) -> NDArray[np.float64]:
    sizes = Counter(example.language for example in corpus.foreign)
    return np.array([weight_of(example, sizes, settings) for example in corpus.rows])


def matrix(corpus: Corpus, settings: Settings) -> Matrix:
    """Return the features of all answers."""
    from scipy.sparse import csr_matrix

    rows = corpus.rows
    row, bucket = hashed([zones(read(exchange_of(example)).view) for example in rows])
    counts = np.bincount(row, minlength=len(rows)).astype(np.float32)
    values = (1.0 / np.sqrt(counts[row])).astype(np.float32)
    x = csr_matrix((values, (row, bucket)), shape=(len(rows), BUCKETS), dtype=np.float32)
    y = np.array([LABELS.index(example.label) for example in rows if example.label], dtype=np.intp)
    fold = np.array([fold_number(example.prompt) for example in rows], dtype=np.intp)
    return Matrix(x, y, _weights(corpus, settings), fold)


def count_patterns(rows: Sequence[Example], settings: Settings | None = None) -> RulesFile:
    """Return how often each pattern of the rules, each leaf, and each leaf in a language, meant which label."""
    settings = settings or Settings()
    sizes = Counter(e.language for e in rows if e.origin not in (*OURS, "strings"))
    patterns: dict[str, dict[Label, float]] = {}
    leaves: dict[str, dict[Label, float]] = {}
    languages: dict[str, dict[str, dict[Label, float]]] = {}
    for example in rows:
        exchange = exchange_of(example)
        reading = read(exchange)
        seen = signals(exchange, reading)
        if example.label is None or example.origin == "strings" or not seen.competent:
            continue
        pattern = pattern_of(seen)
        ours = example.origin in OURS
        weight = (
            weight_of(example, sizes, settings) / settings.own
            if ours
            else min(1.0, 200 / max(1, sizes[example.language]))
        )
        code = reading.language or example.language
        for table, name in (
            (patterns, pattern.name),
            (leaves, pattern.leaf),
            (languages.setdefault(code, {}), pattern.leaf),
        ):
            counts = table.setdefault(name, {})
            counts[example.label] = counts.get(example.label, 0.0) + weight
    return RulesFile(
        trained_on=dict(sorted(Counter(e.origin for e in rows if e.origin != "strings").items())),
        patterns=_plain(patterns),
        leaves=_plain(leaves),
        languages={code: _plain(found) for code, found in sorted(languages.items())},
    )


def _plain(counts: Mapping[str, Mapping[Label, float]]) -> dict[str, dict[Label, float]]:
    return {
        name: {label: round(found[label], 3) for label in LABELS if label in found}
        for name, found in sorted(counts.items())
    }


def fit_all(corpus: Corpus, settings: Settings, report: Callable[[str], None]) -> Fitted:
    """Fit everything: the rules' counts, the n-gram weights, and, out of fold, temperatures and thresholds."""
    rules = count_patterns(corpus.rows, settings)
    data = matrix(corpus, settings)
    logits = out_of_fold(data, settings, report)
    sizes = {code: sum(labels.values()) for code, labels in corpus.counts().items()}
    rich = np.array([sizes[example.language] >= RICH_ROWS for example in corpus.rows])
    # What the reference model says repeats itself from language to language; it must not flatter the calibration.
    real = np.array([example.origin != "strings" for example in corpus.rows])
    temperatures, thresholds = {"rich": 1.0, "other": 1.0}, {"rich": 0.6, "other": 0.6}
    for group, mine in (("rich", rich & real), ("other", ~rich & real)):
        if mine.sum() >= MIN_ROWS:
            temperatures[group] = fit_temperature(logits[mine], data.y[mine], data.weight[mine])
            shares = softmax(logits[mine] / temperatures[group])
            thresholds[group] = fit_threshold(shares, data.y[mine], data.weight[mine], settings.precision)
    report("last fit, on everything")
    weights, bias = fit(data, np.ones(len(data.y), dtype=bool), settings)
    return Fitted(corpus, data, rules, weights, bias, logits, rich, temperatures, thresholds)


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
) -> Fitted:
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
    corpus = gather(extra, examples)
    report(f"{len(corpus.own)} examples of the project, {len(corpus.foreign)} rows from elsewhere")
    fitted = fit_all(corpus, settings, report)
    payload = npz(weights=fitted.weights.astype(np.float16), bias=fitted.bias.astype(np.float32))
    write_atomic(output / "rules.json", fitted.rules.model_dump_json(indent=1) + "\n")
    write_atomic(output / "ngram.npz", payload)
    card = _card(fitted, settings, hashlib.sha256(payload).hexdigest())
    write_atomic(output / "ngram.json", json.dumps(card.model_dump(), indent=1, ensure_ascii=False) + "\n")
    return fitted


def _card(fitted: Fitted, settings: Settings, sha256: str) -> NgramCard:
    counts = fitted.corpus.counts()
    sizes = {code: sum(labels.values()) for code, labels in counts.items()}
    return NgramCard(
        sha256=sha256,
        labels=list(LABELS),
        languages=[code for code, size in sizes.items() if size >= MIN_ROWS],
        rich=[code for code, size in sizes.items() if size >= RICH_ROWS],
        temperatures=fitted.temperatures,
        thresholds=fitted.thresholds,
        settings={"penalty": settings.penalty, "own": settings.own, "iterations": float(settings.iterations)},
        sources=sources_of(fitted.corpus),
        rows=counts,
        out_of_fold=_quality(fitted),
    )


def sources_of(corpus: Corpus) -> list[dict[str, Any]]:
    """Return where the answers come from, with licences, for a card."""
    found: list[dict[str, Any]] = []
    for name, rows in (
        ("judges/examples, but for the sealed third", corpus.own),
        ("translations/*/strings.yaml", corpus.strings),
    ):
        if rows:
            found.append({"name": name, "licence": "Apache-2.0", "rows": len(rows)})
    for origin, size in sorted(Counter(example.origin for example in corpus.foreign).items()):
        name, licence = _LICENCES.get(origin, (origin, "not stated"))
        found.append({"name": name, "licence": licence, "rows": size})
    return found


def _quality(fitted: Fitted) -> dict[str, Any]:
    """Return how right the out-of-fold verdicts are: on the project's examples, and on each source from elsewhere."""
    shares = fitted.shares()
    refused = shares[:, REFUSED_MASK].sum(axis=1)
    least = np.where(fitted.rich, fitted.thresholds["rich"], fitted.thresholds["other"])
    cast = np.maximum(refused, 1.0 - refused) >= least
    right = (refused >= 0.5) == REFUSED_MASK[fitted.data.y]
    origins = np.array(["own" if e.origin in OURS else e.origin for e in fitted.corpus.rows])
    result: dict[str, Any] = {"folds": FOLDS, "split": "by prompt"}
    for origin in sorted(set(origins.tolist())):
        mine = origins == origin
        result[origin] = {
            "n": int(mine.sum()),
            "coverage": round(float(cast[mine].mean()), 4),
            "refused_or_not_accuracy": round(float(right[mine & cast].mean()), 4) if (mine & cast).any() else None,
        }
    return result
