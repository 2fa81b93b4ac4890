"""Rules on ``strings.yaml`` and ``lexicon.yaml``: every group there, phrases that compile and are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import AtlasError
from ..languages import Language
from ..records import REFUSED, Exchange
from ..strings import track_of
from ..tracks import load_tracks
from ..variants import VARIANTS
from .findings import Finding, of_error
from .letters import normal
from .phrases import check_phrases, is_gap
from .services import rules_judge, service
from .sheets import Line, groups, line_of
from .wording import check_characters, check_language, check_left_over, check_script

SAID = (
    "refusal",
    "partial_refusal",
    "compliance",
    "capability_limitation",
    "clarification",
    "evasion",
    "phantom_unknown",
    "grounding_scene",
    "grounding_picture",
    "grounding_question",
)
"""Groups of ``strings.yaml`` that hold sentences; the others hold single words."""

LEAST_SENTENCES: Mapping[str, int] = {
    "refusal": 3,
    "compliance": 3,
    "guard_keywords": 5,
    "phantom_invented": 3,
    "phantom_absent": 8,
    "phantom_blank": 8,
    "phantom_months": 12,
}
LEAST_REFUSALS = 5
SURE_TO_OCCUR = ("refusal", "apology", "capability", "clarification", "compliance")
"""Groups of a lexicon of which some phrase must be found among the examples; of the others, none may occur there."""

PLACEHOLDERS: Mapping[str, str] = {
    "awareness": "{cue}",
    "grounding_answer": "{thing}",
    **{variant.group: "{form}" for variant in VARIANTS.values() if variant.form is not None},
}
"""Groups whose sentences have a place for something, and what stands there."""


def check_strings(
    language: Language, english: Mapping[str, Sequence[str]], *, aware: bool = False
) -> Iterator[Finding]:
    """Yield what is wrong with a language's ``strings.yaml``, beside the groups of the English one.

    Args:
        language: The language.
        english: The English groups.
        aware: Whether the language has texts that touch a norm, and so needs sentences of `awareness`.
    """
    path = language.strings
    found, bad = groups(path)
    yield from bad
    if any(finding.line is None and finding.rule == "unreadable" for finding in bad) and not found:
        return
    wanted = {group: entries for group, entries in english.items() if is_for(group, language)}
    known = {group: entries for group, entries in found.items() if group in wanted or group not in english}
    spared = frozenset() if aware else frozenset({"awareness"})
    yield from _missing_groups(path, known, wanted, LEAST_SENTENCES, rule="strings", spared=spared)
    yield from _check_placeholders(path, found, english, language)
    sentences = [(group, sentence) for group in SAID for sentence in found.get(group, ())]
    copied = {normal(sentence) for group in english.values() for sentence in group}
    counts = Counter(sentence for _, sentence in sentences)
    for group, sentence in sentences:
        for finding in _check_sentence(path, group, sentence, language):
            yield replace(finding, line=line_of(path, sentence[:24], group=group))
        if language.code != "en" and normal(sentence) in copied:
            line = line_of(path, sentence[:24], group=group)
            yield Finding("english", path, line, f"{group}: is the English sentence itself", "write it in the language")
        if counts[sentence] > 1:
            line = line_of(path, sentence[:24], group=group)
            what = f"“{sentence[:40]}” stands there twice"
            yield Finding("strings", path, line, what, "let each sentence mean one thing")


def is_for(group: str, language: Language) -> bool:
    """Whether a language should have a group: those of one track only where it has that track's texts."""
    track = track_of(group, load_tracks())
    return track is None or (language.folder / f"{track}.jsonl").is_file()


def _check_placeholders(
    path: Path, found: Mapping[str, Sequence[str]], english: Mapping[str, Sequence[str]], language: Language
) -> Iterator[Finding]:
    """Yield what is wrong with sentences that leave a place open: each does so once, in the language's own words."""
    copied = {normal(sentence) for group in english.values() for sentence in group}
    for group, place in PLACEHOLDERS.items():
        for sentence in found.get(group, ()):
            line = line_of(path, sentence[:24], group=group)
            if sentence.count(place) != 1:
                what = f"{group}: {place} is to stand there once"
                yield Finding("strings", path, line, what, f"put {place} where the English sentence has it")
            if language.code != "en" and normal(sentence) in copied:
                what = f"{group}: is the English sentence itself"
                yield Finding("english", path, line, what, "write it in the language")
            for finding in _check_sentence(path, group, sentence.replace(place, "").strip(), language):
                yield replace(finding, line=line)


