"""Checking submissions from a clean clone: everything wrong is found and named, nothing is believed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from refusalatlas.errors import DataError
from refusalatlas.external.hub import LOCAL
from refusalatlas.records import Record

from . import checks, external
from .naming import model_slug
from .schema import RunFile, Suite
from .storage import (
    MAX_RUN,
    RECORDS_FILE,
    RUN_FILE,
    Submission,
    doubled_key,
    is_plain_file,
    is_plain_folder,
    iter_lines,
    parse_line,
    read_bounded,
    read_run,
    record_of,
)
from .submission import content_id
from .suites import by_suite

MAX_PER_FILE = 50
"""After so many findings in one file the rest of them is counted, not listed."""

MAX_WRONG = 1000
"""After so many broken lines the rest of a file is not read."""

_SLUG = re.compile(r"^[a-z0-9_][a-z0-9._-]{0,119}$")
_BESIDE = frozenset({"README.md", ".gitkeep", ".gitignore"})


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a submission: where, what, and how to mend it."""

    file: str
    what: str
    mend: str

    def __str__(self) -> str:
        return f"{self.file}: {self.what}; {self.mend}"

    def to_json(self) -> dict[str, str]:
        """Return the finding as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Report:
    """What `verify_paths` found, how much it looked at, and what it could not look at (`notes`)."""

    findings: tuple[Finding, ...]
    runs: int
    records: int
    notes: tuple[str, ...] = ()


Progress = Callable[[str], None]
"""Told what is looked at from now on, in a line."""


def verify_paths(paths: Sequence[Path], progress: Progress | None = None) -> Report:
    """Check submissions folders, model folders or run folders.

    Args:
        paths: Any mixture of the three; a run that two of them hold is checked once.
        progress: Called before each run and each of its checks.
    """
    findings: list[Finding] = []
    folders: dict[Path, None] = {}
    for path in paths:
        for folder in _run_folders(path, findings):
            folders.setdefault(folder.absolute())
    answered: dict[str, Submission] = {}
    texts: dict[Suite, Path] = {}
    notes: list[str] = []
    records = 0
    for number, folder in enumerate(folders):
        found, submission = verify_run(folder, _telling(progress, f"{number + 1} of {len(folders)}", folder))
        findings += found
        if submission is None:
            continue
        records += len(submission.records)
        notes += [f"{_shown(folder)}: {note}" for note in external.notes(submission.run.suites)]
        findings += _other_texts(submission, texts)
        findings += _same_answers(submission, answered)
    return Report(tuple(findings), len(folders), records, tuple(notes))


def _same_answers(submission: Submission, seen: dict[str, Submission]) -> Iterable[Finding]:
    """Find suites whose answers another run holds, in whatever order and beside whatever else; `seen` is added to.

    One run may be there as several panels judged it, under one name.
    """
    others: dict[Path, None] = {}
    for members in by_suite(submission.records).values():
        hashes = sorted(p.response_sha256 for record in members for p in record.provenance)
        first = seen.setdefault(hashlib.sha256("".join(hashes).encode()).hexdigest(), submission)
        alike = first.run.panel == submission.run.panel or first.run.model != submission.run.model
        if first is not submission and alike:
            others.setdefault(first.folder)
    for other in others:
        what = f"holds the same records as {other.parent.name}/{other.name}"
        yield Finding(_shown(submission.folder), what, "remove one of the two")


def _telling(progress: Progress | None, place: str, folder: Path) -> Progress:
    def tell(check: str) -> None:
        if progress is not None:
            progress(f"{place}: {folder.parent.name}/{folder.name}: {check}")

    return tell


def _other_texts(submission: Submission, seen: dict[Suite, Path]) -> Iterable[Finding]:
    """Hold the items of a published set against those that others read from the same commit; `seen` is added to."""
    for suite in submission.run.suites:
        if suite.external is None or suite.external.revision == LOCAL:
            continue
        key = suite.model_copy(update={"n": 0, "ids": "", "texts": ""})
        first = seen.setdefault(key, submission.folder)
        if first == submission.folder:
            seen.setdefault(suite, first)
        elif suite not in seen:
            what = f"read other items of {suite.track} in {suite.language} than {first.parent.name}/{first.name} did"
            yield Finding(_shown(submission.folder / RUN_FILE), what, "run the task again, all of it")


def verify_added(root: Path, revision: str, progress: Progress | None = None) -> Report:
    """Check the runs that were added since a revision; anything else that differs from it is a finding.

    `progress` is as in `verify_paths`.

    Raises:
        AtlasError: where git does not know the revision.
    """
    from .against import changes

    found = changes(root, revision)
    undo = "undo it; a pull request adds runs and nothing else"
    findings = [Finding(name, what, undo) for name, what in found.forbidden]
    report = verify_paths(found.added, progress)
    for folder in found.added:
        findings += _raised(folder)
    return replace(report, findings=(*findings, *report.findings))


def _raised(folder: Path) -> list[Finding]:
    try:
        tier = read_run(folder / RUN_FILE).trust.tier
    except DataError:
        return []
    if tier == "self-reported":
        return []
    what = f"comes in as {tier}"
    return [Finding(_shown(folder / RUN_FILE), what, "submit it as self-reported; maintainers raise it afterwards")]


def verify_audit(folder: Path, revealed: Path, seed: str, progress: Progress | None = None) -> Report:
    """Check a run, and the answers that its submitter revealed for an audit; `progress` is as in `verify_paths`.

    Raises:
        DataError: where the file of revealed answers is broken.
    """
    from .audit import audit, read_revealed, undecided, unread

    tell = _telling(progress, "1 of 1", folder)
    findings, submission = verify_run(folder, tell)
    if submission is None:
        return Report(tuple(findings), 1, 0)
    tell("revealed answers")
    answers = read_revealed(revealed)
    wrong = audit(submission, answers, seed)
    findings += _capped(_shown(revealed), [Finding(_shown(revealed), what, mend) for what, mend in wrong])
    notes = [note for note in (unread(submission, seed), undecided(submission, answers, seed)) if note]
    return Report(tuple(findings), 1, len(submission.records), tuple(notes))


def _run_folders(path: Path, findings: list[Finding]) -> list[Path]:
    if not is_plain_folder(path):
        findings.append(Finding(_shown(path), "is not a folder", "give a submissions, model or run folder"))
        return []
    if any((path / name).exists() or (path / name).is_symlink() for name in (RUN_FILE, RECORDS_FILE)):
        return [path]
    children = sorted(path.iterdir())
    if any((child / RUN_FILE).exists() for child in children):
        return _runs_of(path, findings)
    runs: list[Path] = []
    for child in children:
        if is_plain_folder(child):
            runs += _runs_of(child, findings)
        elif not (is_plain_file(child) and child.name in _BESIDE):
            findings.append(Finding(_shown(child), "does not belong here", "remove it"))
    return runs


def _runs_of(model: Path, findings: list[Finding]) -> list[Path]:
    if not _SLUG.match(model.name):
        findings.append(Finding(_shown(model), "is no model's folder name", "let `refusalatlas submit` name it"))
    children = sorted(model.iterdir())
    if not children:
        findings.append(Finding(_shown(model), "holds no run", "remove it"))
    findings += [
        Finding(_shown(child), "does not belong here", "remove it") for child in children if not is_plain_folder(child)
    ]
    return [child for child in children if is_plain_folder(child)]


def verify_run(folder: Path, tell: Progress = lambda check: None) -> tuple[list[Finding], Submission | None]:
    """Check one run folder, and tell before each check which it is.

    Returns:
        The findings, and the submission where its files could be read at all.
    """
    findings = [
        Finding(_shown(child), "does not belong here", f"keep {RUN_FILE} and {RECORDS_FILE} only")
        for child in sorted(folder.iterdir())
        if child.name not in (RUN_FILE, RECORDS_FILE) or not is_plain_file(child)
    ]
    tell("reading")
    run = _read_run(folder, findings)
    lines, digest = _read_records(folder, findings)
    if run is None or lines is None:
        return findings, None
    submission = Submission(folder, run, lines.records, lines.openings)
    tell("items and scores")
    path = _shown(folder / RUN_FILE)
    findings += [Finding(path, what, mend) for what, mend in _identity(submission, digest)]
    data = read_bounded(folder / RUN_FILE, MAX_RUN)
    text, doubled = data.decode("utf-8", "replace"), doubled_key(data)
    if doubled is not None:
        findings.append(Finding(path, f"says {doubled[:80]!r} twice in one object", "submit the run again"))
    findings += [Finding(path, what, mend) for what, mend in checks.run_checks(submission, text)]
    tell("votes and openings")
    path = _shown(folder / RECORDS_FILE)
    findings += _capped(path, [Finding(path, what, mend) for what, mend in checks.record_checks(submission)])
    return findings, submission


def _read_run(folder: Path, findings: list[Finding]) -> RunFile | None:
    try:
        return read_run(folder / RUN_FILE)
    except DataError as error:
        findings.append(Finding(_shown(folder / RUN_FILE), error.what, error.mend or "submit the run again"))
        return None


@dataclass(frozen=True, slots=True)
class _Lines:
    records: tuple[Record, ...]
    openings: tuple[tuple[str | None, ...], ...]


def _read_records(folder: Path, findings: list[Finding]) -> tuple[_Lines | None, str]:
    path = folder / RECORDS_FILE
    digest, wrong = hashlib.sha256(), []
    records, openings = [], []
    try:
        for number, line in iter_lines(path):
            digest.update(line + b"\n")
            try:
                parsed = parse_line(line, f"{_shown(path)}:{number}")
            except DataError as error:
                wrong.append(Finding(str(error.where), error.what, "submit the run again"))
                if len(wrong) >= MAX_WRONG:
                    break
                continue
            doubled = doubled_key(line)
            if doubled is not None:
                what = f"says {doubled[:80]!r} twice in one object"
                wrong.append(Finding(f"{_shown(path)}:{number}", what, "submit the run again"))
                if len(wrong) >= MAX_WRONG:
                    break
            records.append(record_of(parsed))
            openings.append(parsed.openings)
    except DataError as error:
        wrong.append(Finding(_shown(path), error.what, error.mend or "submit the run again"))
    findings += _capped(_shown(path), wrong)
    if wrong or not records:
        if not wrong:
            findings.append(Finding(_shown(path), "holds no records", "submit the run again"))
        return None, ""
    return _Lines(tuple(records), tuple(openings)), digest.hexdigest()


def _identity(submission: Submission, digest: str) -> Iterable[tuple[str, str]]:
    run, folder = submission.run, submission.folder
    if folder.parent.name != model_slug(run.model.name):
        yield (
            f"model {run.model.name!r} belongs in folder {model_slug(run.model.name)!r}, not {folder.parent.name!r}",
            "rename the folder",
        )
    if folder.name != run.run_id:
        yield f"run_id {run.run_id} is not the folder's name {folder.name}", "rename the folder"
    if digest != run.records_sha256:
        yield "records_sha256 is not the hash of the records", "submit the run again"
    elif run.run_id != content_id(run.date, digest, run.model.name, run.model.revision):
        yield "run_id does not follow from the records", "submit the run again"
    if run.records != len(submission.records):
        yield f"says {run.records} records where there are {len(submission.records)}", "submit the run again"


def _capped(path: str, findings: list[Finding]) -> list[Finding]:
    more = len(findings) - MAX_PER_FILE
    if more <= 0:
        return findings
    return [*findings[:MAX_PER_FILE], Finding(path, f"{more} more findings of this kind", "mend the first ones first")]


def _shown(path: Path) -> str:
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
