"""What models can be told apart by in a list: whose they are, how large by their name, and how they were reached."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .gather import Entry
from .untrusted import shortened

SIZES = ("< 4 B", "4–15 B", "15–80 B", "≥ 80 B")
UNNAMED = "not in its name"
LOCAL, REMOTE = "weights at hand", "through an API"

FILTERS = (("tier", "Trust"), ("org", "Organisation"), ("size", "Size by its name"), ("access", "Run with"))
"""Filters of the list of models, by facet, with their titles."""

THEIRS = frozenset({"org"})
"""Facets whose values other people wrote: they are shown as they are, and never translated."""

_BILLIONS = re.compile(r"(?<![a-z0-9.])(?:(\d{1,2})x)?(\d{1,4}(?:\.\d{1,3})?)(b|m)(?![a-z0-9])")
_WITH_WEIGHTS = (
    "hf",
    "huggingface",
    "vllm",
    "sglang",
    "gguf",
    "ggml",
    "mamba",
    "nemo",
    "openvino",
    "neuron",
    "steered",
)
_BOUNDS = (4, 15, 80)


def facets_of(entry: Entry) -> dict[str, str]:
    """Return the facets of a model by name; every model has all of them."""
    org = entry.name.partition("/")[0] if "/" in entry.name else "—"
    local = entry.run.backend.lower().startswith(_WITH_WEIGHTS)
    size = size_of(entry.name)
    return {"tier": entry.tier, "org": shortened(org, 60), "size": size, "access": LOCAL if local else REMOTE}


def size_of(name: str) -> str:
    """Return the class of the number of weights that a model's name states, as in ``llama-8b`` or ``mixtral-8x7b``."""
    found = _BILLIONS.search(name.lower().rpartition("/")[2])
    if found is None:
        return UNNAMED
    experts, number, unit = found.groups()
    billions = int(experts or 1) * float(number) / (1 if unit == "b" else 1000)
    return SIZES[sum(billions >= bound for bound in _BOUNDS)]


def options(rows: Iterable[Mapping[str, str]], facet: str) -> list[str]:
    """Return the values of a facet that occur, sizes from small to large and all others by name."""
    found = {facets[facet] for facets in rows if facet in facets}
    order = {size: f" {place}" for place, size in enumerate(SIZES)}
    return sorted(found, key=lambda value: (order.get(value, value), value))
