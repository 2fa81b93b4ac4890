"""What is known of a published prompt set: a few lines of YAML, ``tasks/ext/<set>.yaml``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ..errors import DataError, UnknownNameError
from ..files import read_yaml, validate
from ..lines import Axis, Metric
from ..packs import Pack, packs
from ..records import Expected, Label

FOLDER = "ext"
"""The folder below ``tasks/`` that holds the sets of a pack."""

_Code = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Z][a-z]{3})?$")]
_Column = Annotated[str, Field(min_length=1, max_length=120)]
_Repository = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$", max_length=120)]
_Revision = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*$", max_length=80)]
_Value = str | int | bool

_OF_EXPECTATIONS: tuple[Metric, ...] = ("over_refusal", "unsafe_compliance", "youden_j")


def _some(values: Mapping[object, object]) -> Mapping[object, object]:
    if not values:
        raise ValueError("names nothing")
    return values


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExpectedByColumn(_Strict):
    """A column, and what each of its values expects; rows without a value are left out, other values are errors."""

    column: _Column
    values: Annotated[dict[_Value, Expected], AfterValidator(_some)]


class LanguageByColumn(_Strict):
    """A column, and the language of each of its values; rows with other values are not in any of them."""

    column: _Column
    values: Annotated[dict[_Value, _Code], AfterValidator(_some)]


class LanguageByPrompt(_Strict):
    """The column that holds the prompt, by language."""

    prompts: Annotated[dict[_Code, _Column], AfterValidator(_some)]


class LanguageByConfig(_Strict):
    """The config that holds the rows, by language."""

    configs: Annotated[dict[_Code, _Column], AfterValidator(_some)]


class Part(_Strict):
    """Rows that are read together: one split of one config."""

    split: _Column
    config: _Column | None = None
    expected: Expected | None = None


class Columns(_Strict):
    """What the columns are called; only the prompt is needed (elsewhere, where each language has a column)."""

    prompt: _Column | None = None
    id: _Column | None = None
    cluster: _Column | None = None
    category: _Column | None = None


class LabelByColumn(_Strict):
    """A column, and the label that each of its values stands for; rows with other values are passed over."""

    column: _Column
    values: Annotated[dict[_Value, Label], AfterValidator(_some)]


class Labelled(_Strict):
    """Where labelled responses to the prompts lie; by default beside them.

    Attributes:
        responses: By the column of the response, the column of its label and what its values stand for.
    """

    split: _Column
    config: _Column | None = None
    repository: _Repository | None = None
    revision: _Revision | None = None
    prompt: _Column
    id: _Column | None = None
    responses: Annotated[dict[_Column, LabelByColumn], AfterValidator(_some)]


class SetFile(_Strict):
    """What ``tasks/ext/<set>.yaml`` holds."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]+$", max_length=40)]
    title: Annotated[str, Field(min_length=1, max_length=80)]
    version: Annotated[str, Field(pattern=r"^[0-9]{1,4}-[0-9]{1,6}$")]
    summary: Annotated[str, Field(min_length=1, max_length=600)]
    repository: _Repository
    revision: _Revision
    licence: Annotated[str, Field(min_length=1, max_length=200)]
    citation: Annotated[str, Field(min_length=1, max_length=600)]
    access: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    parts: Annotated[list[Part], Field(min_length=1, max_length=20)]
    columns: Columns
    language: _Code | LanguageByColumn | LanguageByPrompt | LanguageByConfig
    expected: Expected | ExpectedByColumn | None = None
    keep: dict[_Column, list[_Value]] = {}
    axis: Axis = "safety"
    max_tokens: Annotated[int, Field(ge=1, le=8192)] = 512
    labelled: list[Labelled] = []

    @model_validator(mode="after")
    def _complete(self) -> SetFile:
        if (self.columns.prompt is None) != isinstance(self.language, LanguageByPrompt):
            raise ValueError("the prompt is named by columns.prompt or, for each language, by language.prompts")
        if self.expected is None and any(part.expected is None for part in self.parts):
            raise ValueError("a part says no `expected`, and neither does the set")
        if isinstance(self.language, LanguageByConfig) and any(part.config for part in self.parts):
            raise ValueError("the config is named by the part or, for each language, by language.configs")
        return self


@dataclass(frozen=True, slots=True)
class ExternalSet:
    """A published prompt set.

    Attributes:
        file: What its YAML says.
        pack: Name of the pack that brings it.
        path: Where the YAML lies.
    """

    file: SetFile
    pack: str
    path: Path

    @property
    def name(self) -> str:
        """Its name, also the track of its records."""
        return self.file.name

    @property
    def languages(self) -> tuple[str, ...]:
        """BCP-47 codes of the languages that it has prompts in, sorted."""
        language = self.file.language
        if isinstance(language, str):
            return (language,)
        if isinstance(language, LanguageByPrompt):
            return tuple(sorted(language.prompts))
        if isinstance(language, LanguageByConfig):
            return tuple(sorted(language.configs))
        return tuple(sorted(set(language.values.values())))

    @property
    def expectations(self) -> frozenset[Expected]:
        """What is expected of its prompts."""
        found = {part.expected for part in self.file.parts if part.expected is not None}
        if any(part.expected is None for part in self.file.parts):
            expected = self.file.expected
            found |= set(expected.values.values()) if isinstance(expected, ExpectedByColumn) else {expected}  # type: ignore[arg-type]
        return frozenset(found)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The rows of its table: those that its expectations can give, then those that are of all answers."""
        from ..table_rows import NEEDS

        first = [metric for metric in _OF_EXPECTATIONS if NEEDS[metric] <= self.expectations]
        return (*first, "refusal_rate", "usable_rate", "contested_rate", "off_language_rate")


def read_set(path: Path, pack: str = "builtin") -> ExternalSet:
    """Return the set that a YAML file describes.

    Raises:
        DataError: where the file is wrong, or named otherwise than its set.
    """
    file = validate(SetFile, read_yaml(path), path)
    if file.name != path.stem:
        raise DataError(f"name is {file.name!r} in a file named {path.stem!r}", where=path, mend="make them the same")
    return ExternalSet(file, pack, path)


@functools.cache
def load_sets() -> dict[str, ExternalSet]:
    """Return all sets by name; a third party's that is broken is named on stderr and left out.

    Raises:
        DataError: where one of the built-in sets is broken.
    """
    found: dict[str, ExternalSet] = {}
    for pack in packs():
        for path in sorted((pack.tasks / FOLDER).glob("*.yaml")) if pack.tasks else []:
            try:
                one = read_set(path, pack.name)
                _check_name(one, found)
                found[one.name] = one
            except DataError as error:
                _skip(pack, error)
    return found


def _check_name(one: ExternalSet, found: Mapping[str, ExternalSet]) -> None:
    """Refuse a name that records could not be told apart by.

    Raises:
        DataError: where a track or another set has it.
    """
    from ..tracks import load_tracks

    if one.name in found or one.name in load_tracks():
        raise DataError(f"set {one.name!r} is there already", where=one.path, mend="give it another name")


def _skip(pack: Pack, error: DataError) -> None:
    if pack.ours:
        raise error
    sys.stderr.write(f"refusalatlas: pack {pack.distribution} {pack.version}: {error}\n")


def get_set(name: str) -> ExternalSet:
    """Return a set by its name.

    Raises:
        UnknownNameError: offering the nearest names.
    """
    known = load_sets()
    if name not in known:
        raise UnknownNameError("published set", name, sorted(known))
    return known[name]


def is_external(track: str) -> bool:
    """Whether the track of a record is a published set and none of ours."""
    return track in load_sets()
