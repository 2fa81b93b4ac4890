"""What a rule finds, and how it is printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import AtlasError


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule has found.

    Attributes:
        rule: Short name of the rule.
        path: The file that it is about.
        line: Line in the file, counted from 1, or None where it is about the whole file.
        what: What is wrong, as a clause.
        mend: What to do about it, starting with a verb.
        severity: ``finding`` (exit code 3) or ``info`` (worth knowing, nothing to mend).
    """

    rule: str
    path: Path
    line: int | None
    what: str
    mend: str
    severity: Literal["finding", "info"] = "finding"

    @property
    def where(self) -> str:
        """The file, relative to the working folder where it lies below it, and the line."""
        path = self.path.relative_to(Path.cwd()) if self.path.is_relative_to(Path.cwd()) else self.path
        return f"{path}:{self.line}" if self.line is not None else str(path)

    def to_json(self) -> dict[str, Any]:
        """Return the finding as a flat JSON object."""
        return {
            "rule": self.rule,
            "path": self.where.rsplit(":", 1)[0] if self.line is not None else self.where,
            "line": self.line,
            "what": self.what,
            "mend": self.mend,
            "severity": self.severity,
        }


def of_error(error: AtlasError, path: Path, *, rule: str = "unreadable") -> Finding:
    """Return a reader's error as a finding; the line is taken from where the error points."""
    where = str(error.where or "")
    tail = where.rsplit(":", 1)[-1]
    line = int(tail) if where.startswith(f"{path}:") and tail.isdigit() else None
    what = str(error.what)
    return Finding(rule, path, line, what, error.mend or "write it as the same line in the English file")


def collected(found: Iterable[Finding], path: Path) -> Iterator[Finding]:
    """Yield what a rule finds; an error on its way is a finding too, so that one file never hides the others.

    Args:
        found: What the rule yields.
        path: The file that it looks at, for errors that name none.
    """
    try:
        yield from found
    except AtlasError as error:
        named = re.sub(r":[0-9]+$", "", str(error.where or ""))
        yield of_error(error, Path(named) if Path(named).is_absolute() else path)


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of a file of a language is written.

    Attributes:
        language: Code of the language.
        name: What is counted (``pairs``, ``lexicon``, …).
        done: How many are there.
        wanted: How many there should be.
    """

    language: str
    name: str
    done: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Report:
    """What linting some languages found.

    Attributes:
        findings: By file and line.
        progress: What is written, by language and file.
    """

    findings: tuple[Finding, ...]
    progress: tuple[Progress, ...]

    @property
    def clean(self) -> bool:
        """Whether there is nothing to mend."""
        return not any(finding.severity == "finding" for finding in self.findings)


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings by file, line and rule, each once."""
    unique = dict.fromkeys(findings)
    return tuple(sorted(unique, key=lambda f: (str(f.path), f.line or 0, f.rule, f.what)))


def as_text(findings: Sequence[Finding]) -> list[str]:
    """Return a line a finding: file, line, rule, what, and how to mend it."""
    return [
        f"{f.where}: {'note: ' if f.severity == 'info' else ''}{f.rule}: {f.what}{f'; {f.mend}' if f.mend else ''}"
        for f in findings
    ]


def as_github(findings: Sequence[Finding]) -> list[str]:
    """Return workflow commands, which GitHub shows beside the line in question."""
    lines = []
    for f in findings:
        place = f"file={_property(f.where.rsplit(':', 1)[0] if f.line is not None else f.where)}"
        if f.line is not None:
            place += f",line={f.line}"
        level = "notice" if f.severity == "info" else "error"
        text = f"{f.what}; {f.mend}" if f.mend else f.what
        lines.append(f"::{level} {place},title={_property(f.rule)}::{_message(text)}")
    return lines


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


EXAMPLES = "judge examples"
"""What is counted by itself: a language is there and runs before it has any."""


def as_progress(progress: Sequence[Progress]) -> list[str]:
    """Return, for each language, a line for every file that is not complete, and the share that is left."""
    lines = []
    for code in dict.fromkeys(p.language for p in progress):
        rows = [p for p in progress if p.language == code and p.name != EXAMPLES]
        done, wanted = sum(min(p.done, p.wanted) for p in rows), sum(p.wanted for p in rows)
        left = (wanted - done) / wanted if wanted else 0.0
        more = sum(max(0, p.wanted - p.done) for p in progress if p.language == code and p.name == EXAMPLES)
        examples = f"; judge examples: {more} to go, optional at first" if more else ""
        lines.append(f"{code}: {left:.0%} left to do ({done} of {wanted} written){examples}")
        lines += [f"  {p.name}: {p.done} of {p.wanted}" for p in rows if p.done < p.wanted]
    return lines
