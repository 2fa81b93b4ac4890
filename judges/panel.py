"""Panels: an ensemble of judges with its gate, read from `panels/<name>.yaml`."""

from __future__ import annotations

import functools
import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from refusalatlas.errors import AtlasError, UnknownNameError
from refusalatlas.files import dumps
from refusalatlas.languages import load_languages
from refusalatlas.records import LABELLED, Decision, DetectedLanguage, Exchange, Judge, Limits, Verdict

from .condition import settle
from .escalation import escalate
from .findings import findings
from .forms import opened
from .gate import JudgeEntry, PanelFile, gate, locate_panel, panel_file, read_panel
from .reading import VERSION as READING
from .reading import Reading, read

_BATCH = 128
"""Exchanges judged at a time; no more are held than the readings' cache keeps."""

_log = logging.getLogger("refusalatlas.judges")


class OfflinePanel:
    """Judges that run in this process, the gate between them, and those that are asked about what it contests.

    Attributes:
        name: Name of the panel's file.
        file: What it holds.
        sha256: Hash of the file, of the judges' versions (which hash their weights), of how answers are read, and of
            all lexicons.
    """

    def __init__(
        self, name: str, file: PanelFile, judges: Sequence[Judge], sha256: str, escalation: Sequence[Judge] = ()
    ) -> None:
        self.name, self.file, self.sha256 = name, file, sha256
        self._judges, self._escalation = tuple(judges), tuple(escalation)
        self._failed: set[str] = set()

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The judges, in the order of the file."""
        return self._judges

    @property
    def ahead(self) -> bool:
        """Whether it may judge answers one by one, as they come: nobody is asked, and all judges are `independent`.

        A judge with a true attribute `independent` gives an answer the same verdict, to the bit, whatever is beside it.
        """
        return not self._escalation and all(getattr(judge, "independent", False) for judge in self._judges)

    def limit(self, limits: Limits) -> None:
        """Let the judges that are paid for spend no more than that, each for itself.

        Raises:
            AtlasError: where a limit is wrong, or the panel has no such judge.
        """
        paid = [judge for judge in (*self._judges, *self._escalation) if hasattr(judge, "limit")]
        if not paid:
            mend = "leave the limits out, or name a panel such as offline-llm"
            raise AtlasError("asks nobody who is paid for", where=f"panel {self.name}", mend=mend)
        for judge in paid:
            judge.limit(limits)

    def spending(self) -> list[str]:
        """Return a line on each judge that has sent requests: how many, and what they cost where prices are known."""
        lines = []
        for judge in (*self._judges, *self._escalation):
            requests, spent = getattr(judge, "requests", 0), getattr(judge, "spent", 0.0)
            if requests:
                cost = f", cost {spent:.4g}" if spent else ""
                lines.append(f"judge {judge.name}: {requests} request{'s' * (requests > 1)}{cost}")
        return lines

    def judge(self, exchanges: Sequence[Exchange]) -> list[Decision]:
        """Return one decision an exchange, in order. A judge that raises abstains; that is logged once a judge.

        Raises:
            AtlasError: where a judge says that going on makes no sense (a server that is down, a budget that is spent).
        """
        forms = [opened(exchange) for exchange in exchanges]
        parts = [part for form in forms for part in form.parts]
        decisions: list[Decision] = []
        for start in range(0, len(parts), _BATCH):
            decisions += self._batch(parts[start : start + _BATCH])
        found = iter(escalate(self.file, self._escalation, parts, decisions, self._ask))
        return [form.close([next(found) for _ in form.parts]) for form in forms]

    def _batch(self, exchanges: Sequence[Exchange]) -> list[Decision]:
        readings = [read(exchange) for exchange in exchanges]
        conditions = [settle(exchange, reading) for exchange, reading in zip(exchanges, readings, strict=True)]
        worth = [
            i
            for i, condition in enumerate(conditions)
            if condition in LABELLED and any(c.isalnum() for c in readings[i].view.text)
        ]
        votes: dict[int, tuple[Verdict, ...]] = {}
        if worth:
            columns = [self._ask(judge, [exchanges[i] for i in worth]) for judge in self._judges]
            votes = dict(zip(worth, zip(*columns, strict=True), strict=True))
        return [
            self._decide(exchange, readings[i], votes.get(i), condition=conditions[i])
            for i, exchange in enumerate(exchanges)
        ]

    def _ask(self, judge: Judge, exchanges: Sequence[Exchange]) -> list[Verdict]:
        try:
            verdicts = judge.judge(exchanges)
            if len(verdicts) != len(exchanges):
                raise ValueError(f"{len(verdicts)} verdicts on {len(exchanges)} answers")
        except AtlasError:
            raise
        except Exception as error:  # a third party's judge may raise anything, and must not cost the run
            if judge.name not in self._failed:
                self._failed.add(judge.name)
                _log.warning("judge %s failed and abstains: %r", judge.name, error)
            return [Verdict(judge.name, judge.version, None, 0.0)] * len(exchanges)
        return verdicts

    def _decide(
        self, exchange: Exchange, reading: Reading, votes: tuple[Verdict, ...] | None, *, condition: Any
    ) -> Decision:
        language = DetectedLanguage(exchange.language, reading.language, round(reading.confidence, 4))
        if votes is None:
            return Decision(None, condition, language, 0.0, False)
        result = gate(votes, self.file)
        reasons, features = findings(exchange, reading, result.label)
        return Decision(
            label=result.label,
            condition=condition,
            language=language,
            agreement=result.agreement,
            contested=result.contested,
            votes=votes,
            reasons=reasons,
            features=features,
            single_family=result.single_family,
        )


def load_panel(name: str = "offline", *, escalation: bool = True) -> OfflinePanel:
    """Return a panel, loaded once a process; the service ``load_panel``.

    Args:
        name: One of ours, or the path of a file of your own (``./mine.yaml``), whose panel has the file's name. Paths
            in a file are relative to it.
        escalation: False for the panel without the judges that are asked after a contest: it needs no network, leaves
            contested what they would decide, and its hash is another.

    Raises:
        UnknownNameError: where there is no such panel, or it names a judge that is not there.
        DataError: where its file or a judge's weights are wrong.
    """
    return _load(*locate_panel(name), escalation)


@functools.lru_cache(maxsize=16)
def _load(name: str, folder: Path, escalation: bool = True) -> OfflinePanel:
    file = read_panel(name, folder)
    entries = [*file.judges, *(file.escalate if escalation else ())]
    path = panel_file(name, folder)
    judges = [_make(entry, folder) for entry in entries]
    for entry, judge in zip(entries, judges, strict=True):
        if judge.name != entry.name:
            raise AtlasError(
                f"judge {entry.name} calls itself {judge.name}, and its votes would not count",
                where=path,
            )
        if judge.family != entry.family:
            raise AtlasError(f"judge {judge.name} is of family {judge.family}, not {entry.family}", where=path)
    first = len(file.judges)
    return OfflinePanel(name, file, judges[:first], _digest(file, judges), judges[first:])


def _make(entry: JudgeEntry, folder: Path) -> Judge:
    named = {} if entry.kind is None else {"name": entry.name}
    kind = entry.kind or entry.name
    return make_judge(kind, {**named, **_from(folder, kind, entry.params)})


def _from(folder: Path, kind: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with paths as they stand in a panel's file, relative to that file and not to where we are."""
    rooted = getattr(_ours().get(kind), "rooted", None)
    found: dict[str, Any] = dict(params) if rooted is None else rooted(params, folder)
    return found


