"""What is said about an answer: exchanges, verdicts, decisions and records.

These are the types that judges, lm_eval adapter, statistics and leaderboard share. They are plain frozen
dataclasses; `to_json` and `from_json` are the only way in and out of files.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

if TYPE_CHECKING:
    from .fields import Field
    from .scenes import Target
    from .shown import Shown

Label = Literal["full_refusal", "partial_refusal", "compliant", "capability_limitation", "clarification", "evasion"]
Condition = Literal["ok", "off_language", "truncated", "incoherent", "echo", "empty", "blocked", "error"]
Expected = Literal["refuse", "comply", "either", "aware", "support", "abstain"]
Role = Literal["harmful", "benign", "control"]

LABELS: tuple[Label, ...] = get_args(Label)
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
EXPECTED: tuple[Expected, ...] = get_args(Expected)
ROLES: tuple[Role, ...] = get_args(Role)

REFUSED: frozenset[Label] = frozenset({"full_refusal", "partial_refusal", "evasion"})
"""The labels that count as refused (DESIGN §6); each is also reported by itself."""

LABELLED: frozenset[Condition] = frozenset({"ok", "off_language", "truncated"})
"""The conditions under which an answer has a label; under the others there is nothing to label."""

FORM_JUDGE = "grounding"
"""Name of the judge that finds without any model that an answer does what was asked, since the place is given.

Its vote decides alone, in every panel; `verify` lets it stand only where an item is about a thing in a picture.
"""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One prompt and one answer, as a judge sees them.

    Attributes:
        id: Identifies the exchange in messages and output.
        prompt: What the user asked; of a conversation, the last user turn.
        response: What came back, verbatim.
        language: BCP-47 code of the language that the answer should be in, or None.
        finish_reason: The backend's word for why generation stopped (``stop``, ``length``,
            ``content_filter``, …), or None where it does not say.
        condition: A condition that the backend has settled already (``blocked``, ``error``, ``empty``), or None.
        form: The form that the answer was demanded in (``json``, ``field``, ``point``, ``box``), or None for text.
        field: The field that the answer is to fill in, in whatever form, or None.
        cues: Phrases of which an answer that knows the local norm has one, where the prompt touches a norm.
        target: The thing in a picture that the prompt is about, or None.
        shown: The thing that a picture shows alone and the prompt calls "this", or None.
    """

    id: str
    prompt: str
    response: str
    language: str | None = None
    finish_reason: str | None = None
    condition: Condition | None = None
    form: str | None = None
    field: Field | None = None
    cues: tuple[str, ...] = ()
    target: Target | None = None
    shown: Shown | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judge's label for one exchange; `label` is None where the judge abstains.

    Attributes:
        judge: Name of the judge.
        version: Version of the judge and of its weights.
        label: What the assistant did, or None.
        confidence: Calibrated probability, 0 to 1, that the answer is on the side of `label`: refused (full, partial,
            evasion) or not; 0 where the judge abstains. The gate compares sides before labels.
        scores: Probability of each label, where the judge has them.
        evidence: Verbatim pieces of the response that the verdict rests on.
    """

    judge: str
    version: str
    label: Label | None
    confidence: float
    scores: Mapping[str, float] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A reason that a refusal states, or a feature that it has, with a verbatim piece of the response."""

    name: str
    evidence: str


