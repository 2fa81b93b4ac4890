"""``refusalatlas-classifier``: any text classifier of transformers as a guard, whose answer is the label it gives."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.files import problems
from refusalatlas.records import Answer

from .base import MessageModel

_log = logging.getLogger("refusalatlas")

NONE = "none"
"""Answer of a classifier of several labels at once where it gives none of them."""

_FROM_LM_EVAL = frozenset({"max_batch_size", "trust_remote_code"})


class ClassifierSettings(BaseModel):
    """Arguments of ``refusalatlas-classifier``.

    Attributes:
        pretrained: Folder that `save_pretrained` wrote, or a model of the hub.
        revision: Commit or branch of the hub.
        template: What the classifier reads, with ``{prompt}`` once.
        threshold: Of a model that gives several labels at once: from which probability on it gives one.
        max_length: Tokens that it reads, the beginning of a longer prompt; 8 to 100,000.
        batch_size: Prompts at a time, 1 to 1024.
        device: ``cpu``, ``cuda``, …; by default what there is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    pretrained: Annotated[str, Field(min_length=1)]
    revision: str = "main"
    template: str = "{prompt}"
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    max_length: Annotated[int, Field(ge=8, le=100_000)] = 512
    batch_size: Annotated[int, Field(ge=1, le=1024)] = 16
    device: str | None = None

    @field_validator("template")
    @classmethod
    def _with_prompt(cls, template: str) -> str:
        if template.count("{prompt}") != 1:
            raise ValueError("has to hold {prompt} once")
        return template


@dataclass(frozen=True, slots=True)
class _Loaded:
    model: Any
    tokenizer: Any
    labels: tuple[str, ...]
    several: bool
    length: int


class ClassifierModel(MessageModel):
    """A text classifier: its answer to a prompt is its label, or its labels, one a line.

    Weights are read from safetensors alone, and no code that comes with a model is run.

    Args:
        **arguments: See `ClassifierSettings`, and what lm_eval hands to every model.

    Raises:
        AtlasError: where an argument is wrong, transformers is missing, or the model cannot be loaded.
    """

    lm_eval_name = "refusalatlas-classifier"

    def __init__(self, **arguments: Any) -> None:
        super().__init__()
        given = {key: value for key, value in arguments.items() if key not in _FROM_LM_EVAL and value is not None}
        try:
            self.settings = ClassifierSettings.model_validate(given)
        except ValidationError as error:
            raise AtlasError("; ".join(problems(error)), where=f"--model_args of {self.lm_eval_name}") from None
        self._loaded = _load(self.settings)
        name, revision = self.settings.pretrained, self.settings.revision
        self.identity = {"model": self.lm_eval_name, "pretrained": name, "revision": revision}

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[Answer]:
        """Return one answer a request, in order."""
        prompts = [_prompt(request.args[0]) for request in requests]
        answers: list[Answer] = []
        for start in range(0, len(prompts), self.settings.batch_size):
            part = prompts[start : start + self.settings.batch_size]
            served = f"{self.settings.pretrained}@{self.settings.revision}"
            answers += [Answer(said, finish_reason="stop", served_model=served) for said in self._classify(part)]
        return answers

    def _classify(self, prompts: Sequence[str]) -> list[str]:
        import torch

        own = self._loaded
        texts = [self.settings.template.replace("{prompt}", prompt) for prompt in prompts]
        made = own.tokenizer(texts, padding=True, truncation=True, max_length=own.length, return_tensors="pt")
        with torch.inference_mode():
            scores = own.model(**made.to(own.model.device)).logits.float().cpu()
        if not own.several:
            return [own.labels[int(best)] for best in scores.argmax(dim=-1)]
        given = scores.sigmoid() >= self.settings.threshold
        return ["\n".join(label for label, on in zip(own.labels, row, strict=True) if on) or NONE for row in given]


def _prompt(context: Any) -> str:
    """Return what the user says: the context itself, or of messages (with a chat template) the last of the user."""
    text = str(getattr(context, "prompt", context))
    if not hasattr(context, "prompt"):
        return text
    messages: list[Mapping[str, Any]] = json.loads(text)
    return next((str(message["content"]) for message in reversed(messages) if message["role"] == "user"), "")


def _device(wanted: str | None) -> str:
    """Return where to compute; lm_eval names a GPU also where there is none."""
    import torch

    there = "cuda" if torch.cuda.is_available() else "cpu"
    if wanted is not None and wanted.startswith("cuda") and there == "cpu":
        _log.warning("there is no %s here: the classifier runs on the CPU", wanted)
        return there
    return wanted or there


def _set_padding(model: Any, tokenizer: Any, where: str) -> None:
    """Let prompts of different lengths stand in one batch, also where a model was trained without padding.

    Raises:
        DataError: where its tokenizer has nothing to pad with.
    """
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token is None:
            mend = "name a model with a token for padding, or with one for the end of a text"
            raise DataError("its tokenizer has no token for padding", where=where, mend=mend)
        tokenizer.pad_token = tokenizer.eos_token
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_token_id


def _load(settings: ClassifierSettings) -> _Loaded:
    try:
        import torch  # noqa: F401 - transformers alone cannot load a model
        import transformers
    except ImportError as error:
        where, mend = ClassifierModel.lm_eval_name, "run `pip install 'refusalatlas[hf]'`"
        raise AtlasError(f"needs transformers and PyTorch ({error})", where=where, mend=mend) from None
    options = {"revision": settings.revision, "trust_remote_code": False}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(settings.pretrained, **options)
        model, info = transformers.AutoModelForSequenceClassification.from_pretrained(
            settings.pretrained, use_safetensors=True, output_loading_info=True, **options
        )
    except Exception as error:  # transformers, tokenizers and safetensors each raise kinds of their own
        lines = str(error).strip().splitlines() or [""]
        what = f"cannot be loaded ({type(error).__name__}: {lines[0][:200]})"
        mend = "name a folder or a model of the hub that classifies texts and has safetensors"
        raise AtlasError(what, where=settings.pretrained, mend=mend) from None
    if info["missing_keys"]:
        what = f"its weights are no classifier's: {', '.join(sorted(info['missing_keys'])[:3])} missing"
        mend = "name a model that was trained to classify texts"
        raise DataError(what, where=settings.pretrained, mend=mend)
    labels = tuple(str(model.config.id2label[number]) for number in range(model.config.num_labels))
    several = model.config.problem_type == "multi_label_classification"
    if len(labels) < 2 and not several:
        what, mend = "does not choose between labels", "name a model with two labels or more"
        raise DataError(what, where=settings.pretrained, mend=mend)
    _set_padding(model, tokenizer, settings.pretrained)
    model = model.eval().to(_device(settings.device))
    return _Loaded(model, tokenizer, labels, several, _length(model, tokenizer, settings.max_length))


def _length(model: Any, tokenizer: Any, wanted: int) -> int:
    """Return how many tokens can be read: no more than the model has positions for."""
    limits = [wanted]
    positions = getattr(model.config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        # RoBERTa and its kin count positions from behind the number of the padding token
        behind = (tokenizer.pad_token_id or 0) + 1 if "roberta" in str(model.config.model_type) else 0
        limits.append(positions - behind)
    return min(limits)
