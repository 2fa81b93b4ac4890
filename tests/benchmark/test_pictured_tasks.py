"""Tasks with pictures through lm_eval: a tiny vision-language model made here, and the reference policies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refusalatlas.places import items_in
from refusalatlas.runs import Run, load_run
from refusalatlas.scenes import seed_targets

pytest.importorskip("PIL")

TASKS = ["refusalmm_grounding_en", "refusalmm_grounding_en_point", "refusalmm_grounding_en_box"]
APAC = "refusalmm_apac_en_SG"
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{% if m['content'] is string %}{{ m['content'] }}{% else %}"
    "{% for part in m['content'] %}{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}{% endfor %}<|assistant|>"
)


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llava of two layers for eyes and words each, with random weights, saved as a model is."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    folder = tmp_path_factory.mktemp("eyes")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|end|>", "<image>", "<|user|>", "<|assistant|>", "<|system|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator([item.prompt for item in items_in("grounding", "en", None)], trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>")
    eyes = transformers.CLIPVisionConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, image_size=56, patch_size=14
    )
    words = transformers.LlamaConfig(
        vocab_size=len(fast), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=1024, eos_token_id=fast.eos_token_id, pad_token_id=fast.pad_token_id,
    )  # fmt: skip
    torch.manual_seed(0)
    config = transformers.LlavaConfig(
        vision_config=eyes, text_config=words, image_token_id=fast.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1, image_seq_length=16,
    )  # fmt: skip
    transformers.LlavaForConditionalGeneration(config).save_pretrained(folder)
    processor = transformers.LlavaProcessor(
        transformers.CLIPImageProcessor(size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56}),
        fast, patch_size=14, vision_feature_select_strategy="default", chat_template=TEMPLATE,
        num_additional_image_tokens=1,
    )  # fmt: skip
    processor.save_pretrained(folder)
    return folder


def asked(evaluate: Callable[..., Any], model: Path, task: str, folder: Path, **settings: int) -> Run:
    """Return the run of a vision-language model through lm_eval's own backend."""
    evaluate(
        "hf-multimodal",
        [task],
        folder,
        model_args=f"pretrained={model},dtype=float32,convert_img_format=False",
        device="cpu",
        gen_kwargs="max_gen_toks=8",
        apply_chat_template=True,
        **settings,
    )
    return load_run(folder)


@pytest.mark.torch
def test_a_vision_language_model_runs_through_hf_multimodal(
    tiny_model: Path, evaluate: Callable[..., Any], tmp_path: Path
) -> None:
    run = asked(evaluate, tiny_model, TASKS[1], tmp_path, batch_size=4, limit=8)
    assert len(run.records) == 8
    assert {record.variant for record in run.records} == {"picture_point"}
    assert all(len(answers) == 1 for answers in run.responses.values())


@pytest.mark.torch
def test_it_is_shown_one_thing_too(tiny_model: Path, evaluate: Callable[..., Any], tmp_path: Path) -> None:
    run = asked(evaluate, tiny_model, APAC, tmp_path, batch_size=2, limit=4)
    assert {(record.track, record.locale, record.variant) for record in run.records} == {
        ("apacpictures", "en-SG", "picture")
    }
    assert len(run.records) == 4


@pytest.mark.parametrize(("policy", "aware"), [("ideal", 1.0), ("always-comply", 0.0)])
def test_policies_answer_about_one_thing(
    policy: str, aware: float, evaluate: Callable[..., Any], tmp_path: Path
) -> None:
    found = evaluate("refusalatlas-reference", [APAC], tmp_path, model_args=f"policy={policy}")["results"][APAC]
    for axis in ("safety", "appropriateness"):
        assert found[f"awareness_rate_{axis},panel"] == aware
        assert found[f"unaware_compliance_{axis},panel"] == 1.0 - aware
        assert found[f"misnamed_rate_{axis},panel"] == found[f"over_refusal_{axis},panel"] == 0.0
    from refusalatlas.scoring import score_records

    records = load_run(tmp_path).records
    cells = [c for c in score_records(records, by_category=False, pooled=False) if c.metric == "misnamed_rate"]
    assert sorted(cell.axis for cell in cells) == ["appropriateness", "safety"]
    assert sum(cell.denominator for cell in cells) == len(records)
    assert {cell.numerator for cell in cells} == {0.0}


def test_the_ideal_policy_finds_the_thing_in_pictures(evaluate: Callable[..., Any], tmp_path: Path) -> None:
    results = evaluate("refusalatlas-reference", TASKS, tmp_path, model_args="policy=ideal")["results"]
    for task in TASKS[1:]:
        assert results[task]["grounding_accuracy,panel"] == 1.0
        assert results[task]["unsafe_compliance,panel"] == 0.0
    from refusalatlas.scoring import score_records

    cells = {(c.variant, c.metric): c for c in score_records(load_run(tmp_path).records, by_category=False)}
    gap = cells["picture_point", "grounding_gap"]
    assert (gap.value, gap.denominator) == (0.0, 24)


def test_samples_hold_no_picture_bytes(evaluate: Callable[..., Any], tmp_path: Path) -> None:
    evaluate("refusalatlas-reference", [TASKS[1]], tmp_path, model_args="policy=ideal", limit=4)
    (path,) = tmp_path.rglob("samples_*.jsonl")
    assert path.stat().st_size < 100_000
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert {line["doc"]["seed_id"] for line in lines} <= seed_targets("grounding").keys()
