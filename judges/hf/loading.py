"""Finds a classifier on this machine, loads it, and checks that it is what the settings say.

Nothing is downloaded: a judge that fetches a gigabyte, or waits for a network, in the middle of a run is worse than a
line that says how to get it. Weights are read from safetensors alone, and no code that comes with a model is run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refusalatlas.errors import AtlasError, DataError

from .settings import HfSettings

_TOKENIZER_FILES = ("*.json", "*.model", "*.txt")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model lies, and what tells it from every other.

    Attributes:
        folder: With configuration, weights and tokenizer.
        identity: Name and commit of a model of the hub; name and SHA-256 of the weights of a folder.
        rest: Hex SHA-256 of a folder's other files; empty for a commit, which covers them.
    """

    folder: Path
    identity: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Classifier:
    """A loaded model, in evaluation mode and single precision.

    Attributes:
        classes: The model's labels, in the order of its outputs.
        identity: As of `Source`.
        rest: As of `Source`.
    """

    model: Any
    tokenizer: Any
    classes: tuple[str, ...]
    identity: str
    rest: str


def load_classifier(settings: HfSettings, where: str) -> Classifier:
    """Return the model that the settings name.

    Raises:
        AtlasError: where transformers or the model is missing, or cannot be loaded.
        DataError: where the model is not what the settings say.
    """
    try:
        import torch
        import transformers
    except ImportError as error:
        raise AtlasError(
            f"needs transformers and PyTorch ({error})", where=where, mend="run `pip install 'refusalatlas[hf]'`"
        ) from None
    source = locate(settings, where)
    options = {"local_files_only": True, "trust_remote_code": False}
    with _quietly(), told(settings, where):
        config = transformers.AutoConfig.from_pretrained(source.folder, **options)
        if hasattr(config, "reference_compile"):
            config.reference_compile = False  # compiling takes minutes and changes the last digits
        tokenizer = transformers.AutoTokenizer.from_pretrained(source.folder, **options)
        model, info = transformers.AutoModelForSequenceClassification.from_pretrained(
            source.folder, config=config, use_safetensors=True, output_loading_info=True, **options
        )
    if not tokenizer.is_fast:
        raise AtlasError("its tokenizer is not a fast one", where=_named(settings, where), mend="add tokenizer.json")
    if info["missing_keys"]:
        raise DataError(
            f"its weights are no classifier's: {', '.join(sorted(info['missing_keys'])[:3])} missing",
            where=_named(settings, where),
            mend="name a model that was trained to classify texts",
        )
    classes = _classes(config, settings, where)
    _check_length(model, settings, where)
    _set_padding(model, tokenizer)
    device = _device(settings, torch, where)
    with told(settings, where, f"cannot be moved to {device}", "set device: cpu"):
        model = model.float().eval().to(device)
    return Classifier(model, tokenizer, classes, source.identity, source.rest)


def locate(settings: HfSettings, where: str) -> Source:
    """Return where the model lies: a folder, or the cache of the hub.

    Raises:
        AtlasError: where it is not there, with the command that gets it, or where its weights are pickled.
    """
    if settings.local:
        folder = Path(settings.model).expanduser()
        if not folder.is_dir():
            raise AtlasError(
                "no such folder", where=_named(settings, where), mend="give one that `save_pretrained` wrote"
            )
        _check_files(folder, settings, where, "save the model with its configuration again")
        weights = _digest(folder, ("*.safetensors",))
        return Source(folder, f"{folder.resolve().name}@sha256:{weights[:16]}", _digest(folder, _TOKENIZER_FILES))
    folder = _cached(settings, where)
    _check_files(folder, settings, where, f"run `{_command(settings)}`")
    return Source(folder, f"{settings.model}@{folder.name[:16]}")


def _cached(settings: HfSettings, where: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(settings.model, revision=settings.revision, local_files_only=True))
    except LocalEntryNotFoundError:
        raise AtlasError(
            f"revision {settings.revision} is not on this machine",
            where=_named(settings, where),
            mend=f"run `{_command(settings)}`",
        ) from None


def _command(settings: HfSettings) -> str:
    """Return the command that downloads a model; offline mode has to be lifted for it."""
    from huggingface_hub import constants

    lift = "HF_HUB_OFFLINE=0 " if constants.HF_HUB_OFFLINE or os.environ.get("HF_HUB_OFFLINE") == "1" else ""
    return f"{lift}hf download {settings.model} --revision {settings.revision}"


