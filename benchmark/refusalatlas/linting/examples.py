"""Rules on a language's judge examples: ids, closed lists, script and language, nothing said twice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from ..files import problems
from ..languages import Language
from ..packs import builtin_root
from ..records import LABELLED
from .findings import Finding
from .letters import knows_script, normal, script_share
from .likeness import check_duplicates, sizes
from .services import service
from .sheets import Line, read_lines
from .wording import check_characters, check_language

LEAST = 72
"""How many examples a language should have."""

KINDS: Mapping[str, frozenset[str | None]] = {
    **dict.fromkeys(
        ("direct", "polite_indirect", "very_short", "long_reasons", "after_empathy", "colloquial", "other_language",
         "late_refusal"),
        frozenset({"full_refusal"}),
    ),
    "partial": frozenset({"partial_refusal"}),
    **dict.fromkeys(("lecture", "deflection", "balanced", "other_task"), frozenset({"evasion"})),
    "capability": frozenset({"capability_limitation"}),
    "clarification": frozenset({"clarification"}),
    **dict.fromkeys(
        ("plain", "apology_then_answer", "quoted_refusal", "as_an_ai", "must_not_advice", "code_error",
         "about_refusing", "topic_words", "text_only"),
        frozenset({"compliant"}),
    ),
    **dict.fromkeys(("incoherent", "echo", "empty"), frozenset({None})),
    "thinking": frozenset({"full_refusal", "partial_refusal", "compliant", "evasion"}),
}  # fmt: skip
"""The closed list of kinds, and the labels that each may have."""

HALF, MOST_OTHER_SCRIPT = 0.5, 0.25
"""Share of letters from which an example is in a script, and share of a file's examples that may be in another."""

_ANY_LETTERS = frozenset({"colloquial", "other_language", "code_error", "thinking", "incoherent", "echo", "empty"})
"""Kinds that may be in other letters or another language: romanised, quoted code, thinking in English."""


def examples_path(code: str) -> Path:
    """Return the file of a language's judge examples, whether it exists or not."""
    return builtin_root() / "judges" / "examples" / f"{code}.jsonl"


def check_examples(language: Language, path: Path, *, wanted: bool) -> tuple[list[Finding], list[Line]]:
    """Return what is wrong with a language's examples, and those that can be read.

    Args:
        language: The language.
        path: Its file of examples.
        wanted: Whether a file that is not there, or too short, is a finding.
    """
    if not path.is_file():
        mend = f"write at least {LEAST} (translations/README.md); tasks run without"
        missing = Finding("unfinished", path, None, "there are no judge examples", mend)
        return ([missing] if wanted else []), []
    lines, bad = read_lines(path)
    findings = list(bad)
    if wanted and len(lines) < LEAST:
        findings.append(Finding("unfinished", path, None, f"{len(lines)} of at least {LEAST} examples", "write more"))
    findings += _check_all(language, lines)
    return findings, list(lines)


def _check_all(language: Language, lines: Sequence[Line]) -> Iterator[Finding]:
    model = service("example_model")
    seen: dict[str, int] = {}
    for line in lines:
        try:
            model.model_validate(dict(line.row))  # type: ignore[attr-defined]
        except ValidationError as error:
            yield line.finding("examples", "; ".join(problems(error)), "compare it with the English file")
            continue
        name = str(line.row["id"])
        if not re.fullmatch(rf"{re.escape(language.code)}-\d{{3}}", name):
            yield line.finding("examples", "is no id for this file", f"call it {language.code}-001 or the like")
        first = seen.setdefault(name, line.number)
        if first != line.number:
            yield line.finding("examples", f"this id stands in line {first} already", "give it the next free number")
        yield from _check_lists(language, line)
        yield from _check_texts(language, line)
    yield from _check_script(language, lines)
    texts = [f"{line.text('prompt')} {line.text('response')}" for line in lines]
    names = [str(number) for number in range(len(lines))]
    yield from check_duplicates(lines, texts, names, sizes(language)[0])


def _check_lists(language: Language, line: Line) -> Iterator[Finding]:
    kind, label, condition = line.text("kind"), line.row.get("label"), line.row.get("condition")
    if line.row.get("language") != language.code:
        yield line.finding("examples", f"language is {line.row.get('language')!r}", f"write {language.code}")
    if kind not in KINDS:
        yield line.finding("examples", f"kind {kind!r} is not in the list", f"take one of {', '.join(KINDS)}")
    elif condition in LABELLED and label not in KINDS[kind]:
        yield line.finding("examples", f"kind {kind} with label {label}", "mend the one that is wrong")
    if (label is None) == (condition in LABELLED):
        yield line.finding("examples", f"label {label} with condition {condition}", "mend the one that is wrong")


def _check_texts(language: Language, line: Line) -> Iterator[Finding]:
    if line.text("kind") in _ANY_LETTERS or line.row.get("condition") not in ("ok", "truncated"):
        return
    for key in ("prompt", "response"):
        text = line.text(key)
        if not text:
            yield line.finding("examples", f"has no {key}", "write it")
            continue
        yield from check_characters(line, text, most=6000)
        if key == "response" or line.text("kind") != "text_only":  # which may hand a text over to be translated
            yield from check_language(line, text, language)


def _check_script(language: Language, lines: Sequence[Line]) -> Iterator[Finding]:
    """People mix scripts and write without their own; most of them do not, so that the file as a whole is looked at."""
    if not lines or not knows_script(language.script):
        return
    shares = [(line, script_share(line.text("prompt") + line.text("response"), language.script)) for line in lines]
    other = [line for line, share in shares if share is not None and share < HALF]
    if len(other) > MOST_OTHER_SCRIPT * len(lines):
        what = f"{len(other)} of {len(lines)} examples are not in the script {language.script}"
        yield other[0].finding("script", what, f"write most of them in {language.english_name}'s own script")


def check_shared_prompts(examples: Mapping[str, Sequence[Line]]) -> Iterator[Finding]:
    """Yield a finding for each prompt that stands word for word in the examples of two languages."""
    seen: dict[str, Line] = {}
    for _, lines in sorted(examples.items()):
        for line in lines:
            prompt = normal(line.text("prompt"))
            first = seen.setdefault(prompt, line)
            if prompt and first.path != line.path:
                what = f"has the prompt of {first.row.get('id')}"
                yield line.finding("examples", what, "think up another; prompts must not tell languages apart")
