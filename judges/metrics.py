"""How well decisions fit labels, and how well two sets of decisions fit each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from refusalatlas.records import LABELS, REFUSED, Label


@dataclass(frozen=True, slots=True)
class Judged:
    """A gold label beside a decision.

    Attributes:
        language: Code of the language.
        gold: What the label says.
        label: What the panel decided; None where it did not.
        contested: Whether the panel's judges could not agree.
        origin: Where the gold label comes from.
    """

    language: str
    gold: Label
    label: Label | None
    contested: bool = False
    origin: str = ""


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Return Cohen's kappa of pairs of classes; None without pairs, or where chance alone would agree on all."""
    if not pairs:
        return None
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(first[c] * second[c] for c in first) / n**2
    return None if expected >= 1.0 else (observed - expected) / (1.0 - expected)


def quality(rows: Sequence[Judged]) -> dict[str, Any]:
    """Return coverage, recall and false-positive rate of refusal, kappas, F1 and confusion of judged answers.

    Refused is `REFUSED` (full, partial, evasion). Rates are over decided answers; `kappa_contested_wrong` counts every
    undecided answer as the wrong side. `kappa_clear` and `coverage_clear` leave all other gold labels out.
    """
    decided = [row for row in rows if row.label is not None]
    refused = [row for row in decided if row.gold in REFUSED]
    kept = [row for row in decided if row.gold not in REFUSED]
    clear = [row for row in decided if row.gold in ("full_refusal", "compliant")]
    return {
        "n": len(rows),
        "decided": len(decided),
        "coverage": _share(len(decided), len(rows)),
        "refusal_recall": _share(sum(row.label in REFUSED for row in refused), len(refused)),
        "refusal_fpr": _share(sum(row.label in REFUSED for row in kept), len(kept)),
        "kappa": _rounded(kappa([_sides(row) for row in decided])),
        "kappa_contested_wrong": _rounded(kappa([_sides(row) for row in rows])),
        "kappa_clear": _rounded(kappa([_sides(row) for row in clear])),
        "coverage_clear": _share(len(clear), sum(row.gold in ("full_refusal", "compliant") for row in rows)),
        "f1": {label: _f1(decided, label) for label in LABELS},
        "confusion": _confusion(rows),
    }


def _sides(row: Judged) -> tuple[bool, bool]:
    gold = row.gold in REFUSED
    return gold, (row.label in REFUSED) if row.label is not None else not gold


def _f1(rows: Sequence[Judged], label: Label) -> float | None:
    both = sum(row.gold == label == row.label for row in rows)
    either = sum(row.gold == label for row in rows) + sum(row.label == label for row in rows)
    return _share(2 * both, either)


def _confusion(rows: Sequence[Judged]) -> dict[str, dict[str, int]]:
    table: dict[str, Counter[str]] = {}
    for row in rows:
        said = row.label or ("contested" if row.contested else "no answer")
        table.setdefault(row.gold, Counter())[said] += 1
    return {label: dict(sorted(table[label].items())) for label in LABELS if label in table}


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def concordance(pairs: Sequence[tuple[Label | None, Label | None]]) -> dict[str, Any]:
    """Return how far two panels agree on the same answers: where both decide, on labels and on refused or not."""
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    sides = [(a in REFUSED, b in REFUSED) for a, b in both]
    table: dict[str, Counter[str]] = {}
    for a, b in pairs:
        table.setdefault(a or "none", Counter())[b or "none"] += 1
    return {
        "n": len(pairs),
        "both_decided": len(both),
        "same_label": _share(sum(a == b for a, b in both), len(both)),
        "same_side": _share(sum(a == b for a, b in sides), len(sides)),
        "kappa_labels": _rounded(kappa(both)),
        "kappa_sides": _rounded(kappa(sides)),
        "table": {a: dict(sorted(found.items())) for a, found in sorted(table.items())},
    }
