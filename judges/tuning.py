"""Fitting the upper layers of the encoder and the head on them: the arithmetic of `judges train --embedding`.

Gradients are torch's, so that this module needs the ``hf`` extra; what it returns is plain arrays. The same rows,
settings, number of threads and torch give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refusalatlas.errors import AtlasError
from refusalatlas.records import LABELS

from .embedding import Head
from .embedding_features import FORM
from .encoder import HEADS, MATRICES, NORMS, WIDTH, Layer

_GAIN = np.concatenate([np.full(WIDTH, 8.0, np.float32), np.ones(FORM, np.float32)])
"""Numbers of a mean of length one are small; this brings their weights, while fitted, to the size of the others'."""


@dataclass(frozen=True, slots=True)
class TuningSettings:
    """What the fit is told.

    Attributes:
        epochs: Times that each of the project's examples is seen.
        foreign: Share of the rows from elsewhere that an epoch draws.
        rate: Highest learning rate of the layers; it rises over the first tenth of the steps and falls to nought.
        head_rate: The same of the head.
        batch: Rows a step.
        dropout: Share of each layer's additions that is left out.
        smoothing: Share of each label that is spread over all.
        seed: Of every draw.
    """

    epochs: int = 5
    foreign: float = 0.6
    rate: float = 2e-4
    head_rate: float = 2e-3
    batch: int = 32
    dropout: float = 0.1
    smoothing: float = 0.05
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Rows:
    """What is fitted on.

    Attributes:
        states: Of each row, its tokens' vectors below the tuned layers, in float16 to save room.
        forms: One row of marks each.
        labels: Numbers of labels.
        weight: What each row counts for.
        own: Whether a row is the project's own, seen in each epoch.
    """

    states: Sequence[NDArray[np.float16]]
    forms: NDArray[np.float32]
    labels: NDArray[np.intp]
    weight: NDArray[np.float64]
    own: NDArray[np.bool_]


def torch_or_error() -> Any:
    """Return torch.

    Raises:
        AtlasError: where it is not installed.
    """
    try:
        import torch
    except ImportError:
        mend = "pip install 'refusalatlas[hf]'"
        raise AtlasError("tuning the encoder needs torch", where="judges train --embedding", mend=mend) from None
    return torch


def tune(
    rows: Rows,
    start: Sequence[Layer],
    keep: NDArray[np.bool_],
    settings: TuningSettings,
    report: Callable[[str], None] = lambda message: None,
    *,
    head_before: Head | None = None,
) -> Head:
    """Fit layers and head.

    Args:
        rows: All rows.
        start: The layers as they are before tuning, from `embedding.FROM` on.
        keep: Which rows are fitted on.
        settings: What the fit is told.
        head_before: A head whose linear map the fit goes on from; None for one that starts at nought.
        report: Called with a line for people now and then.

    Raises:
        AtlasError: where torch is not installed.
    """
    torch = torch_or_error()
    torch.manual_seed(settings.seed)
    layers = [_trainable(torch, layer) for layer in start]
    head = _linear(torch, head_before)
    body = [tensor for layer in layers for tensor in layer.values()]
    optimiser = torch.optim.AdamW(
        [{"params": body, "lr": settings.rate}, {"params": list(head.values()), "lr": settings.head_rate}],
        weight_decay=0.01,
        betas=(0.9, 0.98),
    )
    rng = np.random.default_rng(settings.seed)
    epochs = [_epoch(rows, keep, settings, rng) for _ in range(settings.epochs)]
    steps, step = sum(map(len, epochs)), 0
    rates = [group["lr"] for group in optimiser.param_groups]
    for number, batches in enumerate(epochs, 1):
        total = 0.0
        for batch in batches:
            slope = min(1.0, 10 * step / steps) * (1.0 - step / steps)
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * slope
            loss = _loss(torch, rows, batch, layers, head, settings)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*body, *head.values()], 1.0)
            optimiser.step()
            total, step = total + float(loss.detach()), step + 1
        report(f"epoch {number} of {settings.epochs}: loss {total / max(len(batches), 1):.3f}")
    weights = head["w"].detach().numpy() * _GAIN[:, None]
    return Head(tuple(_plain(layer) for layer in layers), weights, head["b"].detach().numpy().copy())


