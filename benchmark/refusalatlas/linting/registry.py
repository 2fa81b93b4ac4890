"""Rules on ``language.yaml``: what the standards say of a code, a script and a place has to stand there."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import AtlasError
from ..languages import Language, load_languages
from ..scaffolding.facts import RIGHT_TO_LEFT, check_locale, is_registered
from .findings import Finding
from .sheets import line_of


def check_registry(language: Language) -> Iterator[Finding]:
    """Yield a finding for each field of ``language.yaml`` that contradicts the registers of codes.

    Of a language that no register has (a code for private use), only script, direction and place can be looked up.
    """
    for field, what, mend in _wrong(language):
        path = language.folder / "language.yaml"
        yield Finding("registry", path, line_of(path, field), f"{field}: {what}", mend)


def _wrong(language: Language) -> Iterator[tuple[str, str, str]]:
    """Yield field, what is wrong with it and how to mend it."""
    base, _, script = language.code.partition("-")
    if script and language.script != script:
        yield "script", f"{language.script} is not that of {language.code}", f"write {script}, or take another code"
    direction = "rtl" if language.script in RIGHT_TO_LEFT else "ltr"
    if language.direction != direction:
        what = f"the script {language.script} is not written {language.direction}"
        yield "direction", what, f"write {direction}, or mend the script"
    yield from _wrong_codes(language, base)
    try:  # the place of a script may go without it: zh-Hant is spoken in zh-TW
        own = language.default_locale.startswith(f"{language.code}-")
        check_locale(language.default_locale, language.code if own else base)
    except AtlasError:
        what = f"{language.default_locale} is no place where {language.code} is spoken"
        yield "default_locale", what, "write the code, a hyphen, and a country of ISO 3166 or a region of UN M.49"
    for code in language.confused_with:
        if code == language.code:
            yield "confused_with", f"{code} is the language itself", "take it out"
        elif code not in load_languages() and not is_registered(code):
            yield "confused_with", f"{code} is the code of no language", "write that of a language, or take it out"


def _wrong_codes(language: Language, base: str) -> Iterator[tuple[str, str, str]]:
    from langcodes import Language as Tag

    if not is_registered(language.code):
        return
    two, three = base if len(base) == 2 else None, base if len(base) == 3 else Tag.get(base).to_alpha3()
    for field, found, wanted in (("iso639_1", language.iso639_1, two), ("iso639_3", language.iso639_3, three)):
        if found != wanted:
            yield field, f"{found or 'null'} is not that of {language.code}", f"write {wanted or 'null'}"
