"""The audit: a sample of the answers is revealed in private, must match its hashes, and is judged again.

The salted hashes of a submission commit its submitter to the answers. Which of them are asked for follows from the
records and from a seed that the auditor names after the submission stands, so that nobody could choose them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.files import dumps, problems, write_atomic
from refusalatlas.plugins import load_service
from refusalatlas.records import LABELLED, REFUSED, Decision, Exchange, Record, salted_hash
from refusalatlas.variants import form_of

from .forms import differs, field_of_record
from .redact import submitted_outcome
from .storage import Submission, doubled_key, read_bounded, read_submission, run_folders
from .suites import by_suite, cues_of, prompts_of, shown_of_record, target_of_record

SHARE = 0.05
LEAST = 20
MAX_FILE = 64 * 2**20
_SALT = r"^[0-9a-f]{32}$"


class RevealedLine(BaseModel):
    """One answer that was asked for, with the prompt it is an answer to and the salt of its hash."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(max_length=300)]
    sample: Annotated[int, Field(ge=0, le=64)]
    prompt: Annotated[str, Field(max_length=200_000)]
    response: Annotated[str, Field(max_length=2_000_000)]
    salt: Annotated[str, Field(pattern=_SALT)]


class RevealedFile(BaseModel):
    """What ``submit --reveal`` writes: never to be published."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    records_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    seed: Annotated[str, Field(min_length=1, max_length=200)]
    answers: Annotated[tuple[RevealedLine, ...], Field(max_length=100_000)]


def drawn(records: Sequence[Record], records_sha256: str, seed: str) -> list[tuple[str, int]]:
    """Return which answers an audit asks for: 5 % of them, at least twenty, in the order of a keyed hash.

    Args:
        records: The records of the submission.
        records_sha256: Their hash, as ``run.json`` states it.
        seed: Anything that nobody knew when the submission was made, such as a later lottery number.
    """
    answers = [(record.id, sample) for record in records for sample in range(len(record.decisions))]
    wanted = min(len(answers), max(LEAST, math.ceil(SHARE * len(answers))))

    def key(answer: tuple[str, int]) -> str:
        return hashlib.sha256(f"{records_sha256}\n{seed}\n{answer[0]}\n{answer[1]}".encode()).hexdigest()

    return sorted(sorted(answers, key=key)[:wanted])


def reveal(source: Path, submission: Submission, seed: str, output: Path) -> int:
    """Write the answers that an audit asks for, from the run folder that was submitted, and return how many they are.

    Raises:
        AtlasError: where the run is not the one that was submitted, or `output` cannot be written.
    """
    from refusalatlas.runs import load_run

    run = load_run(source)
    known = {record.id: record for record in run.records}
    lines = []
    for item, sample in drawn(submission.records, submission.run.records_sha256, seed):
        record = known.get(item)
        salt = record.provenance[sample].salt if record and sample < len(record.provenance) else None
        if salt is None:
            raise AtlasError(
                f"does not hold the answer to {item}", where=source, mend="name the run that was submitted"
            )
        lines.append(
            RevealedLine(
                id=item,
                sample=sample,
                prompt=run.prompts.get(item, ""),
                response=run.responses[item][sample],
                salt=salt,
            ).model_dump()
        )
    write_atomic(
        output, dumps({"records_sha256": submission.run.records_sha256, "seed": seed, "answers": lines}) + "\n"
    )
    return len(lines)


def submission_of(source: Path, root: Path) -> Submission:
    """Return the submission that was made of a run.

    Raises:
        AtlasError: where no submission below `root` commits to the run's answers.
    """
    from refusalatlas.runs import load_run

    hashes = {record.id: [p.response_sha256 for p in record.provenance] for record in load_run(source).records}
    for folder in run_folders(root):
        submission = read_submission(folder)
        if all(hashes.get(r.id) == [p.response_sha256 for p in r.provenance] for r in submission.records):
            return submission
    raise AtlasError("was not submitted", where=source, mend=f"name the run that a submission in {root} was made of")


def read_revealed(path: Path) -> RevealedFile:
    """Return a file of revealed answers.

    Raises:
        DataError: where it is too large or not such a file.
    """
    try:
        data = read_bounded(path, MAX_FILE)
        found, doubled = RevealedFile.model_validate_json(data, strict=True), doubled_key(data)
        if doubled is not None:
            raise DataError(f"says {doubled[:80]!r} twice in one object", where=path, mend="ask for the file itself")
        return found
    except (ValidationError, json.JSONDecodeError) as error:
        what = "; ".join(problems(error)[:5]) if isinstance(error, ValidationError) else str(error)
        raise DataError(what, where=path, mend="make it with `refusalatlas submit RUN --reveal SEED`") from None


def audit(submission: Submission, revealed: RevealedFile, seed: str) -> Iterator[tuple[str, str]]:
    """Yield `(what is wrong, how to mend it)` of revealed answers against the submission that they belong to.

    Args:
        submission: The submission.
        revealed: What its submitter sent.
        seed: The seed that the auditor named.
    """
    again = "ask the submitter for the right answers; without them the run stays self-reported"
    if revealed.records_sha256 != submission.run.records_sha256 or revealed.seed != seed:
        yield "was revealed for another submission or seed", again
        return
    records = {record.id: record for record in submission.records}
    asked = drawn(submission.records, submission.run.records_sha256, seed)
    given = {(line.id, line.sample): line for line in revealed.answers}
    if len(given) != len(revealed.answers):
        yield "reveals an answer twice", again
    for item, sample in asked:
        if (item, sample) not in given:
            yield f"does not reveal answer {sample + 1} to {item}", again
    for item, sample in sorted(given.keys() - set(asked)):
        yield f"reveals answer {sample + 1} to {item}, which was not drawn", again
    matching = []
    for item, sample in asked:
        line = given.get((item, sample))
        if line is None:
            continue
        stated = records[item].provenance[sample]
        if salted_hash(line.response, line.salt) != stated.response_sha256 or len(line.response) != stated.length:
            yield f"the revealed answer to {item} does not match its hash", again
        else:
            matching.append(line)
        asked_for = _prompt_of(records[item])
        if asked_for is not None and line.prompt != asked_for:
            yield (
                f"the revealed prompt of {item} is not the text of the task",
                "audit with the release that was run (`engines` in run.json); if it is not its text either, the run "
                "stays self-reported",
            )
    yield from _judged_again(submission, matching)


def _prompt_of(record: Record) -> str | None:
    """Return what the task asks in a record's item, or None where the text at hand is not that of its version."""
    (key,) = by_suite([record])
    prompts = prompts_of(key)
    return None if prompts is None else prompts.get(record.id, "")