def _epoch(
    rows: Rows, keep: NDArray[np.bool_], settings: TuningSettings, rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    """Return the batches of an epoch: rows of about the same length, in random order."""
    own, foreign = np.flatnonzero(keep & rows.own), np.flatnonzero(keep & ~rows.own)
    drawn = rng.permutation(foreign)[: int(len(foreign) * settings.foreign)]
    chosen = np.concatenate([own, drawn])
    sizes = np.array([len(rows.states[i]) for i in chosen]) + rng.normal(0, 12, len(chosen))
    chosen = chosen[np.argsort(sizes)]
    batches = [chosen[i : i + settings.batch] for i in range(0, len(chosen), settings.batch)]
    order = rng.permutation(len(batches))
    return [batches[i] for i in order]


def _linear(torch: Any, before: Head | None) -> dict[str, Any]:
    if before is None:
        arrays = {"w": np.zeros((WIDTH + FORM, len(LABELS)), np.float32), "b": np.zeros(len(LABELS), np.float32)}
    else:
        arrays = {"w": before.weights / _GAIN[:, None], "b": before.bias}
    return {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}


def _trainable(torch: Any, layer: Layer) -> dict[str, Any]:
    arrays = {f"{name}.w": layer.matrices[name] for name in MATRICES} | {
        f"{name}.b": layer.biases[name] for name in MATRICES
    }
    for name in NORMS:
        arrays[f"{name}.w"], arrays[f"{name}.b"] = layer.norms[name]
    return {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}


def _plain(layer: dict[str, Any]) -> Layer:
    arrays = {name: tensor.detach().numpy().copy() for name, tensor in layer.items()}
    return Layer(
        {name: arrays[f"{name}.w"] for name in MATRICES},
        {name: arrays[f"{name}.b"] for name in MATRICES},
        {name: (arrays[f"{name}.w"], arrays[f"{name}.b"]) for name in NORMS},
    )


def _loss(
    torch: Any, rows: Rows, batch: NDArray[np.intp], layers: list[Any], head: dict[str, Any], settings: TuningSettings
) -> Any:
    size = max(len(rows.states[i]) for i in batch)
    x = torch.zeros(len(batch), size, WIDTH)
    there = torch.zeros(len(batch), size, dtype=torch.bool)
    for row, i in enumerate(batch):
        states = torch.from_numpy(rows.states[i].astype(np.float32))
        x[row, : len(states)], there[row, : len(states)] = states, True
    for layer in layers:
        x = _layer(torch, layer, x, there, settings.dropout)
    mean = (x * there[..., None]).sum(1) / there.sum(1, keepdim=True)
    parts = torch.cat([torch.nn.functional.normalize(mean, dim=-1), torch.from_numpy(rows.forms[batch])], 1)
    scores = parts * torch.from_numpy(_GAIN) @ head["w"] + head["b"]
    losses = torch.nn.functional.cross_entropy(
        scores, torch.from_numpy(rows.labels[batch]), reduction="none", label_smoothing=settings.smoothing
    )
    weight = torch.from_numpy(rows.weight[batch].astype(np.float32))
    return (losses * weight).sum() / weight.sum()


def _layer(torch: Any, layer: dict[str, Any], x: Any, there: Any, dropout: float) -> Any:
    """One layer as `encoder.Layer` computes it, with dropout."""
    functional = torch.nn.functional
    texts, tokens, _ = x.shape

    def linear(name: str, inputs: Any) -> Any:
        return inputs @ layer[f"{name}.w"] + layer[f"{name}.b"]

    def heads(name: str) -> Any:
        return linear(name, x).view(texts, tokens, HEADS, -1).transpose(1, 2)

    def norm(name: str, inputs: Any) -> Any:
        return functional.layer_norm(inputs, (WIDTH,), layer[f"{name}.w"], layer[f"{name}.b"], 1e-12)

    mixed = functional.scaled_dot_product_attention(
        heads("q"), heads("k"), heads("v"), attn_mask=there[:, None, None, :]
    )
    mixed = mixed.transpose(1, 2).reshape(texts, tokens, WIDTH)
    x = norm("aln", x + functional.dropout(linear("ao", mixed), dropout))
    inner = functional.gelu(linear("fi", x), approximate="tanh")
    return norm("oln", x + functional.dropout(linear("fo", inner), dropout))
