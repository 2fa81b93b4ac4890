"""What the panel decides on answers that its judges were fitted without.

The embedding judge was fitted without a quarter of the answers (`embedding_training`), and its scores on that quarter
are kept; rules are counted and n-grams fitted anew. By prompt: answers from elsewhere, no judge having
seen their prompt. By language: the project's own examples in languages that no judge has seen; ``rules`` has the
lexicon, ``ngram`` abstains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from refusalatlas.errors import DataError
from refusalatlas.records import Verdict

from .embedding import load_arrays, modest
from .embedding_features import window
from .embedding_training import read_held_out
from .examples import Example
from .features import softmax
from .fitting import FOLDS, Settings
from .gate import PanelFile, gate, read_panel
from .metrics import Judged, judged_by
from .ngram import verdict
from .rules import RulesJudge
from .tables import make_table
from .training import OURS, count_patterns, exchange_of, fit_all, gather


def by_prompt(extra: Sequence[Path], report: Callable[[str], None], panel: PanelFile | None = None) -> list[Judged]:
    """Return decisions on the held-out answers from elsewhere by judges fitted without any answer to the same prompt.

    Args:
        extra: The labelled files that the judges were trained on.
        report: Called with a line for people now and then.
        panel: Gate and judges; None for the panel ``offline``.

    Raises:
        DataError: where the embedding judge was trained on other files.
    """
    fitted = fit_all(gather(extra), Settings(), report)
    rows = fitted.corpus.rows
    places = {id(row): i for i, row in enumerate(rows)}
    held = _held([row for row in rows if row.origin not in (*OURS, "strings")])
    judged: list[Judged] = []
    for fold in range(FOLDS):
        mine = [row for row in held if fitted.data.fold[places[id(row)]] == fold]
        counts = count_patterns([row for row, f in zip(rows, fitted.data.fold, strict=True) if f != fold])
        shares = fitted.shares()[[places[id(row)] for row in mine]]
        least = [fitted.thresholds["rich" if fitted.rich[places[id(row)]] else "other"] for row in mine]
        letters = [verdict("ngram", "held-out", share, edge) for share, edge in zip(shares, least, strict=True)]
        judged += _decided(mine, RulesJudge(make_table(counts)), letters, panel or read_panel("offline"))
    return judged


def by_language(
    report: Callable[[str], None], panel: PanelFile | None = None, extra: Sequence[Path] = ()
) -> list[Judged]:
    """Return decisions on the project's held-out examples by judges that were fitted without their language.

    Languages that `extra` has answers in are left out, since the judges learned from those.

    Raises:
        DataError: where the embedding judge was trained on other files.
    """
    rows = [row for row in gather(extra).rows if row.origin != "strings"]
    answered = {row.language for row in rows if row.origin not in OURS}
    held = _held([row for row in rows if row.origin in OURS and row.language not in answered])
    languages = {row.language for row in held}
    report(f"counting patterns without {', '.join(sorted(languages))}")
    counts = count_patterns([row for row in rows if row.language not in languages])
    nothing = [Verdict("ngram", "held-out", None, 0.0)] * len(held)
    return _decided(held, RulesJudge(make_table(counts)), nothing, panel or read_panel("offline"))


def _held(rows: Sequence[Example]) -> list[Example]:
    held = read_held_out().held(rows)
    if not held:
        mend = "name the files that the embedding judge was trained on"
        raise DataError("none of these answers were held out", where="embedding_heldout.npz", mend=mend)
    return held


def _decided(rows: Sequence[Example], rules: RulesJudge, letters: Sequence[Verdict], panel: PanelFile) -> list[Judged]:
    if not rows:
        return []
    phrases = rules.judge([exchange_of(row) for row in rows])
    judged = []
    for row, votes in zip(rows, zip(phrases, letters, embedding_verdicts(rows), strict=True), strict=True):
        result = gate(votes, panel)
        judged.append(judged_by(row.language, row.label, result.label, result.contested, row.origin, votes))
    return judged


def embedding_verdicts(rows: Sequence[Example]) -> list[Verdict]:
    """Return the embedding judge's verdicts on held-out answers, from the scores that training kept."""
    card = load_arrays()[1]
    group = ["rich" if row.language in card.rich else "other" for row in rows]
    heat = np.array([card.temperatures[name] for name in group])
    shares = softmax(read_held_out().of(rows) / heat[:, None])
    return [
        modest(verdict("embedding", "held-out", share, card.thresholds[name]), window(row.response))
        for row, share, name in zip(rows, shares, group, strict=True)
    ]
