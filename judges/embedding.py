"""The judge that goes by meaning: a linear head over the latent terms of a small multilingual sentence encoder.

It never sees the prompt, and it crosses to languages that it was not trained on, where its confidence is calibrated
apart. Where the platform has no wheel of the engine it abstains, and its version, which is part of the panel's hash,
says so.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.files import read_text, validate
from refusalatlas.records import LABELS, Exchange, Verdict

from .embedding_features import FORM, TERMS, Terms, engine, form, latent_terms, scaled, window
from .features import softmax
from .language_id import same_language
from .ngram import verdict
from .reading import read
from .tables import WEIGHTS

_BATCH = 128


class EmbeddingCard(BaseModel):
    """What ``embedding.json`` holds: what the weights are, and where they come from.

    Attributes:
        sha256: Of ``embedding.npz``.
        engine: The engine that the latent terms came from, with its version.
        languages: Those with training answers; the judge votes on others too.
        temperatures: Divide the scores, for ``known`` languages, fitted out of fold, and for ``other`` ones, fitted
            with all answers in the language held out.
        thresholds: Confidence under which the judge abstains, likewise.
    """

    model_config = ConfigDict(extra="forbid")

    format: int = 1
    sha256: str
    engine: str
    labels: list[str]
    languages: list[str]
    temperatures: dict[str, Annotated[float, Field(gt=0)]]
    thresholds: dict[str, Annotated[float, Field(ge=0, le=1)]]
    settings: dict[str, float]
    sources: list[dict[str, Any]]
    rows: dict[str, dict[str, int]]
    out_of_fold: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Head:
    """Fitted weights.

    Attributes:
        terms: One row a latent term, one column a label.
        form: One row a mark of form, one column a label.
        bias: One number a label.
        rarity: What each latent term is multiplied by.
    """

    terms: NDArray[np.float32]
    form: NDArray[np.float32]
    bias: NDArray[np.float32]
    rarity: NDArray[np.float32]
    card: EmbeddingCard

    def scores(self, terms: Sequence[Terms], forms: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
        """Return the scores of answers, one row each."""
        result = np.empty((len(terms), len(LABELS)))
        for row, ((index, value), marks) in enumerate(zip(scaled(terms, self.rarity), forms, strict=True)):
            result[row] = value.astype(np.float64) @ self.terms[index] + marks @ self.form + self.bias
        return result


@functools.lru_cache(maxsize=4)
def load_head(folder: Path = WEIGHTS) -> Head:
    """Return the head in a folder of weights.

    Raises:
        AtlasError: where it is not there.
        DataError: where it is damaged.
    """
    arrays, card_path = folder / "embedding.npz", folder / "embedding.json"
    if not arrays.is_file() or not card_path.is_file():
        raise AtlasError("the embedding judge has no weights", where=folder, mend="run `refusalatlas judges train`")
    card = validate(EmbeddingCard, json.loads(read_text(card_path)), card_path)
    payload = arrays.read_bytes()
    if hashlib.sha256(payload).hexdigest() != card.sha256:
        raise DataError("is not the file that embedding.json describes", where=arrays, mend="restore or train both")
    with np.load(io.BytesIO(payload), allow_pickle=False) as stored:
        parts = {name: stored[name].astype(np.float32) for name in ("terms", "form", "bias", "rarity")}
    k = len(LABELS)
    shapes = {"terms": (TERMS, k), "form": (FORM, k), "bias": (k,), "rarity": (TERMS,)}
    if any(parts[name].shape != shape for name, shape in shapes.items()) or card.labels != list(LABELS):
        raise DataError("has not the shape that this version reads", where=arrays, mend="train again")
    return Head(card=card, **parts)


class EmbeddingJudge:
    """Judges by the latent terms of multilingual-e5-small; `languages` is None, since it crosses to all."""

    name = "embedding"
    family = "embedding"
    languages: frozenset[str] | None = None

    def __init__(self, folder: str | None = None) -> None:
        self._head = load_head(Path(folder) if folder else WEIGHTS)
        self._present = engine() is not None
        self.version = f"1.{self._head.card.sha256[:8]}" + ("" if self._present else "-absent")

    def judge(self, exchanges: Sequence[Exchange]) -> list[Verdict]:
        """Return one verdict an exchange, in order; each distinct text of a batch is embedded once."""
        verdicts: list[Verdict] = []
        for start in range(0, len(exchanges), _BATCH):
            verdicts += self._batch(exchanges[start : start + _BATCH])
        return verdicts

    def _batch(self, exchanges: Sequence[Exchange]) -> list[Verdict]:
        result = [Verdict(self.name, self.version, None, 0.0)] * len(exchanges)
        windows = [window(exchange.response) for exchange in exchanges]
        worth = [i for i, text in enumerate(windows) if any(c.isalnum() for c in text)]
        if not self._present or not worth:
            return result
        found = latent_terms(windows[i] for i in worth)
        scores = self._head.scores([found[windows[i]] for i in worth], [form(exchanges[i].response) for i in worth])
        for i, row in zip(worth, scores, strict=True):
            group = self._group(exchanges[i])
            shares = softmax(row[None] / self._head.card.temperatures[group])[0]
            result[i] = verdict(self.name, self.version, shares, self._head.card.thresholds[group])
        return result

    def _group(self, exchange: Exchange) -> str:
        language = read(exchange).language or exchange.language
        known = any(same_language(language, code) for code in self._head.card.languages)
        return "known" if known else "other"
