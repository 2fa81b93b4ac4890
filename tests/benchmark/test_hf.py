"""lm_eval's own `hf` backend: a tiny model with random weights, a real tokenizer made here, and our tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refusalatlas.records import LABELLED
from refusalatlas.runs import load_run
from refusalatlas.tracks import load_items

pytestmark = pytest.mark.torch

TEMPLATE = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}{% endfor %}<|assistant|>"


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of two layers, and a byte-level tokenizer trained on our prompts, saved as a model is."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|end|>", "<|user|>", "<|assistant|>", "<|system|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator([item.prompt for item in load_items("pairs", "en")], trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(fast), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=1024, eos_token_id=fast.eos_token_id, pad_token_id=fast.pad_token_id,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def hf_run(tiny_model: Path, evaluate: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hf")
    evaluate(
        "hf",
        ["refusal_minos_en", "refusal_minos_ar"],
        folder,
        model_args=f"pretrained={tiny_model},dtype=float32",
        device="cpu",
        batch_size=10,
        gen_kwargs="max_gen_toks=12",
        apply_chat_template=True,
    )
    return folder


def test_run_of_a_local_model_is_read_back(hf_run: Path) -> None:
    run = load_run(hf_run)
    assert len(run.records) == 20
    assert all(len(answers) == 1 for answers in run.responses.values())


def test_facts_name_model_template_and_settings(hf_run: Path, tiny_model: Path) -> None:
    info = load_run(hf_run).info
    assert info["model"] == "hf"
    assert info["model_args"]["pretrained"] == str(tiny_model)
    assert info["chat_template_sha"]
    assert info["transformers_version"]


def test_noise_is_not_taken_for_a_refusal(hf_run: Path) -> None:
    """Random weights say nothing; whatever the panel makes of that, it must not be a refusal."""
    decisions = [d for record in load_run(hf_run).records for d in record.decisions]
    assert not any(d.label in ("full_refusal", "partial_refusal") for d in decisions)
    assert all(d.label is None or d.condition in LABELLED for d in decisions)
