"""`refusalatlas lint`: what a language's texts must be, rule by rule, and what is left to write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..errors import AtlasError, UnknownNameError
from ..languages import Language, read_language
from ..packs import builtin_root
from .coverage import check_coverage, check_tracks
from .examples import LEAST, check_examples, check_shared_prompts, examples_path
from .findings import Finding, Progress, Report, of_error, sort_findings
from .likeness import check_likeness
from .provenance import check_provenance
from .services import service
from .sheets import Line, Place, Sheet, groups, read_lines, sources
from .wording import check_wording
from .words import LEAST_REFUSALS, LEAST_SENTENCES, check_lexicon, check_rules, check_strings

SHEET_RULES: tuple[Callable[[Sheet], Iterable[Finding]], ...] = (
    check_coverage,
    check_provenance,
    check_wording,
    check_likeness,
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
        DataError: where the built-in seeds or English texts, with which all is compared, are broken.
    """
    places, wanted = list(places), set(codes)
    findings: list[Finding] = []
    progress: list[Progress] = []
    examples: dict[str, list[Line]] = {}
    known: set[str] = set()
    for place in places:
        if not wanted:
            findings += check_tracks(place.root, builtin_root())
        for folder in place.language_folders():
            known.add(folder.name)
            if wanted and folder.name not in wanted:
                continue
            report(folder.name)
            found, done, lines = lint_language(folder, place)
            findings += found
            progress += done
            examples[folder.name] = lines
    for code in sorted(wanted - known):
        raise UnknownNameError("language", code, sorted(known))
    findings += check_shared_prompts(examples)
    return Report(sort_findings(findings), tuple(progress))


def lint_language(folder: Path, place: Place) -> tuple[list[Finding], list[Progress], list[Line]]:
    """Return what is wrong with a language, how much of it is written, and its judge examples."""
    try:
        language = read_language(folder)
    except AtlasError as error:
        return [of_error(error, folder / "language.yaml")], [], []
    findings: list[Finding] = []
    progress: list[Progress] = []
    for sheet, bad in _sheets(language, place):
        findings += bad
        for rule in SHEET_RULES:
            findings += rule(sheet)
        wanted = sheet.source.wanted(language.code)
        written = {line.row.get("seed_id") for line in sheet.written}
        progress.append(Progress(language.code, sheet.path.name, len(written & set(wanted)), len(wanted)))
    findings += _foreign_files(language, place)
    for name, check, least in (
        ("strings.yaml", check_strings, LEAST_SENTENCES),
        ("lexicon.yaml", check_lexicon, {"refusal": LEAST_REFUSALS}),
    ):
        english, _ = groups(builtin_root() / "translations" / "en" / name)
        findings += check(language, english)
        found, _ = groups(folder / name)
        done = sum(min(len(found.get(group, ())), least.get(group, 1)) for group in english)
        progress.append(Progress(language.code, name, done, sum(least.get(group, 1) for group in english)))
    path = examples_path(language.code)
    bad_examples, lines = check_examples(language, path, wanted=place.ours)
    findings += bad_examples
    if place.ours:
        progress.append(Progress(language.code, "judge examples", len(lines), LEAST))
        findings += check_rules(language, _compliant(lines))
    return findings, progress, lines


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


def _sheets(language: Language, place: Place) -> Iterator[tuple[Sheet, tuple[Finding, ...]]]:
    """Yield the texts of every track that the language has, or should have, with what cannot be read."""
    for track, source in sources(place.root, builtin_root()).items():
        path = language.folder / f"{track}.jsonl"
        if path.is_file() or (place.ours and source.wanted(language.code)):
            lines, bad = read_lines(path)
            yield Sheet(language, source, path, lines), bad


def _foreign_files(language: Language, place: Place) -> Iterator[Finding]:
    known = {"language.yaml", "strings.yaml", "lexicon.yaml", "README.md"}
    known |= {f"{track}.jsonl" for track in sources(place.root, builtin_root())}
    for path in sorted(language.folder.iterdir()):
        if path.name not in known and not path.name.startswith("."):
            yield Finding("form", path, None, "does not belong here", "delete it, or name it after its track")
