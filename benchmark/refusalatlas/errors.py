"""The one family of errors that users are meant to read."""

from __future__ import annotations

from pathlib import Path


class AtlasError(Exception):
    """Something that the user can mend: one line that says what, where and how.

    The command line prints it as ``Error: …`` and leaves with exit code 1.

    Args:
        what: What is wrong, as a short clause.
        where: The file, line or name it is about.
        mend: What to do about it, starting with a verb.
    """

    def __init__(self, what: str, *, where: str | Path | None = None, mend: str | None = None) -> None:
        self.what, self.where, self.mend = what, where, mend
        parts = [f"{where}: {what}" if where is not None else what]
        if mend:
            parts.append(mend)
        super().__init__("; ".join(" ".join(str(part).split()) for part in parts))


class DataError(AtlasError):
    """A file of the project, of a pack or of a user does not hold what it should."""


class UnknownNameError(AtlasError):
    """A language, track, panel or policy that is not there; the message offers near ones.

    Args:
        kind: What it is a name of.
        name: The name.
        known: The names that there are.
        otherwise: What to do where it is none of those.
    """

    def __init__(self, kind: str, name: str, known: list[str], *, otherwise: str | None = None) -> None:
        from difflib import get_close_matches

        near = get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}"
        super().__init__(f"unknown {kind} {name!r}", mend=f"{hint}; {otherwise}" if otherwise else hint)
