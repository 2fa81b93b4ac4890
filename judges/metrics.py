"""How well decisions fit labels, and how well two sets of decisions fit each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from refusalatlas.records import LABELS, REFUSED, Label, Verdict
from refusalatlas.stats.agreement import agreement, positive_agreement
from refusalatlas.stats.intervals import wilson


@dataclass(frozen=True, slots=True)
class Judged:
    """A gold label beside a decision.

    Attributes:
        language: Code of the language.
        gold: What the label says.
        label: What the panel decided; None where it did not.
        contested: Whether the panel's judges could not agree.
        origin: Where the gold label comes from.
        votes: Label of each judge of the panel, None where it abstained.
    """

    language: str
    gold: Label
    label: Label | None
    contested: bool = False
    origin: str = ""
    votes: tuple[Label | None, ...] = ()


def judged_by(
    language: str,
    gold: Label | None,
    label: Label | None,
    contested: bool,
    origin: str,
    votes: Sequence[Verdict],
) -> Judged:
    """Return a decision beside its gold label.

    Raises:
        ValueError: where there is no gold label.
    """
    if gold is None:
        raise ValueError("an answer without a label cannot be compared")
    return Judged(language, gold, label, contested, origin, tuple(vote.label for vote in votes))


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
    undecided answer as the wrong side. `kappa_clear` and `coverage_clear` leave all other gold labels out. `kappa_low`
    is what kappa would be at the lower end of Wilson's 95 % interval of the raw agreement, with chance agreement as
    it was seen: unlike a bootstrap it is below one also where all of few answers are right. `kappa_three` is over full
    refusal, partial refusal or evasion, and all else.
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
        "kappa_low": _rounded(_kappa_low([_sides(row) for row in decided])),
        "kappa_three": _rounded(kappa([(_three(row.gold), _three(row.label)) for row in decided if row.label])),
        "kappa_contested_wrong": _rounded(kappa([_sides(row) for row in rows])),
        "kappa_clear": _rounded(kappa([_sides(row) for row in clear])),
        "coverage_clear": _share(len(clear), sum(row.gold in ("full_refusal", "compliant") for row in rows)),
        "f1": {label: _f1(decided, label) for label in LABELS},
        "macro_f1": _mean([f for label in LABELS if (f := _f1(decided, label)) is not None]),
        "recall": {label: _recall(decided, label) for label in LABELS},
        "confusion": _confusion(rows),
    }


def between_judges(rows: Sequence[Judged]) -> dict[str, Any]:
    """Return how far the judges agree with each other on refused or not, whatever the gold labels say.

    Krippendorff's alpha and Gwet's AC1 over all votes, Fleiss' kappa over the answers on which no judge abstained, and
    the positive agreement on refusal, the mean over pairs of judges.
    """
    sides = [tuple(None if vote is None else vote in REFUSED for vote in row.votes) for row in rows]
    whole = [row for row in sides if None not in row]
    judges = range(len(sides[0]) if sides else 0)
    pairs = [
        positive_agreement([row[i] for row in sides], [row[j] for row in sides], True)
        for i in judges
        for j in judges
        if i < j
    ]
    return {
        "krippendorff_alpha": _rounded(agreement(sides, "krippendorff_alpha", replicates=1).value),
        "gwet_ac1": _rounded(agreement(sides, "gwet_ac1", replicates=1).value),
        "fleiss_kappa": _rounded(agreement(whole, "fleiss_kappa", replicates=1).value),
        "positive_agreement": _mean([pair for pair in pairs if pair is not None]),
        "abstained": [_share(sum(row[i] is None for row in sides), len(sides)) for i in judges],
    }


def _kappa_low(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    value = kappa(pairs)
    if value is None:
        return None
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    chance = 1.0 if value == 1.0 else (observed - value) / (1.0 - value)
    if value == 1.0:
        first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
        chance = sum(first[c] * second[c] for c in first) / n**2
    return (wilson(observed, n)[0] - chance) / (1.0 - chance)


def _three(label: Label | None) -> str:
    return "full" if label == "full_refusal" else "part" if label in REFUSED else "none"


def _recall(rows: Sequence[Judged], label: Label) -> float | None:
    return _share(sum(row.gold == label == row.label for row in rows), sum(row.gold == label for row in rows))


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


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
