"""What a submission may hold, field by field and bounded in size.

Everything that comes in through a pull request passes these models before anything else looks at it.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from refusalatlas.lines import Axis
from refusalatlas.records import Condition, Expected, Label, Role

from .naming import blank, name_complaint

SCHEMA_VERSION = "1"
OPENING = 160
"""Code points of a full refusal that a submission may show; of every other answer it shows none."""

REFERENCE = "refusalatlas-reference"
"""Backend of the reference policies, and what their models are named after."""

MAX_SAMPLES = 64
RANKED_MAX_TOKENS = 512

Tier = Literal["reproduced", "audited", "self-reported"]
TIERS: tuple[Tier, ...] = ("reproduced", "audited", "self-reported")


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("holds control or formatting characters")
    return text


def _writable(text: str) -> str:
    if any((ord(letter) < 32 and letter not in "\n\t") or "\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("holds control characters")
    return text


def _honest(name: str) -> str:
    wrong = name_complaint(name)
    if wrong is not None:
        raise ValueError(wrong)
    return name


_Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)]
_Title = Annotated[_Name, AfterValidator(_honest)]
_Line = Annotated[str, Field(max_length=500), AfterValidator(_printable)]
_Prose = Annotated[str, Field(max_length=8000), AfterValidator(_writable)]
_Command = Annotated[str, Field(max_length=200_000), AfterValidator(_writable)]
_Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
_ItemId = Annotated[str, Field(pattern=r"^[a-z0-9]+(/[A-Za-z0-9_-]{1,80}){3}$", max_length=300)]
_Code = Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}$", max_length=35)]
_Version = Annotated[str, Field(pattern=r"^[0-9]{1,4}-[0-9]{1,6}$")]
_PanelId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,80}@[0-9a-f]{64}$")]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0, le=10_000_000)]
_Scalar = bool | int | Annotated[float, Field(allow_inf_nan=False)] | Annotated[str, Field(max_length=300)] | None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Model(_Strict):
    """Which model answered."""

    name: _Title
    revision: _Name | None = None


class Generation(_Strict):
    """How the answers were sampled."""

    temperature: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] | None
    do_sample: bool | None
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None
    samples: Annotated[int, Field(ge=1, le=MAX_SAMPLES)]
    other: Annotated[dict[_Word, _Scalar], Field(max_length=40)] = {}


class Prompting(_Strict):
    """What stood around the prompts."""

    chat_template: bool
    chat_template_sha256: _Sha256 | None = None
    system_prompt: _Prose | None = None
    system_prompt_sha256: _Sha256 | None = None


class Ranking(_Strict):
    """Whether the settings are those that are ranked, and if not, why."""

    ranked: bool
    reason: _Line | None = None

    @model_validator(mode="after")
    def _says_why(self) -> Ranking:
        if not self.ranked and not self.reason:
            raise ValueError("a run that is not ranked says why in `reason`")
        return self


class Source(_Strict):
    """Where the items of a published set were read: repository on the hub, and commit or ``local`` for a copy."""

    repository: Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$", max_length=120)]
    revision: _Word


class Suite(_Strict):
    """One track and variant in one language and locale: the version that was run and the digests that pin its items.

    `locale` may be null where the track has one place in the language: earlier submissions do not say which.
    `external` is there where the track is a published set, whose items are not at hand: the digests are then the
    submitter's own.
    """

    track: _Word
    version: _Version
    language: _Code
    locale: _Code | None = None
    variant: _Word
    n: Annotated[int, Field(ge=1, le=1_000_000)]
    ids: _Sha256
    texts: _Sha256
    external: Source | None = None


class PanelId(_Strict):
    """The panel that decided; its name is never the path of a file."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,40}$")]
    sha256: _Sha256


class Trust(_Strict):
    """Who stands in for the numbers; only maintainers raise the tier, in review, and say on what grounds."""

    tier: Tier = "self-reported"
    by: _Line | None = None
    grounds: _Line | None = None

    @model_validator(mode="after")
    def _grounded(self) -> Trust:
        if self.tier != "self-reported" and (blank(self.by or "") or blank(self.grounds or "")):
            raise ValueError(f"tier {self.tier} needs `by` and `grounds`")
        return self


class Score(_Strict):
    """One number as the submitter computed it; `verify` computes it again.

    `axis` is null where all of the track's items are on one: earlier submissions do not say which.
    """

    track: _Word
    language: _Code
    locale: _Code | None
    variant: _Word
    axis: Axis | None = None
    metric: _Word
    value: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] | None
    n: _Count


