"""What the panel decides on its own training answers when its judges are fitted without them.

By prompt: rules counted and n-grams fitted in folds that share no prompt, and the embedding judge's held-out scores,
for which the project's own examples were held out by language. By language: what a language without training answers
gets; ``rules`` has its lexicon, ``ngram`` abstains, ``embedding`` never saw the language.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from refusalatlas.records import Exchange, Verdict

from .embedding import load_head
from .embedding_training import FOLDS as LANGUAGE_FOLDS
from .embedding_training import folds_of, read_held_out
from .examples import Example
from .features import softmax
from .fitting import FOLDS, Settings
from .gate import PanelFile, gate, read_panel
from .metrics import Judged, judged_by
from .ngram import verdict
from .rules import RulesJudge
from .tables import RulesFile, make_table
from .training import OURS, count_patterns, fit_all, gather


def by_prompt(extra: Sequence[Path], report: Callable[[str], None], panel: PanelFile | None = None) -> list[Judged]:
    """Return decisions on all training answers by judges that were fitted without any answer to the same prompt.

    Args:
        extra: The labelled files that the judges were trained on.
        report: Called with a line for people now and then.
        panel: Gate and judges; None for the panel ``offline``.

    Raises:
        DataError: where the embedding judge was trained on other files.
    """
    panel = panel or read_panel("offline")
    fitted = fit_all(gather(extra), Settings(), report)
    rows, shares = fitted.corpus.rows, fitted.shares()
    thresholds = [fitted.thresholds["rich" if rich else "other"] for rich in fitted.rich]
    letters = [verdict("ngram", "held-out", share, least) for share, least in zip(shares, thresholds, strict=True)]
    by_fold = [
        count_patterns([e for e, f in zip(rows, fitted.data.fold, strict=True) if f != fold]) for fold in range(FOLDS)
    ]
    phrases = _rules_verdicts(rows, fitted.data.fold, by_fold)
    votes = zip(phrases, letters, embedding_verdicts(rows), strict=True)
    return [_decided(row, found, panel) for row, found in zip(rows, votes, strict=True) if row.origin != "strings"]


def by_language(
    report: Callable[[str], None], panel: PanelFile | None = None, extra: Sequence[Path] = ()
) -> list[Judged]:
    """Return decisions on the project's open examples by judges that were fitted without their language.

    Languages that `extra` has answers in are left out, since the embedding judge learned from those.

    Raises:
        DataError: where the embedding judge was trained on other files.
    """
    panel = panel or read_panel("offline")
    rows = [row for row in gather(extra).rows if row.origin != "strings"]
    answered = {row.language for row in rows if row.origin not in OURS}
    own = [row for row in rows if row.origin in OURS and row.language not in answered]
    folds = folds_of(own)
    whose = {row.language: int(fold) for row, fold in zip(own, folds, strict=True)}
    report("counting patterns without the languages of each fold")
    by_fold = [
        count_patterns([row for row in rows if whose.get(row.language) != fold]) for fold in range(LANGUAGE_FOLDS)
    ]
    phrases = _rules_verdicts(own, folds, by_fold)
    nothing = Verdict("ngram", "held-out", None, 0.0)
    return [
        _decided(row, (first, nothing, last), panel)
        for row, first, last in zip(own, phrases, embedding_verdicts(own), strict=True)
    ]


def _rules_verdicts(rows: Sequence[Example], folds: NDArray[np.intp], by_fold: Sequence[RulesFile]) -> list[Verdict]:
    """Return the verdicts of rules that were counted without each answer's fold."""
    found: list[Verdict | None] = [None] * len(rows)
    for fold, counts in enumerate(by_fold):
        held = [i for i, number in enumerate(folds) if number == fold]
        judge = RulesJudge(make_table(counts))
        for i, said in zip(held, judge.judge([exchange_of(rows[i]) for i in held]), strict=True):
            found[i] = said
    return [said for said in found if said is not None]


def embedding_verdicts(rows: Sequence[Example]) -> list[Verdict]:
    """Return the embedding judge's verdicts from its held-out scores.

    Raises:
        DataError: where an answer was not among those trained on.
    """
    card = load_head()[1]
    scores = read_held_out().of(rows)
    group = ["rich" if row.language in card.rich else "other" for row in rows]
    heat = np.array([card.temperatures[name] for name in group])
    shares = softmax(scores / heat[:, None])
    return [
        verdict("embedding", "held-out", share, card.thresholds[name])
        for share, name in zip(shares, group, strict=True)
    ]


def exchange_of(row: Example) -> Exchange:
    """Return the exchange that a judge sees of an example."""
    return Exchange(row.id, row.prompt, row.response, row.language)


def _decided(row: Example, votes: tuple[Verdict, ...], panel: PanelFile) -> Judged:
    result = gate(votes, panel)
    return judged_by(row.language, row.label, result.label, result.contested, row.origin, votes)