def judge_classes() -> dict[str, Any]:
    """Return all judge classes by name: our own, and those of plug-ins."""
    from refusalatlas.plugins import load_judge_classes

    return {**load_judge_classes(), **_ours()}


def _ours() -> dict[str, Any]:
    from .embedding import EmbeddingJudge
    from .hf import HfJudge
    from .llm import LlmJudge
    from .ngram import NgramJudge
    from .rules import RulesJudge

    return {
        "rules": RulesJudge,
        "ngram": NgramJudge,
        "embedding": EmbeddingJudge,
        "llm": LlmJudge,
        "hf": HfJudge,
    }


def make_judge(name: str, params: dict[str, Any]) -> Judge:
    """Return a judge by its name among the entry points.

    Raises:
        UnknownNameError: where there is none of that name.
        AtlasError: where it cannot be made from the parameters.
    """
    ours = _ours()
    known = ours if name in ours else judge_classes()
    if name not in known:
        raise UnknownNameError("judge", name, sorted(known))
    try:
        judge: Judge = known[name](**params)
    except TypeError as error:
        raise AtlasError(f"cannot be made: {error}", where=f"judge {name}", mend="mend its params") from None
    return judge


def _digest(file: PanelFile, judges: Sequence[Judge]) -> str:
    content = file.model_dump(mode="json", exclude_none=True)
    if not file.escalate:  # what says nothing about a panel's decisions stays out of its hash
        del content["escalate"], content["gate"]["escalation"]
    digest = hashlib.sha256(dumps(content).encode())
    digest.update(f"\nreading {READING}".encode())
    for judge in judges:
        digest.update(f"\n{judge.name} {judge.version}".encode())
    for code, language in load_languages().items():
        if language.lexicon.is_file():
            digest.update(f"\n{code} ".encode() + hashlib.sha256(language.lexicon.read_bytes()).digest())
    return digest.hexdigest()