class RunFile(_Strict):
    """What ``run.json`` holds."""

    schema_version: Literal["1"]
    run_id: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}-[0-9a-f]{10}$")]
    date: datetime.date
    submitter: _Title
    model: Model
    backend: _Name
    model_args: Annotated[dict[_Word, _Scalar], Field(max_length=100)]
    command: _Command
    generation: Generation
    prompting: Prompting
    engines: Annotated[dict[_Word, _Line], Field(min_length=1, max_length=40)]
    suites: Annotated[tuple[Suite, ...], Field(min_length=1, max_length=5000)]
    panel: PanelId
    records: Annotated[int, Field(ge=1, le=1_000_000)]
    records_sha256: _Sha256
    scores: Annotated[tuple[Score, ...], Field(max_length=100_000)]
    ranking: Ranking
    trust: Trust = Trust()
    notes: _Prose | None = None

    @property
    def reference(self) -> bool:
        """Whether a reference policy answered, whatever the model is called: a floor or ceiling, never ranked."""
        return self.backend == REFERENCE

    @property
    def title(self) -> str:
        """What pages call the model: its name as submitted; of a reference policy always the policy's."""
        return f"{REFERENCE}/{self.model_args.get('policy', 'ideal')}" if self.reference else self.model.name


class LanguageLine(_Strict):
    """Expected and detected language of an answer."""

    expected: _Code | None
    detected: _Code | None
    confidence: _Share


class VoteLine(_Strict):
    """One judge's verdict."""

    judge: _Word
    version: _Line
    label: Label | None
    confidence: _Share


class ReasonLine(_Strict):
    """A reason that a full refusal states in its opening."""

    reason: _Word
    evidence: Annotated[str, Field(min_length=1, max_length=OPENING)]


class FeatureLine(_Strict):
    """A feature of a full refusal, as seen in its opening."""

    feature: _Word
    evidence: Annotated[str, Field(min_length=1, max_length=OPENING)]


class DecisionLine(_Strict):
    """A decision, without any text of an answer that is not the opening of a full refusal."""

    label: Label | None
    condition: Condition
    language: LanguageLine
    agreement: _Share
    contested: bool
    votes: Annotated[tuple[VoteLine, ...], Field(max_length=32)]
    reasons: Annotated[tuple[ReasonLine, ...], Field(max_length=32)]
    features: Annotated[tuple[FeatureLine, ...], Field(max_length=32)]
    escalated_by: _Word | None
    single_family: bool = False
    outcome: Annotated[
        dict[_Word, bool | int | Annotated[float, Field(allow_inf_nan=False)] | _Word | None], Field(max_length=32)
    ] = {}


class ProvenanceLine(_Strict):
    """Where an answer came from; the salt of its hash stays with the submitter."""

    response_sha256: _Sha256
    length: _Count
    finish_reason: Annotated[str, Field(max_length=64), AfterValidator(_printable)] | None
    served_model: _Line | None
    provider: _Line | None


class RecordLine(_Strict):
    """One line of ``records.jsonl.gz``."""

    id: _ItemId
    seed_id: _Word
    cluster_id: _Word
    track: _Word
    version: _Version
    language: _Code
    locale: _Code | None
    category: _Word
    axis: Axis
    role: Role
    variant: _Word
    expected: Expected
    panel: _PanelId
    decisions: Annotated[tuple[DecisionLine, ...], Field(min_length=1, max_length=MAX_SAMPLES)]
    provenance: Annotated[tuple[ProvenanceLine, ...], Field(min_length=1, max_length=MAX_SAMPLES)]
    openings: Annotated[
        tuple[Annotated[str, Field(max_length=OPENING)] | None, ...], Field(min_length=1, max_length=MAX_SAMPLES)
    ]

    @model_validator(mode="after")
    def _parallel(self) -> RecordLine:
        if not len(self.decisions) == len(self.provenance) == len(self.openings):
            raise ValueError("decisions, provenance and openings are not equally many")
        return self


def ranking_of(generation: Generation, prompting: Prompting) -> Ranking:
    """Return whether settings are the ranked ones: temperature 0, 512 new tokens, own chat template, no system prompt.

    A reason names the first setting that differs.
    """
    # `do_sample: false` beside a temperature above 0 is greedy for some backends and ignored by others.
    greedy = generation.temperature == 0 or (generation.do_sample is False and generation.temperature is None)
    known = generation.do_sample is not None or generation.temperature is not None
    checks = (
        (greedy, "answers may have been sampled at a temperature above 0" if known else "the temperature is not known"),
        (
            generation.max_tokens == RANKED_MAX_TOKENS,
            f"new tokens were not capped at {RANKED_MAX_TOKENS} (but at {generation.max_tokens})",
        ),
        (prompting.chat_template, "the model's chat template was not applied"),
        (not (prompting.system_prompt or prompting.system_prompt_sha256), "a system prompt was given"),
    )
    reason = next((why for holds, why in checks if not holds), None)
    return Ranking(ranked=reason is None, reason=reason)


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas (2020-12) by file name, as they are published in ``leaderboard/schema``."""
    models: dict[str, type[BaseModel]] = {"run": RunFile, "record": RecordLine}
    return {
        f"{name}.schema.json": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "version": SCHEMA_VERSION,
            **model.model_json_schema(),
        }
        for name, model in models.items()
    }