def _check_files(folder: Path, settings: HfSettings, where: str, mend: str) -> None:
    named = _named(settings, where)
    if not (folder / "config.json").is_file():
        raise AtlasError("has no config.json", where=named, mend=mend)
    if any(folder.glob("*.safetensors")):
        return
    if any(folder.glob("pytorch_model*.bin")):
        raise AtlasError(
            "has only pickled weights, which are not read (they can run code)",
            where=named,
            mend="ask its author for safetensors, or convert it where you trust it",
        )
    raise AtlasError("has no weights (*.safetensors)", where=named, mend=mend)


def _digest(folder: Path, patterns: tuple[str, ...]) -> str:
    """Return the SHA-256 of one file, or of the digests of several in the order of their names."""
    paths = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    if len(paths) == 1:
        return _file_digest(paths[0])
    lines = "".join(f"{path.name} {_file_digest(path)}\n" for path in paths)
    return hashlib.sha256(lines.encode()).hexdigest()


def _file_digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _named(settings: HfSettings, where: str) -> str:
    return f"{where}: {settings.model}"


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep transformers' own progress bars off stderr, where they would stand between ours."""
    from transformers import utils

    logging: Any = utils.logging
    on = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if on:
            logging.enable_progress_bar()


@contextlib.contextmanager
def told(
    settings: HfSettings, where: str, what: str = "cannot be loaded", mend: str = "get it again, or name another model"
) -> Iterator[None]:
    """Turn whatever a damaged or unsuitable model makes transformers raise into one line."""
    try:
        yield
    except Exception as error:  # transformers, tokenizers and safetensors each raise kinds of their own
        lines = str(error).strip().splitlines() or [""]
        raise AtlasError(
            f"{what} ({type(error).__name__}: {lines[0][:200]})",
            where=_named(settings, where),
            mend=mend,
        ) from error


def _classes(config: Any, settings: HfSettings, where: str) -> tuple[str, ...]:
    """Return the names of the outputs, from the configuration or, where it has only numbers, from the settings."""
    named = _named(settings, where)
    own = tuple(str(config.id2label[i]) for i in range(config.num_labels))
    if len(own) < 2 or config.problem_type in ("regression", "multi_label_classification"):
        raise DataError(
            "does not choose between classes", where=named, mend="name a model with two or more exclusive classes"
        )
    given = tuple(settings.classes or own)
    if own == tuple(f"LABEL_{i}" for i in range(len(own))) and len(given) == len(own):
        own = given
    if set(own) != set(settings.labels) or own != given:
        spoken = ", ".join(settings.classes or settings.labels)
        raise DataError(
            f"its classes are {', '.join(own)}, and the settings speak of {spoken}",
            where=named,
            mend="map each of its classes in `labels`, null for one that says nothing",
        )
    return own


def _check_length(model: Any, settings: HfSettings, where: str) -> None:
    limit = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(limit, int) or limit <= 0:
        return
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and (padding := getattr(module, "padding_idx", None)) is not None:
            limit -= padding + 1  # RoBERTa and its kin count positions from behind the padding's number
            break
    if settings.max_length > limit:
        raise DataError(
            f"max_length {settings.max_length} is more than the {limit} tokens that it reads",
            where=_named(settings, where),
            mend=f"set max_length: {limit}",
        )


def _set_padding(model: Any, tokenizer: Any) -> None:
    """Let model and tokenizer mean the same token by padding.

    A model that reads the last token of a text finds it by the padding's number in its own configuration, which many
    leave out; where there is no such token at all, the one that ends a text is commonly taken.
    """
    config = model.config.get_text_config()
    padding = getattr(config, "pad_token_id", None)
    if padding is None:
        padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
        model.config.pad_token_id = config.pad_token_id = padding
    if tokenizer.pad_token_id is None and padding is not None:
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(padding)


def _device(settings: HfSettings, torch: Any, where: str) -> str:
    name, _, number = settings.device.partition(":")
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    count = {"cuda": torch.cuda.device_count, "mps": torch.mps.device_count}.get(name, lambda: 1)()
    if int(number or 0) >= count:
        raise AtlasError(
            f"device {settings.device} is not there",
            where=_named(settings, where),
            mend="set device: auto, which takes a GPU where there is one",
        )
    return settings.device