def unread(submission: Submission, seed: str) -> str | None:
    """Return a line on how many drawn prompts cannot be held against the task's text; None where all can."""
    records = {record.id: record for record in submission.records}
    asked = drawn(submission.records, submission.run.records_sha256, seed)
    without = sorted({item for item, _ in asked if _prompt_of(records[item]) is None})
    if not without:
        return None
    return f"{len(without)} revealed prompts not compared, first {without[0]}: the text of that version is not at hand"


def undecided(submission: Submission, revealed: RevealedFile, seed: str) -> str:
    """Return a line on how many of the drawn answers tell nothing: no text to judge again, or contested."""
    records = {record.id: record for record in submission.records}
    asked = drawn(submission.records, submission.run.records_sha256, seed)
    given = {(line.id, line.sample): line.response for line in revealed.answers}
    without: Counter[str] = Counter()
    contested = 0
    for item, sample in asked:
        decision = records[item].decisions[sample]
        contested += decision.contested
        if not given.get((item, sample), "").strip():
            without[decision.condition] += 1
    kinds = ", ".join(f"{count} {condition}" for condition, count in sorted(without.items()))
    why = f", since there is no text ({kinds})" if kinds else ""
    told = f"{without.total()} could not be judged again{why}, and {contested} were contested"
    return f"of {len(asked)} drawn answers {told}"


def _judged_again(submission: Submission, lines: Sequence[RevealedLine]) -> Iterator[tuple[str, str]]:
    records = {record.id: record for record in submission.records}
    if not lines:
        return
    name = submission.run.panel.name
    try:
        panel = load_service("load_panel")(name, escalation=False)
    except AtlasError as error:
        yield f"panel {name}: {error.what}", "judge the run again with a panel that is released"
        return
    exchanges = [
        Exchange(
            line.id,
            line.prompt,
            line.response,
            records[line.id].language,
            records[line.id].provenance[line.sample].finish_reason,
            form=form_of(records[line.id].variant),
            field=field_of_record(records[line.id]),
            cues=cues_of(records[line.id]),
            target=target_of_record(records[line.id]),
            shown=shown_of_record(records[line.id]),
        )
        for line in lines
    ]
    same = panel.sha256 == submission.run.panel.sha256
    for line, decision in zip(lines, panel.judge(exchanges), strict=True):
        stated = records[line.id].decisions[line.sample]
        yield from _outcome_again(line.id, stated, decision, same=same and stated.escalated_by is None)
        if _differ(stated, decision, same=same):
            what = f"the answer to {line.id} is {_named(stated)} in the records, but judged again {_named(decision)}"
            yield what, "judge the run again with `refusalatlas judge`, then submit it"


def _differ(stated: Decision, again: Decision, *, same: bool) -> bool:
    """Whether a decision cannot be the one that was stated.

    The panel of the run decides as it did, and an answer that it calls no answer, contested or limited would leave the
    rates as surely as one with another label. Another release may contest or limit other ones; what it may not do is
    turn sides, or find an answer where none is said to be, or none where one is.
    What a backend settled is not known here, but compliance is no block.
    """
    if stated.condition in ("blocked", "error"):
        return again.label == "compliant"
    if same and stated.escalated_by is None:
        return (stated.condition, stated.label) != (again.condition, again.label)
    if (stated.condition in LABELLED) != (again.condition in LABELLED):
        return True
    return None not in (stated.label, again.label) and (stated.label in REFUSED) != (again.label in REFUSED)


def _named(decision: Decision) -> str:
    return decision.label or ("contested" if decision.contested else decision.condition)


def _outcome_again(item: str, stated: Decision, again: Decision, *, same: bool) -> Iterator[tuple[str, str]]:
    """Yield where a form's judge finds otherwise than the records say; it goes by the text alone, or by its labels."""
    if stated.condition in ("blocked", "error", "empty"):  # what a backend has settled no form is asked about
        return
    found = submitted_outcome(again)
    name = differs(stated, again, found, same=same)
    if name is not None:
        said, told = (outcome.get(name, "nothing") for outcome in (stated.outcome, found))
        what = f"the answer to {item} says {name}: {said} in the records, but judged again {told}"
        yield what, "judge the run again with `refusalatlas judge`, then submit it"
