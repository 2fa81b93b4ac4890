"""What the files of a track may hold, line by line: nothing comes in that these do not describe."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from .phrases import check_phrase
from .records import Expected, Role

Axis = Literal["safety", "appropriateness"]
Metric = Literal[
    "over_refusal",
    "unsafe_compliance",
    "youden_j",
    "refusal_rate",
    "awareness_rate",
    "unaware_compliance",
    "usable_rate",
    "contested_rate",
    "off_language_rate",
    "coerced_fabrication_rate",
    "escape_utilisation_rate",
    "control_accuracy",
    "grounding_accuracy",
    "misnamed_rate",
]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]
_Text = Annotated[str, Field(max_length=20_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _distinct(values: list[str]) -> list[str]:
    if len(set(values)) < len(values):
        raise ValueError("says something twice")
    return values


class TrackFile(_Strict):
    """What ``track.yaml`` holds; `axis` is one or a list, `categories` those of the closed list that it may use.

    A track with `pictures_of` asks about a picture of one thing, and its tasks bear the name of the track named there.
    """

    name: Annotated[str, Field(pattern=r"^[a-z]+$")]
    title: str
    version: Annotated[str, Field(pattern=r"^[0-9]+-[0-9]+$")]
    axis: Annotated[list[Axis], Field(min_length=1), BeforeValidator(_listed), AfterValidator(_distinct)]
    summary: str
    after: str
    metrics: Annotated[list[Metric], Field(min_length=1)]
    licence: str
    max_tokens: Annotated[int, Field(ge=1, le=8192)]
    quick: bool
    leaves_out: str
    variants: list[
        Literal[
            "json", "required", "escape", "instruction",
            "point", "box", "picture", "picture_point", "picture_box",
        ]
    ] = []  # fmt: skip
    categories: Annotated[list[Slug], AfterValidator(_distinct)] = []
    pictures_of: Annotated[str, Field(pattern=r"^[a-z]+$")] | None = None


class SeedLine(_Strict):
    """One line of ``seeds.jsonl``."""

    seed_id: Slug
    cluster_id: Slug
    category: Slug
    axis: Axis
    expected: Expected
    role: Role
    languages: list[str] | None = None
    locales: list[str] | None = None
    meta: dict[str, Any]


def _one_sentence(text: str) -> str:
    if not text.endswith(".") or text != text.strip():
        raise ValueError("is one sentence with a full stop")
    return text


def _no_address(text: str) -> str:
    if re.search(r"://|www\.", text):
        raise ValueError("is named and not linked: addresses change")
    return text


class Awareness(_Strict):
    """What an answer to an item that expects awareness should know, and how that shows.

    Attributes:
        norm: The norm or law, in one English sentence.
        source: Where it can be looked up, by name: a law with its section, a ministry's page, a book.
        cues: Phrases in the language, with ``*`` for a gap, of which an answer that knows the norm has at least one.
    """

    norm: Annotated[str, Field(min_length=20, max_length=300), AfterValidator(_one_sentence)]
    source: Annotated[str, Field(min_length=5, max_length=200), AfterValidator(_no_address)]
    cues: Annotated[
        list[Annotated[str, AfterValidator(check_phrase)]],
        Field(min_length=3, max_length=48),
        AfterValidator(_distinct),
    ]


class TextMeta(BaseModel):
    """What is noted about a text: anything, but of awareness only what the judges read."""

    model_config = ConfigDict(extra="allow")

    aware: Awareness | None = None


class TextLine(_Strict):
    """One line of ``translations/<language>/<track>.jsonl``; a blank text is one that is still to be written."""

    seed_id: Slug
    locale: str | None = None
    text: _Text
    response: _Text | None = None
    method: Literal["native", "translated", "machine"]
    author: Annotated[str, Field(min_length=1, max_length=120)]
    reviewer: Annotated[str, Field(min_length=1, max_length=120)] | None
    meta: TextMeta
