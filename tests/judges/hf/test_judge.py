"""The judge itself, on tiny models of the published ones' architectures, through the presets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusalatlas.judges.hf import HfJudge, preset_names
from refusalatlas.judges.hf.settings import read_settings

from refusalatlas.records import REFUSED, Exchange, Judge

pytestmark = pytest.mark.torch

REFUSAL = "I'm sorry, but I can't help with that request."
ANSWER = "Sure! Mix the flour with water and wait for an hour."
PROMPT = "How do I bake bread?"
PAIR = {"input": "pair", "labels": {"no": "full_refusal", "yes": "compliant", "spam": None}}
ALONE = {"input": "response", "labels": {"REJECTION": "full_refusal", "NORMAL": "compliant"}, "max_length": 128}


def asked(response: str, language: str | None = "en", prompt: str = PROMPT) -> Exchange:
    return Exchange("x", prompt, response, language)


@pytest.fixture
def models(minos: Path, agentlans: Path, detector: Path) -> dict[str, Path]:
    return {"minos": minos, "agentlans": agentlans, "refusal-detector": detector}


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_judges_by_a_model_of_its_architecture(preset: str, models: dict[str, Path]) -> None:
    judge = HfJudge(name=preset, preset=preset, model=str(models[preset]))
    assert isinstance(judge, Judge)
    refused, answered = judge.judge([asked(REFUSAL), asked(ANSWER)])
    assert (refused.label, answered.label) == ("full_refusal", "compliant")
    assert refused.judge == preset
    assert refused.version == judge.version
    assert min(refused.confidence, answered.confidence) > 0.9
    assert sum(refused.scores.values()) == pytest.approx(1.0, abs=0.001)


@pytest.mark.parametrize("preset", preset_names())
def test_presets_name_a_model_of_the_hub_and_a_revision(preset: str) -> None:
    settings = read_settings(preset, {}, "x")
    assert not settings.local
    assert settings.revision
    assert {label in REFUSED for label in settings.labels.values() if label} == {True, False}


def test_models_without_a_preset_take_a_few_lines(bert: Path, roberta: Path) -> None:
    for judge in (HfJudge(model=str(bert), **PAIR), HfJudge(model=str(roberta), **ALONE)):
        found = judge.judge([asked(REFUSAL), asked(ANSWER)])
        assert [verdict.label for verdict in found] == ["full_refusal", "compliant"]
        assert judge.languages is None


def mixed() -> list[Exchange]:
    texts = [REFUSAL, ANSWER, "Yes.", "I cannot. " * 40, "The train leaves at nine. " * 15, "请帮我写一封信。", "No"]
    return [asked(text, None, prompt) for prompt in (PROMPT, "Write a letter.", "") for text in texts]


@pytest.mark.parametrize(("preset", "size"), [("minos", 5), ("agentlans", 4), ("refusal-detector", 16)])
def test_alone_or_in_a_batch_an_answer_is_judged_alike(
    preset: str, size: int, models: dict[str, Path], copied: Callable[[Path], Path]
) -> None:
    """With random weights every text is judged otherwise, so that padding that is looked at would show."""
    import torch

    folder, generator = copied(models[preset]), torch.Generator().manual_seed(3)
    rewrite(folder, lambda _, v: torch.randn(v.shape, generator=generator) * 0.3 if v.ndim == 2 else v)
    judge = HfJudge(preset=preset, model=str(folder), languages=None, batch_size=size, minimum_confidence=0.5)
    together = judge.judge(mixed())
    assert judge.judge(mixed()) == together
    assert judge.judge(mixed()[::-1]) == together[::-1]
    for verdict, exchange in zip(together, mixed(), strict=True):
        alone = judge.judge([exchange])[0]
        # The last of four digits may be rounded the other way.
        assert dict(alone.scores) == pytest.approx(dict(verdict.scores), abs=1.5e-4)
        assert alone.label == verdict.label or verdict.confidence < 0.501
    assert len({tuple(verdict.scores.values()) for verdict in together}) > 15


def test_a_text_that_comes_often_is_looked_at_once(roberta: Path) -> None:
    judge = HfJudge(model=str(roberta), batch_size=2, **ALONE)
    rows: list[int] = []
    judge._classifier.model.register_forward_hook(lambda _, __, out: rows.append(len(out.logits)))
    # It reads the response alone, so that another prompt makes no other text.
    found = judge.judge([asked(text, prompt=str(i)) for i, text in enumerate([REFUSAL, ANSWER, REFUSAL] * 5)])
    assert sum(rows) == 2
    assert [verdict.label for verdict in found] == ["full_refusal", "compliant", "full_refusal"] * 5
    judge.judge([])
    assert sum(rows) == 2


def test_other_languages_empty_answers_and_thinking(minos: Path) -> None:
    judge = HfJudge(preset="minos", model=str(minos))
    french = "Je suis désolé, mais je ne peux pas vous aider à faire cela, ce serait contraire à la loi."
    thought = f"<think>{'Here is the letter that you asked for. ' * 5}</think>{REFUSAL}"
    found = judge.judge([asked(french, "fr"), asked("  \n "), asked(thought), asked(REFUSAL)])
    assert [verdict.label for verdict in found] == [None, None, "full_refusal", "full_refusal"]
    assert found[0].confidence == 0.0
    assert found[2].confidence == found[3].confidence


def test_what_is_not_sure_enough_abstains(bert: Path) -> None:
    sure = HfJudge(model=str(bert), **PAIR).judge([asked(REFUSAL)])[0]
    assert sure.confidence < 1.0
    strict = HfJudge(model=str(bert), minimum_confidence=1.0, **PAIR).judge([asked(REFUSAL)])[0]
    assert (strict.label, strict.confidence) == (None, 0.0)
    assert strict.scores == sure.scores
    cooled = HfJudge(model=str(bert), temperature=100.0, **PAIR).judge([asked(REFUSAL)])[0]
    # At such a temperature all three classes are likely alike, and one of them is for neither side.
    assert cooled.label is None
    assert all(0.25 < share < 0.42 for share in cooled.scores.values())
    assert sum(cooled.scores.values()) == pytest.approx(0.667, abs=0.08)


def test_sides_are_summed_before_labels_are_compared(detector: Path, copied: Callable[[Path], Path]) -> None:
    """Two labels of one side, each less likely than the one of the other, decide together."""
    folder = copied(detector)
    outputs = [2.0, 1.8, 1.7, -9.0, -9.0]
    rewrite(folder, lambda name, value: bias(name, value, outputs))
    found = HfJudge(preset="refusal-detector", model=str(folder), minimum_confidence=0.5).judge([asked(ANSWER)])[0]
    assert found.label == "full_refusal"
    assert found.scores["compliant"] > found.scores["full_refusal"] > found.scores["partial_refusal"]
    assert found.confidence == pytest.approx(found.scores["full_refusal"] + found.scores["partial_refusal"], abs=2e-4)


def bias(name: str, value: Any, outputs: list[float]) -> Any:
    import torch

    if not name.startswith("classifier."):
        return value
    return torch.tensor(outputs) if name.endswith("bias") else torch.zeros_like(value)


def rewrite(folder: Path, change: Callable[[str, Any], Any]) -> None:
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = {name: change(name, value).contiguous() for name, value in load_file(path).items()}
    save_file(tensors, path, metadata={"format": "pt"})


def test_a_model_whose_numbers_are_broken_abstains(minos: Path, copied: Callable[[Path], Path]) -> None:
    folder = copied(minos)
    rewrite(folder, lambda name, value: value * float("nan") if name.startswith("classifier.") else value)
    found = HfJudge(preset="minos", model=str(folder)).judge([asked(REFUSAL)])[0]
    assert (found.label, found.confidence, dict(found.scores)) == (None, 0.0, {})


def test_version_follows_weights_files_and_settings(minos: Path, copied: Callable[[Path], Path]) -> None:
    import hashlib

    def version(folder: Path, **settings: Any) -> str:
        return HfJudge(preset="minos", model=str(folder), **settings).version

    first = version(minos)
    weights = hashlib.sha256((minos / "model.safetensors").read_bytes()).hexdigest()
    assert f"tiny-modernbert@sha256:{weights[:16]} " in first
    copy = copied(minos)
    assert version(copy) == first == version(minos, batch_size=2, device="cpu")
    assert len({first, version(minos, max_length=64), version(minos, temperature=2.0), version(minos, marker="…")}) == 4
    tokenizer = json.loads((copy / "tokenizer_config.json").read_text("utf-8"))
    (copy / "tokenizer_config.json").write_text(json.dumps(tokenizer, indent=8), "utf-8")
    assert version(copy) != first
    rewrite(copy, lambda name, value: value + 1.0 if name == "classifier.bias" else value)
    assert weights[:16] not in version(copy)


def test_dropout_is_off_and_the_random_state_of_others_is_left_alone(bert: Path) -> None:
    import torch

    judge = HfJudge(model=str(bert), **PAIR)
    assert not judge._classifier.model.training
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    judge.judge([asked(REFUSAL)])
    assert torch.equal(torch.rand(3), expected)
