"""`refusalatlas lint`: what a language's texts must be, rule by rule, and what is left to write."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..errors import AtlasError, UnknownNameError
from ..languages import Language, broken_passed_over, load_languages, read_language
from ..packs import builtin_root
from .awareness import check_awareness
from .coverage import check_coverage, check_tracks, not_begun
from .examples import LEAST, check_examples, check_shared_prompts, examples_path
from .fields import check_fields, check_seed_fields
from .findings import EXAMPLES, Finding, Progress, Report, collected, of_error, sort_findings
from .likeness import check_likeness
from .order import check_order
from .provenance import check_provenance
from .registry import check_registry
from .scenes import check_scenes
from .services import service
from .sheets import Line, Place, Sheet, groups, read_lines, sources
from .shown import check_shown
from .wording import check_wording
from .words import LEAST_REFUSALS, LEAST_SENTENCES, check_lexicon, check_rules, check_strings, is_for

SHEET_RULES: tuple[Callable[[Sheet], Iterable[Finding]], ...] = (
    check_coverage,
    check_provenance,
    check_wording,
    check_likeness,
    check_order,
    check_fields,
    check_awareness,
    check_scenes,
    check_shown,
)
"""What each file of texts has to pass."""


def lint(
    places: Iterable[Place], codes: Iterable[str] = (), *, report: Callable[[str], None] = lambda code: None
) -> Report:
    """Look at languages and tracks of some packs.

    Args:
        places: The packs.
        codes: Only these languages; all, and the tracks too, where none is named.
        report: Called with each language's code before it is looked at.

    Raises:
        UnknownNameError: where none of the packs has a language that is asked for.
    """
    with broken_passed_over():  # or one broken language would hide what is wrong with all others
        return _lint(list(places), set(codes), report)


def _lint(places: list[Place], wanted: set[str], report: Callable[[str], None]) -> Report:
    findings: list[Finding] = []
    progress: list[Progress] = []
    examples: dict[str, list[Line]] = {}
    known: set[str] = set()
    for place in places:
        if not wanted:
            findings += collected(check_tracks(place.root, builtin_root()), place.root / "tasks")
            findings += collected(check_seed_fields(place.root), place.root / "tasks")
        for folder in place.folders():
            known.add(folder.name)
            if wanted and folder.name not in wanted:
                continue
            report(folder.name)
            found, done, lines = lint_folder(folder, place)
            findings += found
            progress += done
            examples.setdefault(folder.name, lines)
    for code in sorted(wanted - known):
        otherwise = f"or name the folder of its pack: `refusalatlas lint FOLDER --language {code}`"
        raise UnknownNameError("language", code, sorted(known), otherwise=otherwise)
    findings += check_shared_prompts(examples)
    return Report(sort_findings(findings), tuple(progress))


_Found = tuple[list[Finding], list[Progress], list[Line]]


def lint_folder(folder: Path, place: Place) -> _Found:
    """Return what is wrong with a folder of ``translations/``, how much of it is written, and its judge examples.

    A pack's folder without ``language.yaml`` holds texts of the pack's own tracks in a language of somebody else.
    """
    if (folder / "language.yaml").is_file():
        return lint_language(folder, place)
    language = None if place.ours else load_languages().get(folder.name)
    if language is None:
        what = "is missing, so that the texts beside it are of no language and never used"
        mend = "write it as another language has it, or delete the folder"
        return [Finding("form", folder / "language.yaml", None, what, mend)], [], []
    findings, progress, _ = _lint_sheets(language, folder, place)
    return [*findings, *_foreign_files(folder, place, frozenset())], progress, []


def lint_language(folder: Path, place: Place) -> _Found:
    """Return what is wrong with a language, how much of it is written, and its judge examples."""
    try:
        language = read_language(folder)
    except AtlasError as error:
        return [of_error(error, folder / "language.yaml")], [], []
    findings, progress, aware = _lint_sheets(language, folder, place)
    findings += collected(check_registry(language), folder / "language.yaml")
    findings += _foreign_files(folder, place, _OF_A_LANGUAGE)
    for name, check, least in (
        ("strings.yaml", functools.partial(check_strings, aware=aware), LEAST_SENTENCES),
        ("lexicon.yaml", check_lexicon, {"refusal": LEAST_REFUSALS}),
    ):
        english, _ = groups(builtin_root() / "translations" / "en" / name)
        findings += collected(check(language, english), folder / name)
        english = {group: entries for group, entries in english.items() if aware or group != "awareness"}
        found, _ = groups(folder / name)
        wanted_groups = [group for group in english if is_for(group, language)]
        done = sum(min(len(found.get(group, ())), least.get(group, 1)) for group in wanted_groups)
        progress.append(Progress(language.code, name, done, sum(least.get(group, 1) for group in wanted_groups)))
    path = examples_path(language.code)
    bad_examples, lines = check_examples(language, path, wanted=place.ours)
    findings += bad_examples
    if place.ours:
        progress.append(Progress(language.code, EXAMPLES, len(lines), LEAST))
        findings += collected(check_rules(language, _compliant(lines)), language.lexicon)
    return findings, progress, lines


def _lint_sheets(language: Language, folder: Path, place: Place) -> tuple[list[Finding], list[Progress], bool]:
    """Return what is wrong with the texts of a folder, how many there are, and whether any touches a norm."""
    findings: list[Finding] = []
    progress: list[Progress] = []
    aware = False
    for sheet, bad in _sheets(language, folder, place):
        findings += bad
        if not sheet.path.is_file() and sheet.source.may_wait(language.code):
            findings.append(not_begun(sheet))
            continue
        aware = aware or any(sheet.seed(line).get("expected") == "aware" for line in sheet.written)
        for rule in SHEET_RULES:
            findings += collected(rule(sheet), sheet.path)
        wanted = sheet.source.wanted(language.code)
        progress.append(Progress(language.code, sheet.path.name, len(sheet.places & set(wanted)), len(wanted)))
    return findings, progress, aware


def _compliant(lines: list[Line]) -> list[Line]:
    """Return the compliant examples on which a lexicon may be tried: the sealed ones are for evaluation alone."""
    sealed = service("is_sealed")
    return [
        line
        for line in lines
        if line.row.get("label") == "compliant"
        and line.row.get("condition") == "ok"
        and not sealed(str(line.row.get("id")))
    ]


def _sheets(language: Language, folder: Path, place: Place) -> Iterator[tuple[Sheet, tuple[Finding, ...]]]:
    """Yield the texts of every track that a folder has, or should have, with what cannot be read."""
    for track, source in sources(place.root, builtin_root()).items():
        path = folder / f"{track}.jsonl"
        if path.is_file() or (place.ours and source.wanted(language.code)):
            waits = not path.is_file() and source.may_wait(language.code)
            lines, bad = ((), ()) if waits else read_lines(path)
            yield Sheet(language, source, path, lines), bad


_OF_A_LANGUAGE = frozenset({"language.yaml", "strings.yaml", "lexicon.yaml"})


def _foreign_files(folder: Path, place: Place, own: frozenset[str]) -> Iterator[Finding]:
    known = own | {"README.md"} | {f"{track}.jsonl" for track in sources(place.root, builtin_root())}
    for path in sorted(folder.iterdir()):
        if path.name not in known and not path.name.startswith("."):
            yield Finding("form", path, None, "does not belong here", "delete it, or name it after its track")