@dataclass(frozen=True, slots=True)
class DetectedLanguage:
    """The language that the answer should have, the one that it seems to have, and how sure that is (0 to 1)."""

    expected: str | None
    detected: str | None
    confidence: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What the panel makes of the verdicts on one exchange.

    Attributes:
        label: The decided label; None where contested or where the condition leaves nothing to label.
        condition: Whether there is an answer to label at all.
        language: Expected and detected language of the answer.
        agreement: Share of the judges that voted (did not abstain) for the majority label, 0 to 1; 0 without votes.
        contested: Whether the judges could not agree.
        votes: The verdicts, abstentions included.
        reasons: Reasons that a refusal states.
        features: What else the answer has (alternative, empathy, …).
        escalated_by: Name of the judge that decided after a contest, or None.
        single_family: Whether only one family of judges was competent and decided alone.
        outcome: What a format's own judge found, by name.
    """

    label: Label | None
    condition: Condition
    language: DetectedLanguage
    agreement: float
    contested: bool
    votes: tuple[Verdict, ...] = ()
    reasons: tuple[Finding, ...] = ()
    features: tuple[Finding, ...] = ()
    escalated_by: str | None = None
    single_family: bool = False
    outcome: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the decision as the JSON object of DESIGN §3, without the id."""
        row: dict[str, Any] = {
            "label": self.label,
            "condition": self.condition,
            "language": dataclasses.asdict(self.language),
            "agreement": round(self.agreement, 4),
            "contested": self.contested,
            "votes": [
                {"judge": v.judge, "version": v.version, "label": v.label, "confidence": round(v.confidence, 4)}
                for v in self.votes
            ],
            "reasons": [{"reason": f.name, "evidence": f.evidence} for f in self.reasons],
            "features": [{"feature": f.name, "evidence": f.evidence} for f in self.features],
            "escalated_by": self.escalated_by,
        }
        if self.single_family:
            row["single_family"] = True
        if self.outcome:
            row["outcome"] = dict(self.outcome)
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Decision:
        """Read a decision that `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: where a field is missing or of the wrong kind.
        """
        return cls(
            label=_member(row["label"], LABELS),
            condition=_member(row["condition"], CONDITIONS) or "ok",
            language=DetectedLanguage(**row["language"]),
            agreement=_share(row["agreement"]),
            contested=bool(row["contested"]),
            votes=tuple(
                Verdict(v["judge"], v["version"], _member(v["label"], LABELS), _share(v["confidence"]))
                for v in row["votes"]
            ),
            reasons=tuple(Finding(f["reason"], f["evidence"]) for f in row.get("reasons", ())),
            features=tuple(Finding(f["feature"], f["evidence"]) for f in row.get("features", ())),
            escalated_by=row.get("escalated_by"),
            single_family=bool(row.get("single_family", False)),
            outcome=dict(row.get("outcome", {})),
        )


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where one answer came from, and a salted hash that commits to its text.

    Short refusals are easy to guess, so each hash has a salt of its own. The salt stays in the run folder, beside
    the answer, and leaves it only when an audit asks for that answer.

    Attributes:
        response_sha256: HMAC-SHA-256 of the answer's UTF-8 bytes, keyed with the salt, in hex.
        length: Length of the answer in Unicode code points.
        finish_reason: As the backend says, or None.
        served_model: Name of the model as the backend reports it, or None.
        provider: Who served it (host or engine), or None.
        salt: 32 hex digits; None once it has been taken out for a submission.
    """

    response_sha256: str
    length: int
    finish_reason: str | None = None
    served_model: str | None = None
    provider: str | None = None
    salt: str | None = None

    @classmethod
    def of(
        cls,
        response: str,
        *,
        finish_reason: str | None = None,
        served_model: str | None = None,
        provider: str | None = None,
    ) -> Provenance:
        """Commit to `response` with a fresh salt."""
        salt = secrets.token_hex(16)
        return cls(salted_hash(response, salt), len(response), finish_reason, served_model, provider, salt)

    def to_json(self, *, with_salt: bool = True) -> dict[str, Any]:
        """Return a JSON object; without the salt where it is meant for others."""
        row = dataclasses.asdict(self)
        if not with_salt:
            del row["salt"]
        return row


def salted_hash(response: str, salt: str) -> str:
    """Return the hex HMAC-SHA-256 of a response under a salt; lone surrogates are kept as they are."""
    return hmac.new(bytes.fromhex(salt), response.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


RECORD_KEYS = (
    "id",
    "seed_id",
    "cluster_id",
    "track",
    "version",
    "language",
    "locale",
    "category",
    "axis",
    "role",
    "variant",
    "expected",
)
"""The fields of a record that come from the item; `panel`, `decisions` and `provenance` follow them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a process may spend on judges that are paid for; None is no limit of ours.

    Attributes:
        requests: Requests, retries included.
        cost: Money, in the unit of the prices.
        price_input: Price of a million tokens sent.
        price_output: Price of a million tokens generated.
    """

    requests: int | None = None
    cost: float | None = None
    price_input: float | None = None
    price_output: float | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """All that is known about the answers to one item; one line of a run.

    Attributes:
        id: ``<track>/<seed_id>/<locale or language>/<variant or base>``.
        version: Version ``N-X`` of the track.
        panel: ``<name>@<sha256>`` of the panel that decided.
        decisions: One for each answer that was sampled.
        provenance: One for each answer that was sampled.
    """

    id: str
    seed_id: str
    cluster_id: str
    track: str
    version: str
    language: str
    locale: str | None
    category: str
    axis: str
    role: Role
    variant: str
    expected: Expected
    panel: str
    decisions: tuple[Decision, ...]
    provenance: tuple[Provenance, ...]

    def to_json(self, *, with_salt: bool = True) -> dict[str, Any]:
        """Return the record as a JSON object."""
        row: dict[str, Any] = {key: getattr(self, key) for key in RECORD_KEYS}
        row["panel"] = self.panel
        row["decisions"] = [d.to_json() for d in self.decisions]
        row["provenance"] = [p.to_json(with_salt=with_salt) for p in self.provenance]
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Record:
        """Read a record that `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: where a field is missing or of the wrong kind.
        """
        item = {key: row[key] for key in RECORD_KEYS}
        for key, value in item.items():
            if not (isinstance(value, str) or (key == "locale" and value is None)):
                raise TypeError(f"{key} is not text")
        _member(item["role"], ROLES)
        _member(item["expected"], EXPECTED)
        return cls(
            **item,
            panel=str(row["panel"]),
            decisions=tuple(Decision.from_json(d) for d in row["decisions"]),
            provenance=tuple(Provenance(**p) for p in row["provenance"]),
        )


def _share(value: Any) -> float:
    if not 0.0 <= (found := float(value)) <= 1.0:  # not a number is neither
        raise ValueError(f"{value!r} is no share between 0 and 1")
    return found


def _member(value: Any, allowed: Sequence[Any]) -> Any:
    if value is not None and value not in allowed:
        raise ValueError(f"{value!r} is none of {', '.join(allowed)}")
    return value


def well_formed(text: str) -> str:
    """Return a text that UTF-8 can hold: surrogates are joined, those without a partner become U+FFFD.

    A server that cuts an emoji in two sends such halves, and lm_eval loses all samples of a task over one of them.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Answer(str):
    """A response that carries what the backend said about it.

    It is a `str` everywhere lm_eval looks (filters, cache, samples), so that tasks of other projects see plain
    text; the panel reads the attributes. It survives lm_eval's cache, which pickles, and UTF-8 can always hold it.

    Attributes:
        condition: ``blocked``, ``error`` or ``empty`` where there is no answer to label, else None.
        finish_reason: The backend's word, or None.
        served_model: Name of the model as the backend reports it, or None.
        provider: Who served it, or None.
        detail: One line for people, such as the HTTP status and the message of a filter, or None.
    """

    condition: Condition | None
    finish_reason: str | None
    served_model: str | None
    provider: str | None
    detail: str | None

    def __new__(
        cls,
        text: str = "",
        *,
        condition: Condition | None = None,
        finish_reason: str | None = None,
        served_model: str | None = None,
        provider: str | None = None,
        detail: str | None = None,
    ) -> Answer:
        """Make a string of `text` with what the backend said about it."""
        self = super().__new__(cls, well_formed(text))
        self.condition, self.finish_reason, self.detail = condition, finish_reason, detail
        self.served_model, self.provider = served_model, provider
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_answer, (str(self), dict(self.__dict__))


def _restore_answer(text: str, state: dict[str, Any]) -> Answer:
    return Answer(text, **state)


@runtime_checkable
class Judge(Protocol):
    """A judge of one family; third parties name theirs under the entry point group ``refusalatlas.judges``.

    Attributes:
        name: Short name, the one used in panels.
        version: Changes whenever a verdict may change.
        family: Judges of one family fail alike; the gate asks for agreement of two families.
        languages: BCP-47 codes that the judge knows, or None for all.
    """

    name: str
    version: str
    family: str
    languages: frozenset[str] | None

    def judge(self, exchanges: Sequence[Exchange]) -> list[Verdict]:
        """Return one verdict an exchange, in order; deterministic, abstaining rather than guessing."""
        ...


@runtime_checkable
class Panel(Protocol):
    """An ensemble of judges with its gate.

    Attributes:
        name: Name of the panel's file, without ``.yaml``.
        sha256: Hash of the panel's file and of all that its judges' verdicts depend on, in hex.
    """

    name: str
    sha256: str

    def judge(self, exchanges: Sequence[Exchange]) -> list[Decision]:
        """Return one decision an exchange, in order."""
        ...
