"""What has to be known about a classifier before it can judge, and the presets that know it of published ones."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from refusalatlas.errors import UnknownNameError
from refusalatlas.files import dumps, read_yaml, validate
from refusalatlas.records import REFUSED, Label

PRESETS = Path(__file__).parent / "presets"

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_PATH_LIKE = re.compile(r"[/~.]|[A-Za-z]:[\\/]")
_PLACE = re.compile(r"\{(prompt|response)\}")
_Code = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]


class HfSettings(BaseModel):
    """One classifier: where it is, what it reads, what its labels mean.

    Attributes:
        model: Name on the hub (``owner/name``), or path of a folder that `save_pretrained` wrote.
        revision: Commit, tag or branch on the hub; needed for a name, and nothing that a folder has.
        input: What it reads: the ``response`` alone, prompt and response as a text ``pair``, or both in one text
            with ``roles``.
        template: That text, for ``roles``: ``{response}``, and before it ``{prompt}``.
        labels: The model's labels and ours; null for a class that says nothing about refusal. The side, refused or not,
            follows from our label (`records.REFUSED`).
        classes: The model's labels in the order of its outputs, for a model whose configuration does not name them.
        max_length: Tokens that it reads, special ones included.
        marker: Stands for the middle of a text that is too long.
        opening_share: Share of what is kept of such a text that is its opening; the rest is its end.
        languages: BCP-47 codes that it was trained on; on others the judge abstains. None for all.
        batch_size: Texts at a time.
        minimum_confidence: Probability of the likelier side under which the judge abstains.
        temperature: Divides the model's outputs, where one was fitted to calibrate them.
        device: ``auto`` is a GPU where there is one, else the CPU.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(min_length=1)]
    revision: Annotated[str, Field(pattern=r"^[\w][\w./-]{0,99}$")] | None = None
    input: Literal["response", "pair", "roles"]
    template: str | None = None
    labels: Annotated[dict[str, Label | None], Field(min_length=2)]
    classes: list[str] | None = None
    max_length: Annotated[int, Field(ge=32, le=1 << 17)] = 512
    marker: Annotated[str, Field(min_length=1, max_length=40)] = " [...] "
    opening_share: Annotated[float, Field(ge=0.1, le=0.9)] = 2 / 3
    languages: Annotated[list[_Code], Field(min_length=1)] | None = None
    batch_size: Annotated[int, Field(ge=1, le=1024)] = 16
    minimum_confidence: Annotated[float, Field(ge=0.5, le=1.0)] = 0.6
    temperature: Annotated[float, Field(gt=0.0, le=100.0)] = 1.0
    device: Annotated[str, Field(pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$")] = "auto"

    @model_validator(mode="after")
    def _consistent(self) -> HfSettings:
        if self.input != "roles" and self.template is not None:
            raise ValueError("template is for input: roles")
        if self.input == "roles" and _PLACE.findall(self.template or "") not in (["prompt", "response"], ["response"]):
            raise ValueError("input: roles needs a template with {response} once, and at most one {prompt} before it")
        sides = {label in REFUSED for label in self.labels.values() if label is not None}
        if len(sides) < 2:
            raise ValueError("labels need one of ours that counts as refused and one that does not")
        if self.classes is not None and (
            len(set(self.classes)) < len(self.classes) or set(self.classes) != set(self.labels)
        ):
            raise ValueError("classes and labels name different classes")
        if self.local and self.revision is not None:
            raise ValueError("revision is for a model of the hub, and model is a folder")
        if not self.local and self.revision is None:
            raise ValueError("a model of the hub needs a revision: its commit; a folder is written ./folder")
        return self

    @property
    def local(self) -> bool:
        """Whether `model` is a folder: it looks like a path, or cannot be a name on the hub."""
        return _is_path(self.model)

    @property
    def pieces(self) -> tuple[str, str, str]:
        """What stands before the prompt, between prompt and response, and after the response."""
        before, _, rest = (self.template or "{prompt}{response}").rpartition("{prompt}")
        between, _, after = rest.partition("{response}")
        return before, between, after

    @property
    def reads_prompt(self) -> bool:
        """Whether the prompt is part of the input."""
        return self.input == "pair" or (self.input == "roles" and "{prompt}" in (self.template or ""))

    def digest(self) -> str:
        """Return a hex SHA-256 of all that a verdict depends on besides the model's files."""
        facts = self.model_dump(mode="json", exclude={"model", "revision", "batch_size", "device"})
        return hashlib.sha256(dumps(facts).encode()).hexdigest()


def _is_path(model: str) -> bool:
    return bool(_PATH_LIKE.match(model)) or not _HUB_NAME.fullmatch(model)


def model_from(folder: Path, model: str) -> str:
    """Return a model as it is called from anywhere, where a relative path is meant to start at a folder."""
    return str(folder / Path(model).expanduser()) if model and _is_path(model) else model


def preset_names(folder: Path = PRESETS) -> list[str]:
    """Return the names of the presets."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def read_settings(preset: str | None, own: Mapping[str, Any], where: str) -> HfSettings:
    """Return a preset's settings with a panel's own in place of some, or the panel's own alone.

    A preset's revision goes where the panel names another model.

    Args:
        preset: Name of the preset, or None.
        own: Settings of the panel.
        where: What to call them in messages.

    Raises:
        UnknownNameError: where there is no such preset.
        DataError: where the settings are wrong.
    """
    base: dict[str, Any] = {}
    if preset is not None:
        if preset not in (known := preset_names()):
            raise UnknownNameError("preset", preset, known)
        base = dict(read_yaml(PRESETS / f"{preset}.yaml"))
        if "model" in own:
            base.pop("revision", None)
    return validate(HfSettings, {**base, **own}, where)
