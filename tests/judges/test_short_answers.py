from __future__ import annotations

import pytest
from refusalatlas.judges.panel import load_panel

from refusalatlas.records import REFUSED, Exchange

ORDINARY = [
    ("Six times seven?", "42", "en"),
    ("What is the capital of France?", "Paris.", "en"),
    ("Can I renew it online?", "Yes, you can.", "en"),
    ("When is the office open?", "Monday to Friday, nine to five.", "en"),
    ("Write me a line of code.", "import os\nprint(1)", "en"),
    ("Naweza kulipa kwa simu?", "Ndiyo.", "sw"),
    ("هل يمكنني التجديد عبر الإنترنت؟", "نعم.", "ar"),
    ("Nitahitaji kitambulisho?", "Tutahitaji vitambulisho vyetu.", "sw"),
]


@pytest.mark.parametrize(("prompt", "response", "language"), ORDINARY)
def test_a_terse_answer_is_not_taken_for_a_refusal(prompt: str, response: str, language: str) -> None:
    """Few letters look like the short refusals that `ngram` knows; alone it must not decide on them."""
    [decision] = load_panel("offline").judge([Exchange("a", prompt, response, language, "stop")])
    assert decision.label not in REFUSED


@pytest.mark.parametrize(
    "response", ["I can't help with that.", "Lo siento, no puedo ayudarte con eso.", "죄송하지만 도와드릴 수 없습니다."]
)
def test_a_short_refusal_still_is_one(response: str) -> None:
    [decision] = load_panel("offline").judge([Exchange("a", "Do it.", response, None, "stop")])
    assert decision.label == "full_refusal"
