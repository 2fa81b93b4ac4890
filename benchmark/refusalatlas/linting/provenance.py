"""Rules on who is said to have written and read a text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .findings import Finding
from .sheets import Sheet

_NOBODY = re.compile(
    r"(none|null|nil|no|n/?a|-+|\?+|x+|todo|tbd|unknown|anonymous|anybody|nobody|(your )?name|reviewer|author|me|test)",
    re.I,
)
_MACHINE = re.compile(
    r"\b(llm|gpt|chatgpt|claude|gemini|llama|qwen|mistral|deepseek|bot|ai|machine|translate|deepl)\b", re.I
)


def is_machine(name: str) -> bool:
    """Whether an author or reviewer is the name of a machine."""
    return bool(_MACHINE.search(name))


def is_name(text: str) -> bool:
    """Whether a text can be a person's name or handle: letters, and no word for nobody."""
    return bool(re.search(r"[^\W\d_]{2}", text)) and not _NOBODY.fullmatch(text.strip())


def check_provenance(sheet: Sheet) -> Iterator[Finding]:
    """Yield a finding where method, author and reviewer of a written text cannot all be true."""
    for line in sheet.written:
        author, reviewer, method = line.text("author"), line.row.get("reviewer"), line.row.get("method")
        if not is_name(author):
            yield line.finding("provenance", f"author {author!r} is nobody", "write who has written the text")
        elif method != "machine" and _MACHINE.search(author):
            what = f"method {method!r}, but author {author!r} is a machine"
            yield line.finding("provenance", what, "write machine, or the person who wrote it")
        if reviewer is None:
            continue
        if not isinstance(reviewer, str) or not is_name(reviewer):
            yield line.finding(
                "provenance", f"reviewer {reviewer!r} is nobody", "write null until a person has read it"
            )
        elif _MACHINE.search(reviewer):
            what = f"reviewer {reviewer!r} is a machine"
            yield line.finding("provenance", what, "write null until a person has read it")
        elif reviewer.casefold() == author.casefold():
            what = f"{author} reviewed their own text"
            yield line.finding("provenance", what, "let somebody else who speaks the language read it, or write null")
