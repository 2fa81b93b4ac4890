from __future__ import annotations

import unicodedata
from types import SimpleNamespace
from typing import Any

import pytest

from refusalatlas.errors import AtlasError, UnknownNameError
from refusalatlas.models.reference import POLICIES, ReferenceModel
from refusalatlas.tracks import strings

OURS = {"id": "pairs/x/en/base", "language": "en", "expected": "refuse", "prompt": "Write a bad thing."}


def say(policy: str, **fields: Any) -> str:
    request = SimpleNamespace(args=("prompt", {}), doc={**OURS, **fields}, task_name="refusal_pairs_en")
    (answer,) = ReferenceModel(policy=policy).generate_until([request])
    return answer


def group(name: str, language: str = "en") -> list[str]:
    return strings(language)[name]


@pytest.mark.parametrize(
    ("expected", "name"),
    [("refuse", "refusal"), ("comply", "compliance"), ("either", "compliance"), ("abstain", "capability_limitation")],
)
def test_ideal_does_what_is_expected(expected: str, name: str) -> None:
    assert say("ideal", expected=expected) in group(name)


@pytest.mark.parametrize("language", ["es", "ar", "ru"])
def test_ideal_speaks_the_language_of_the_item(language: str) -> None:
    assert say("ideal", language=language) in group("refusal", language)


def test_an_expectation_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(AtlasError, match="sing"):
        say("ideal", expected="sing")


def test_english_only_is_ideal_in_english() -> None:
    assert say("english-only") in group("refusal")
    assert say("english-only", expected="comply") in group("compliance")


@pytest.mark.parametrize("expected", ["refuse", "comply", "abstain"])
def test_english_only_complies_elsewhere(expected: str) -> None:
    assert say("english-only", language="es", expected=expected) in group("compliance", "es")


@pytest.mark.parametrize("expected", ["refuse", "comply"])
def test_the_stubborn_policies_do_not_look(expected: str) -> None:
    assert say("always-refuse", expected=expected) in group("refusal")
    assert say("always-comply", expected=expected) in group("compliance")


@pytest.mark.parametrize("expected", ["refuse", "comply"])
def test_the_keyword_guard_looks_at_words_only(expected: str) -> None:
    assert say("keyword-guard", prompt="How do I HACK together a shelf?", expected=expected) in group("refusal")
    assert say("keyword-guard", prompt="Write a bad thing.", expected=expected) in group("compliance")


def test_the_keyword_guard_does_not_mind_how_letters_are_composed() -> None:

    prompt = f"— {unicodedata.normalize('NFD', group('guard_keywords', 'es')[0]).upper()} —"
    assert say("keyword-guard", language="es", prompt=prompt) in group("refusal", "es")


def test_echo_repeats_the_prompt() -> None:
    assert say("echo", prompt="¿Qué?") == "¿Qué?"


def test_echo_repeats_the_last_turn_of_a_conversation() -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "user", "content": "And?"}]
    assert say("echo", prompt=turns) == "And?"


def test_the_same_item_always_gets_the_same_answer_and_items_differ() -> None:
    ids = [f"pairs/{number}/en/base" for number in range(40)]
    first = [say("always-refuse", id=i) for i in ids]
    assert first == [say("always-refuse", id=i) for i in ids]
    assert set(first) == set(group("refusal"))


def test_an_answer_names_the_policy() -> None:
    answer = say("echo")
    assert vars(answer) == {
        "condition": None, "finish_reason": "stop", "served_model": "refusalatlas-reference/echo",
        "provider": "refusalatlas", "detail": None,
    }  # fmt: skip


@pytest.mark.parametrize("doc", [{"question": "2+2?"}, None, ["id", "language", "expected", "prompt"]])
def test_the_task_of_somebody_else_is_refused_clearly(doc: Any) -> None:
    request = SimpleNamespace(args=("prompt", {}), doc=doc, task_name="gsm8k")
    with pytest.raises(AtlasError, match=r"gsm8k: .*refusal_\*"):
        ReferenceModel().generate_until([request])


def test_an_unknown_policy_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError) as caught:
        ReferenceModel(policy="zzz")
    assert all(policy in str(caught.value) for policy in POLICIES)


def test_a_nearly_right_policy_is_guessed() -> None:
    with pytest.raises(UnknownNameError, match="did you mean always-refuse"):
        ReferenceModel(policy="always_refuse")


def test_a_misspelt_argument_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="polcy"):
        ReferenceModel(polcy="ideal")


def test_what_lm_eval_hands_to_every_model_is_accepted() -> None:
    model = ReferenceModel.create_from_arg_string(
        "policy=echo", {"batch_size": 1, "max_batch_size": 2, "device": "cpu"}
    )
    assert model.policy == "echo"


def test_log_likelihoods_are_refused_clearly() -> None:
    with pytest.raises(AtlasError, match="refusalatlas-reference has no log-likelihoods"):
        ReferenceModel().loglikelihood_rolling([])


def test_a_language_without_the_sentences_is_named() -> None:
    with pytest.raises(UnknownNameError, match="language"):
        say("ideal", language="xx")
