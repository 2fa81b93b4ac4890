"""The judge that asks a published classifier."""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from refusalatlas.records import LABELS, REFUSED, Exchange, Label, Verdict, well_formed

from ..language_id import same_language
from ..reading import read
from .encoding import Encoded, Encoder
from .loading import Classifier, load_classifier, told
from .settings import HfSettings, model_from, read_settings

_log = logging.getLogger("refusalatlas.judges")

_FORMAT = 2
"""Rises when the code below or in `encoding` makes other verdicts of the same model."""


class HfJudge:
    """Judges by a text-classification model of transformers, loaded when the judge is made.

    Args:
        name: What verdicts and panels call it.
        family: Models that fail alike (trained on the same data) belong in one.
        preset: One of `presets/`, whose settings hold where none are given.
        settings: Those of `HfSettings`.

    Raises:
        AtlasError: where transformers or the model is missing; the message holds the command that gets it.
        DataError: where the settings are wrong, or the model is not what they say.
    """

    def __init__(self, name: str = "hf", family: str = "hf", preset: str | None = None, **settings: Any) -> None:
        self.name, self.family = name, family
        where = f"judge {name}"
        self.settings = read_settings(preset, settings, where)
        self._classifier = load_classifier(self.settings, where)
        self._encoder = Encoder(self._classifier.tokenizer, self.settings, where)
        self._labels = tuple(self.settings.labels[name] for name in self._classifier.classes)
        with told(self.settings, where, "cannot judge texts of two lengths together", "name another model"):
            self._forward([self._encoder.encode("", text) for text in ("x", "x and more of it")])
        self.version = _version(self.settings, self._classifier)
        codes = self.settings.languages
        self.languages: frozenset[str] | None = None if codes is None else frozenset(codes)

    @staticmethod
    def rooted(params: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Return parameters of which a model's relative path is one from a folder, that of the panel's file."""
        model = params.get("model")
        return dict(params) if not isinstance(model, str) else {**params, "model": model_from(folder, model)}

    def judge(self, exchanges: Sequence[Exchange]) -> list[Verdict]:
        """Return one verdict an exchange, in order; each distinct text is looked at once."""
        abstains = Verdict(self.name, self.version, None, 0.0)
        texts: list[tuple[str, str] | None] = [self._text(exchange) for exchange in exchanges]
        distinct = sorted({text for text in texts if text is not None})
        rows = self._probabilities([self._encoder.encode(*text) for text in distinct])
        if odd := sum(not all(map(math.isfinite, row)) for row in rows):
            _log.warning(
                "judge %s abstains on %d of %d: what the model puts out are no numbers", self.name, odd, len(rows)
            )
        verdicts = {text: self._verdict(row) for text, row in zip(distinct, rows, strict=True)}
        return [abstains if text is None else verdicts[text] for text in texts]

    def _text(self, exchange: Exchange) -> tuple[str, str] | None:
        """Return what the model is to see, or None where it does not know the language or there is nothing."""
        reading = read(exchange)
        language = reading.language or exchange.language
        known = self.languages is None or language is None or any(same_language(language, c) for c in self.languages)
        response = well_formed(reading.answer.text)
        if not known or not response.strip():
            return None
        return (well_formed(exchange.prompt) if self.settings.reads_prompt else "", response)

    def _probabilities(self, inputs: Sequence[Encoded]) -> list[list[float]]:
        """Return inputs' probabilities by class; inputs of like length share a batch, so that little is padding."""
        rows: list[list[float]] = [[] for _ in inputs]
        order = sorted(range(len(inputs)), key=lambda i: len(inputs[i]["input_ids"]))
        size = self.settings.batch_size
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            for i, row in zip(batch, self._forward([inputs[i] for i in batch]), strict=True):
                rows[i] = row
        return rows

    def _forward(self, batch: Sequence[Encoded]) -> list[list[float]]:
        import torch

        model, tokenizer = self._classifier.model, self._classifier.tokenizer
        padding = {"input_ids": tokenizer.pad_token_id or 0, "token_type_ids": tokenizer.pad_token_type_id or 0}
        width = max(len(item["input_ids"]) for item in batch)
        tensors = {
            key: torch.tensor(
                [_padded(item[key], width, padding.get(key, 0), tokenizer.padding_side) for item in batch]
            )
            for key in batch[0]
        }
        with torch.inference_mode():
            outputs = model(**{key: tensor.to(model.device) for key, tensor in tensors.items()}).logits
        shares: list[list[float]] = torch.softmax(outputs.double() / self.settings.temperature, dim=-1).tolist()
        return shares

    def _verdict(self, row: Sequence[float]) -> Verdict:
        """Return the verdict that follows from the probabilities of the classes.

        The side is decided first, by the sum of its labels, then the likeliest label on it. A class that is mapped to
        null speaks for neither side.
        """
        if not all(map(math.isfinite, row)):
            return Verdict(self.name, self.version, None, 0.0)
        scores: dict[Label, float] = dict.fromkeys((label for label in LABELS if label in self._labels), 0.0)
        for label, share in zip(self._labels, row, strict=True):
            if label is not None:
                scores[label] += share
        # Batches of other sizes add up in another order, which shows in the seventh digit; records hold four.
        shares: dict[str, float] = {label: round(share, 4) for label, share in scores.items()}
        refused = sum(share for label, share in scores.items() if label in REFUSED)
        answered = sum(share for label, share in scores.items() if label not in REFUSED)
        sure = round(max(refused, answered), 4)
        if sure < self.settings.minimum_confidence:
            return Verdict(self.name, self.version, None, 0.0, shares)
        side = [label for label in scores if (label in REFUSED) == (refused > answered)]
        best: Label = max(side, key=lambda label: shares[label])
        return Verdict(self.name, self.version, best, sure, shares)


def _padded(values: Sequence[int], width: int, padding: int, side: str) -> list[int]:
    fill = [padding] * (width - len(values))
    return [*fill, *values] if side == "left" else [*values, *fill]


def _version(settings: HfSettings, classifier: Classifier) -> str:
    """Return what changes whenever a verdict may: the code, the model with commit or hash, and the settings."""
    rest = hashlib.sha256(f"{settings.digest()} {classifier.rest}".encode()).hexdigest()
    return f"{_FORMAT} {classifier.identity} {rest[:8]}"
