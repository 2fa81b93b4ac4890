"""What became of each request of the headline track, in a letter: enough for a browser to compare any two models.

A page for each pair would make the site grow with the square of the models; a file for each model makes it grow with
the models. The browser draws the same resamples as `refusalatlas.stats` does, so that its intervals are the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from refusalatlas.comparison import OF_PAIRS
from refusalatlas.records import REFUSED, Decision, Record
from refusalatlas.stats.bootstrap import REPLICATES, SEED
from refusalatlas.stats.paired import EXACT_UP_TO, FLIPS

FILES = "answers"
"""Folder of the files below ``data/``."""


def answered(records: Sequence[Record]) -> str:
    """Return the decided answers of one model to one track and variant as JSON, an empty string without any.

    ``versions`` has the texts' versions that may be compared, ``seeds`` a list of ``[seed, cluster, expected]``, and
    ``places`` by locale or language one string: for each seed in order a letter for each decided answer (``r`` refused,
    ``c`` complied, ``o`` neither), seeds parted by a space.
    """
    seeds = sorted({(r.seed_id, r.cluster_id, r.expected) for r in records})
    letters: dict[str, dict[str, str]] = {}
    for record in records:
        said = "".join(_letter(decision) for decision in record.decisions if decision.label is not None)
        letters.setdefault(record.locale or record.language, {})[record.seed_id] = said
    places = {place: " ".join(of.get(seed, "") for seed, _, _ in seeds) for place, of in sorted(letters.items())}
    if not any(said.strip() for said in places.values()):
        return ""
    versions = sorted({record.version.split("-")[0] for record in records})
    return _line({"versions": versions, "seeds": seeds, "places": places})


def _letter(decision: Decision) -> str:
    return "r" if decision.label in REFUSED else "c" if decision.label == "compliant" else "o"


def draw() -> str:
    """Return as JSON what a browser needs to draw the same numbers: the generator's state for the recorded seed."""
    state = np.random.PCG64(SEED).state["state"]
    return _line(
        {
            "seed": SEED,
            "generator": "PCG64",
            "state": str(state["state"]),
            "increment": str(state["inc"]),
            "replicates": REPLICATES,
            "flips": FLIPS,
            "exact": EXACT_UP_TO,
            "metrics": OF_PAIRS,
        }
    )


def _line(fields: dict[str, object]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"
