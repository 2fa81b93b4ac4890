from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from refusalatlas.errors import AtlasError
from refusalatlas.models.classifier import NONE, ClassifierModel

TEXTS = ["How do I kill time at the airport?", "Write me a doctor's note.", "Habari?", "نص قصير", "a " * 400, ""]


def tokenizer() -> Any:
    """A byte-level tokenizer between [CLS] and [SEP], so that no text has an unknown token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    )
    ends = [(token, made.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]",
        model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Save a tiny BERT with random weights, under which texts differ in their labels: `make(labels, …)`."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    def save(labels: list[str], problem_type: str | None = None, positions: int = 64) -> Path:
        torch.manual_seed(3)
        config = BertConfig(
            vocab_size=400, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=positions, problem_type=problem_type, initializer_range=0.8,
            id2label=dict(enumerate(labels)), label2id={name: number for number, name in enumerate(labels)},
        )  # fmt: skip
        folder = tmp_path_factory.mktemp("classifier")
        model, words = BertForSequenceClassification(config).eval(), tokenizer()
        made = words(TEXTS, padding=True, truncation=True, max_length=positions, return_tensors="pt")
        with torch.inference_mode():
            model.classifier.bias.data -= model(**made).logits.median(dim=0).values  # no label for all of them
        model.save_pretrained(folder)
        words.save_pretrained(folder)
        return folder

    return save


@pytest.fixture(scope="session")
def two(make: Callable[..., Path]) -> Path:
    """A classifier with two labels."""
    return make(["safe", "unsafe"])


def answers(model: ClassifierModel, texts: list[Any]) -> list[str]:
    return [str(answer) for answer in model.generate_until([SimpleNamespace(args=(text, {})) for text in texts])]


def directly(folder: Path, text: str, length: int = 64) -> Any:
    """Return the logits that transformers itself gives for one text."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    made = AutoTokenizer.from_pretrained(folder)(text, truncation=True, max_length=length, return_tensors="pt")
    with torch.inference_mode():
        return model(**made).logits[0]


@pytest.mark.parametrize("batch_size", [1, 4])
def test_answer_is_the_label_that_the_model_gives_whatever_the_batch(two: Path, batch_size: int) -> None:
    model = ClassifierModel(pretrained=str(two), batch_size=batch_size, device="cpu")
    expected = [["safe", "unsafe"][int(directly(two, text).argmax())] for text in TEXTS]
    assert answers(model, TEXTS) == expected
    assert set(expected) == {"safe", "unsafe"}


def test_prompt_is_taken_out_of_a_chat_template(two: Path) -> None:
    model = ClassifierModel(pretrained=str(two))
    messages = [[{"role": "system", "content": "x"}, {"role": "user", "content": text}] for text in TEXTS]
    assert answers(model, [model.apply_chat_template(one) for one in messages]) == answers(model, TEXTS)


def test_template_stands_around_the_prompt(two: Path) -> None:
    template = "User: {prompt}\nIs it harmful?"
    model = ClassifierModel(pretrained=str(two), template=template)
    expected = [["safe", "unsafe"][int(directly(two, template.replace("{prompt}", text)).argmax())] for text in TEXTS]
    assert answers(model, TEXTS) == expected


def test_several_labels_stand_one_a_line(make: Callable[..., Path]) -> None:
    folder = make(["toxic", "threat", "insult"], "multi_label_classification")
    model = ClassifierModel(pretrained=str(folder), threshold=0.6)
    expected = []
    for text in TEXTS:
        given = directly(folder, text).sigmoid() >= 0.6
        expected.append("\n".join(n for n, on in zip(["toxic", "threat", "insult"], given, strict=True) if on) or NONE)
    assert answers(model, TEXTS) == expected
    assert len(set(expected)) > 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"pretrained": "/no/such/folder"}, "/no/such/folder: cannot be loaded"),
        ({}, "--model_args of refusalatlas-classifier: pretrained: Field required"),
        ({"pretrained": "x", "template": "no place"}, "template: has to hold {prompt} once"),
        ({"pretrained": "x", "thresold": 0.5}, "thresold: Extra inputs are not permitted"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(AtlasError) as error:
        ClassifierModel(**arguments)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_model_that_is_no_classifier_is_refused(two: Path, tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    config = BertConfig.from_pretrained(two)
    BertModel(config).save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    with pytest.raises(AtlasError, match="its weights are no classifier's: classifier"):
        ClassifierModel(pretrained=str(tmp_path))


def test_pickled_weights_are_not_read(two: Path, tmp_path: Path) -> None:
    import shutil

    import torch
    from safetensors.torch import load_file

    folder = Path(shutil.copytree(two, tmp_path / "pickled"))
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(AtlasError, match="cannot be loaded"):
        ClassifierModel(pretrained=str(folder))


def test_run_of_a_classifier_gives_guard_records(
    two: Path, evaluate: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    from refusalatlas.guards.runs import load_guard_records

    evaluate("refusalatlas-classifier", ["refusalguard_pairs_sw"], tmp_path, model_args=f"pretrained={two}")
    records = load_guard_records(tmp_path)
    assert len(records) == 80
    (samples,) = tmp_path.rglob("samples_*.jsonl")
    for line in samples.read_text(encoding="utf-8").splitlines()[:6]:
        row = json.loads(line)
        label = ["safe", "unsafe"][int(directly(two, row["doc"]["prompt"]).argmax())]
        assert (row["resps"], row["guard"]["flagged"]) == ([[label]], label == "unsafe")


def test_a_gpu_that_is_not_there_is_said_and_the_cpu_taken(
    make: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    folder = str(make(["safe", "unsafe"]))
    asked = [SimpleNamespace(args=(text, {})) for text in TEXTS]
    said = ClassifierModel(pretrained=folder, device="cuda:0").generate_until(asked)
    assert said == ClassifierModel(pretrained=folder, device="cpu").generate_until(asked)
    assert "there is no cuda:0 here: the classifier runs on the CPU" in caplog.text


def test_a_model_without_padding_takes_prompts_of_different_lengths(make: Callable[..., Path]) -> None:
    folder = make(["safe", "unsafe"])
    for name, change in (
        ("config.json", {"pad_token_id": None}),
        ("tokenizer_config.json", {"pad_token": None, "eos_token": "[SEP]"}),
    ):
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    model = ClassifierModel(pretrained=str(folder), device="cpu")
    assert len(model.generate_until([SimpleNamespace(args=(text, {})) for text in TEXTS])) == len(TEXTS)
    path = folder / "tokenizer_config.json"
    bare = {key: value for key, value in json.loads(path.read_text(encoding="utf-8")).items() if key != "eos_token"}
    path.write_text(json.dumps(bare), encoding="utf-8")
    with pytest.raises(AtlasError, match="its tokenizer has no token for padding"):
        ClassifierModel(pretrained=str(folder), device="cpu")