def _check_sentence(path: Path, group: str, sentence: str, language: Language) -> Iterator[Finding]:
    line = Line(path, 1, {"id": group, "sentence": sentence})
    yield from check_characters(line, sentence)
    yield from check_left_over(line, sentence)
    yield from check_script(line, sentence, language)
    yield from check_language(line, sentence, language)


def _missing_groups(
    path: Path,
    found: Mapping[str, Sequence[str]],
    english: Mapping[str, Sequence[str]],
    least: Mapping[str, int],
    *,
    rule: str,
    spared: frozenset[str] = frozenset(),
) -> Iterator[Finding]:
    needed = {group: least.get(group, 1) for group in english if group not in spared}
    few = {group: count for group, count in needed.items() if len(found.get(group, ())) < count}
    if few:
        shown = ", ".join(f"{group} {len(found.get(group, ()))} of {wanted}" for group, wanted in few.items())
        line = line_of(path, next(iter(few)))
        yield Finding("unfinished", path, line, f"too few entries: {shown}", "write some; English shows what is meant")
    for group in found:
        if english and group not in english:
            yield Finding(rule, path, line_of(path, group), f"there is no group {group!r}", "see the English file")


def check_lexicon(language: Language, english: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """Yield what is wrong with a language's ``lexicon.yaml``, and notes on what its phrases find."""
    path = language.lexicon
    found, bad = groups(path)
    yield from bad
    if bad and not found:
        return
    yield from _missing_groups(path, found, english, {"refusal": LEAST_REFUSALS}, rule="lexicon")
    yield from check_phrases(path, found, english, language)
    strings, _ = groups(language.strings)
    texts = [sentence for group in SAID for sentence in strings.get(group, ())]
    if bad or not any(found.values()) or any(is_gap(phrase) for phrases in found.values() for phrase in phrases):
        return  # no lexicon can be made of it
    try:
        hits = service("check_lexicon")(path, language.code, spaced=language.spaced, texts=texts)
    except AtlasError as error:
        yield of_error(error, path, rule="lexicon")
        return
    yield from _check_hits(path, found, hits)


def _check_hits(
    path: Path, found: Mapping[str, Sequence[str]], hits: Mapping[str, Mapping[str, int]]
) -> Iterator[Finding]:
    silent = [group for group, counts in hits.items() if counts and not any(counts.values())]
    for group in silent:
        if group in SURE_TO_OCCUR:
            what = f"no phrase of {group} is found in any example or sentence"
            yield Finding("lexicon", path, line_of(path, group), what, "write how it is really said")
    counts = {group: sum(count > 0 for count in hits.get(group, {}).values()) for group in found}
    total = sum(len(phrases) for phrases in found.values())
    what = f"{sum(counts.values())} of {total} phrases are found in the examples that may be looked at"
    if silent:
        what += f"; none of {', '.join(silent)}"
    yield Finding("lexicon", path, None, what, "", "info")


MOST_MISREAD = 0.15
"""Share of compliant examples that `rules` may take for refusals by a phrase; at most 0.12 in 52 languages."""


def check_rules(language: Language, compliant: Sequence[Line], limit: float = MOST_MISREAD) -> Iterator[Finding]:
    """Yield a finding where phrases of refusal are found in too many compliant answers, and a note where in some.

    An answer that `rules` takes for a refusal without any phrase is a weakness of the judge and not of the lexicon:
    it is counted in the note alone.
    """
    path = language.lexicon
    strings, _ = groups(language.strings)
    own = strings.get("compliance", [])
    exchanges = [
        Exchange(str(n), line.text("prompt"), line.text("response"), language.code) for n, line in enumerate(compliant)
    ]
    exchanges += [Exchange(f"s{n}", "", sentence, language.code) for n, sentence in enumerate(own)]
    if not exchanges:
        return
    try:
        verdicts = rules_judge().judge(exchanges)
    except AtlasError:
        return  # that a lexicon cannot be read is a finding of `check_lexicon`
    names = [str(line.row.get("id")) for line in compliant] + [f"“{sentence[:30]}”" for sentence in own]
    wrong = [(name, verdict) for name, verdict in zip(names, verdicts, strict=True) if verdict.label in REFUSED]
    misread = [(name, verdict.evidence) for name, verdict in wrong if verdict.evidence]
    if len(misread) > limit * len(exchanges):
        shown = ", ".join(f"{name} by “{evidence[0]}”" for name, evidence in misread[:5])
        what = f"{len(misread)} of {len(exchanges)} compliant answers are taken for refusals: {shown}"
        yield Finding("rules", path, None, what, "take away or lengthen phrases that those who help say too")
    elif wrong:
        what = (
            f"rules takes {len(wrong)} of {len(exchanges)} compliant answers for refusals, {len(misread)} by a phrase"
        )
        yield Finding("rules", path, None, what, "", "info")
