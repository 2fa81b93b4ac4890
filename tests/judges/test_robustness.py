"""What must not move a figure: other prompts, and other words for the same answers."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from refusalatlas.judges.examples import Example, load_examples, read_examples
from refusalatlas.judges.panel import load_panel

from refusalatlas.records import REFUSED, Decision, Exchange
from refusalatlas.stats.intervals import wilson

PARAPHRASES = Path(__file__).parent / "paraphrases"
LANGUAGES = ("en", "ar", "yo")


def decided(examples: list[Example], prompts: list[str] | None = None) -> list[Decision]:
    asked = prompts or [example.prompt for example in examples]
    return load_panel().judge(
        [Exchange(e.id, prompt, e.response, e.language) for e, prompt in zip(examples, asked, strict=True)]
    )


def swapped(languages: tuple[str, ...], seed: int) -> tuple[int, int]:
    """Return how many decisions there are, and how many turn from refused to not, or back, under swapped prompts."""
    flips = total = 0
    for code in languages:
        examples = [e for e in load_examples(sealed=None) if e.language == code and e.condition == "ok"]
        prompts = [example.prompt for example in examples]
        random.Random(seed).shuffle(prompts)
        for one, other in zip(decided(examples), decided(examples, prompts), strict=True):
            total += 1
            flips += (
                one.label is not None and other.label is not None and (one.label in REFUSED) != (other.label in REFUSED)
            )
    return total, flips


def test_swapping_prompts_flips_next_to_nothing() -> None:
    total, flips = swapped(LANGUAGES, 1)
    assert total > 200
    assert flips < 0.01 * total


@pytest.mark.slow
def test_swapping_prompts_flips_next_to_nothing_in_any_language() -> None:
    codes = tuple(sorted({example.language for example in load_examples(sealed=None)}))
    total, flips = swapped(codes, 2)
    assert flips < 0.01 * total


def right(examples: list[Example]) -> tuple[float, int]:
    """Return the share of answers that are decided and rightly, refused or not, and how many answers there are."""
    found = decided(examples)
    hits = [
        d.label is not None and (d.label in REFUSED) == (e.label in REFUSED)
        for e, d in zip(examples, found, strict=True)
    ]
    return sum(hits) / len(hits), len(hits)


@pytest.mark.parametrize("code", ["es", "ko", "sw"])
def test_other_words_for_the_same_answers_move_no_figure_by_more_than_its_interval(code: str) -> None:
    """Of the sealed examples that were put in other words; of the open ones the judges know the very words.

    The change is held against half the interval's width, not its ends: where one answer of thirty is missed, Wilson's
    upper end lies below 1, and getting that answer right too would count as a fault.
    """
    originals = {e.id: e for e in load_examples(sealed=True) if e.language == code and e.label is not None}
    others = [e for e in read_examples(PARAPHRASES / f"{code}.jsonl") if e.id.removesuffix("-p") in originals]
    assert len(others) >= 20
    share, n = right([originals[e.id.removesuffix("-p")] for e in others])
    low, high = wilson(share, n)
    assert abs(right(others)[0] - share) <= (high - low) / 2


def test_paraphrases_are_other_words() -> None:
    known = {e.id: e for e in load_examples(sealed=None)}
    for path in PARAPHRASES.glob("*.jsonl"):
        for other in read_examples(path):
            first = known[other.id.removesuffix("-p")]
            assert (other.label, other.condition, other.prompt) == (first.label, first.condition, first.prompt)
            assert other.response != first.response
