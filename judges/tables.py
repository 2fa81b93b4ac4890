"""How often each pattern of the rules meant which label: counted, shrunk, read from `weights/rules.json`."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from refusalatlas.files import read_text, validate
from refusalatlas.records import LABELS, Label

WEIGHTS = Path(__file__).parent / "weights"
"""Where the fitted weights lie."""

PRIOR_WEIGHT, LEAF_WEIGHT, LANGUAGE_WEIGHT = 6.0, 10.0, 20.0
"""How many observations the level above counts for, at each level: pattern, leaf, leaf in one language."""


class RulesFile(BaseModel):
    """What ``rules.json`` holds: counts of labels by pattern, by leaf, and by leaf and language."""

    model_config = ConfigDict(extra="forbid")

    format: int = 1
    trained_on: dict[str, int] = {}
    patterns: dict[str, dict[Label, float]] = {}
    leaves: dict[str, dict[Label, float]] = {}
    languages: dict[str, dict[str, dict[Label, float]]] = {}


@dataclass(frozen=True)
class RulesTable:
    """Label shares of the patterns.

    Attributes:
        version: Hash of the counts, eight hex digits.
    """

    counts: RulesFile
    priors: Mapping[str, Mapping[Label, float]]
    version: str
    _cache: dict[tuple[str, str, str | None], dict[Label, float]] = field(default_factory=dict, repr=False)

    def shares(self, name: str, leaf: str, language: str | None) -> dict[Label, float]:
        """Return the share of each label in a pattern, its leaf, and that in a language, each shrunk to the last."""
        key = (name, leaf, language if language in self.counts.languages else None)
        found = self._cache.get(key)
        if found is None:
            level: Mapping[Label, float] = self.priors[name]
            steps = (
                (self.counts.patterns.get(name, {}), PRIOR_WEIGHT),
                (self.counts.leaves.get(leaf, {}), LEAF_WEIGHT),
                (self.counts.languages.get(key[2] or "", {}).get(leaf, {}), LANGUAGE_WEIGHT),
            )
            for counts, weight in steps:
                level = shrink(counts, level, weight)
            self._cache[key] = found = dict(level)
        return {label: found[label] for label in LABELS}


def shrink(counts: Mapping[Label, float], towards: Mapping[Label, float], weight: float) -> dict[Label, float]:
    """Return the posterior mean of label shares under a Dirichlet prior of the given weight."""
    total = sum(counts.values()) + weight
    return {label: (counts.get(label, 0.0) + weight * towards[label]) / total for label in LABELS}


def make_table(counts: RulesFile) -> RulesTable:
    """Return the table of some counts."""
    from .rules import PRIORS, prior

    digest = hashlib.sha256(counts.model_dump_json().encode()).hexdigest()[:8]
    return RulesTable(counts, {name: prior(name) for name in PRIORS}, digest)


@functools.lru_cache(maxsize=8)
def load_rules(folder: Path = WEIGHTS) -> RulesTable:
    """Return the table in a folder of weights; without the file, what the patterns were written for.

    Raises:
        DataError: where the file is broken.
    """
    path = folder / "rules.json"
    if not path.is_file():
        return make_table(RulesFile())
    import json

    return make_table(validate(RulesFile, json.loads(read_text(path)), path))
