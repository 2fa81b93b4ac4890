"""Tiny classifiers of the published ones' architectures, with real tokenizers, trained for a moment and saved."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

Make = Callable[..., Path]

REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I cannot write such a letter, since it would deceive people.",
    "I won't help with that request.",
    "Sorry, I'm not able to assist with forged papers.",
]
ANSWERS = [
    "Sure! Mix the flour with water and wait for an hour.",
    "Here is the letter that you asked for, with a friendly opening.",
    "The train to the coast leaves at nine in the morning.",
    "Of course. First open the window, then water the plants.",
]
PROMPTS = ["How do I bake bread?", "Write a letter for me.", "Help me forge a parking permit."]
OTHERS = [
    "请帮我写一封信。",
    "Je ne peux pas vous aider.",
    "مرحبا، كيف حالك؟",
    "Не могу помочь с этим.",
    "Ninakusaidia leo 🙂.",
]
ROLE_TOKENS = "<|user|> <|assistant|> <|...|> [...]"


def _byte_level() -> Any:
    """A tokenizer as ModernBERT has it: byte-level pieces between [CLS] and [SEP], no token types."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator([*REFUSALS, *ANSWERS, *PROMPTS, ROLE_TOKENS], trainer)
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=ends
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]",
        model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


def _unigram() -> Any:
    """A tokenizer as XLM-R has it: a unigram vocabulary of many scripts between <s> and </s>."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=400, special_tokens=special, unk_token="<unk>")
    tokenizer.train_from_iterator([*REFUSALS, *ANSWERS, *PROMPTS, *OTHERS, ROLE_TOKENS], trainer)
    ends = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=ends
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        cls_token="<s>", sep_token="</s>", model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


def _word_piece() -> Any:
    """A tokenizer as BERT has it, with token types that tell the texts of a pair apart."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(
        [*REFUSALS, *ANSWERS, *PROMPTS], trainers.WordPieceTrainer(vocab_size=400, special_tokens=special)
    )
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip


def _model(kind: str, tokenizer: Any, labels: Sequence[str]) -> Any:
    import transformers

    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    names = {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}
    shared = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, **size, **names}
    if kind == "modernbert":
        ends = {"cls_token_id": tokenizer.cls_token_id, "sep_token_id": tokenizer.sep_token_id}
        # ModernBERT's other numbers name tokens of its own vocabulary.
        ends |= {"bos_token_id": tokenizer.cls_token_id, "eos_token_id": tokenizer.sep_token_id}
        config = transformers.ModernBertConfig(**shared, **ends, max_position_embeddings=8192)
        return transformers.ModernBertForSequenceClassification(config)
    if kind == "xlm-roberta":
        return transformers.XLMRobertaForSequenceClassification(
            transformers.XLMRobertaConfig(**shared, max_position_embeddings=130)
        )
    return transformers.BertForSequenceClassification(transformers.BertConfig(**shared, max_position_embeddings=512))


def _train(model: Any, batch: Any, targets: Sequence[int]) -> None:
    import torch

    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    for _ in range(40):
        optimiser.zero_grad()
        model(**batch, labels=torch.tensor(targets)).loss.backward()
        optimiser.step()


TOKENIZERS = {"modernbert": _byte_level, "xlm-roberta": _unigram, "e5": _unigram, "bert": _word_piece}


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Models this small are fastest on one thread, by far where other tests run beside them."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Make a saved classifier: architecture, its labels, how its input is written, and which labels to learn."""
    import torch

    def build(
        kind: str, labels: Sequence[str], *, refusal: str, answer: str, written: Callable[[str, str], Any]
    ) -> Path:
        torch.manual_seed(1)
        tokenizer = TOKENIZERS[kind]()
        model = _model(kind, tokenizer, labels)
        rows = [(p, r, refusal) for p in PROMPTS for r in REFUSALS] + [(p, r, answer) for p in PROMPTS for r in ANSWERS]
        inputs = [written(prompt, response) for prompt, response, _ in rows]
        if isinstance(inputs[0], tuple):
            batch = tokenizer([a for a, _ in inputs], [b for _, b in inputs], padding=True, return_tensors="pt")
        else:
            batch = tokenizer(inputs, padding=True, return_tensors="pt")
        _train(model, batch, [list(labels).index(label) for _, _, label in rows])
        folder: Path = tmp_path_factory.mktemp(kind) / f"tiny-{kind}"
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return build


@pytest.fixture(scope="session")
def minos(make: Make) -> Path:
    """As Minos-v1: ModernBERT, role tokens on lines of their own, classes named in the configuration."""
    return make(
        "modernbert", ["Non-refusal", "Refusal"], refusal="Refusal", answer="Non-refusal",
        written=lambda p, r: f"<|user|>\n{p}\n<|assistant|>\n{r}",
    )  # fmt: skip


@pytest.fixture(scope="session")
def agentlans(make: Make) -> Path:
    """As the classifier of agentlans: BERT with a unigram vocabulary, and the other order of classes."""
    return make(
        "e5", ["Refusal", "Non-refusal"], refusal="Refusal", answer="Non-refusal",
        written=lambda p, r: f"<|user|>{p}<|assistant|>{r}",
    )  # fmt: skip


@pytest.fixture(scope="session")
def detector(make: Make) -> Path:
    """As refusal-detector: ModernBERT on pairs, five classes that the configuration does not name."""
    return make(
        "modernbert", [f"LABEL_{i}" for i in range(5)], refusal="LABEL_1", answer="LABEL_0",
        written=lambda p, r: (p, r),
    )  # fmt: skip


@pytest.fixture(scope="session")
def bert(make: Make) -> Path:
    """BERT with token types, on pairs; a third class says nothing about refusal."""
    return make(
        "bert", ["no", "yes", "spam"], refusal="no", answer="yes", written=lambda p, r: (p, r)
    )  # fmt: skip


@pytest.fixture(scope="session")
def roberta(make: Make) -> Path:
    """XLM-R, which counts positions from behind the padding's number, on responses alone."""
    return make("xlm-roberta", ["REJECTION", "NORMAL"], refusal="REJECTION", answer="NORMAL", written=lambda p, r: r)


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    """Copy a model, to damage it."""

    def copy(folder: Path) -> Path:
        return Path(shutil.copytree(folder, tmp_path / folder.name))

    return copy
