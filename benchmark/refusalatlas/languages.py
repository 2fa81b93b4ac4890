"""The registry of languages: one folder of ``translations/`` each, described by its ``language.yaml``."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from .errors import DataError, UnknownNameError
from .files import read_yaml, validate
from .packs import Pack, packs

_Code = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Z][a-z]{3})?$")]
_Locale = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Z][a-z]{3})?-([A-Z]{2}|[0-9]{3})$")]


class _LanguageFile(BaseModel):
    """What ``language.yaml`` holds."""

    model_config = ConfigDict(extra="forbid")

    code: _Code
    name: Annotated[str, Field(min_length=1, max_length=60)]
    english_name: Annotated[str, Field(min_length=1, max_length=60)]
    script: Annotated[str, Field(pattern=r"^[A-Z][a-z]{3}$")]
    direction: Literal["ltr", "rtl"]
    iso639_1: Annotated[str, Field(pattern=r"^[a-z]{2}$")] | None
    iso639_3: Annotated[str, Field(pattern=r"^[a-z]{3}$")]
    py3langid: str | None
    langdetect: str | None
    confused_with: list[_Code]
    default_locale: _Locale
    spaced: bool
    also_in: list[Annotated[str, Field(pattern=r"^[A-Z][a-z]{3}$")]] = []


@dataclass(frozen=True, slots=True)
class Language:
    """A language that the atlas has texts in.

    Attributes:
        code: BCP-47 code, with a script subtag where one is needed (``sw``, ``zh-Hant``).
        name: Its own name.
        english_name: Its English name.
        script: ISO 15924 code of the script its texts are in.
        direction: ``ltr`` or ``rtl``.
        iso639_1: Two-letter code, or None.
        iso639_3: Three-letter code.
        py3langid: The label that py3langid gives it, or None where it does not know the language.
        langdetect: Likewise of langdetect.
        confused_with: Codes of languages that it is easily taken for.
        default_locale: Locale that speaks for it where none is asked for.
        spaced: Whether words are written apart.
        folder: Where its texts lie.
        pack: Name of the pack it comes from.
        also_in: ISO 15924 codes of the scripts that some of its locales are written in instead.
    """

    code: str
    name: str
    english_name: str
    script: str
    direction: str
    iso639_1: str | None
    iso639_3: str
    py3langid: str | None
    langdetect: str | None
    confused_with: tuple[str, ...]
    default_locale: str
    spaced: bool
    folder: Path
    pack: str
    also_in: tuple[str, ...] = ()

    @property
    def lexicon(self) -> Path:
        """Path of its ``lexicon.yaml``."""
        return self.folder / "lexicon.yaml"

    @property
    def strings(self) -> Path:
        """Path of its ``strings.yaml``."""
        return self.folder / "strings.yaml"


def read_language(folder: Path, pack: str = "builtin") -> Language:
    """Return the language that a folder holds.

    Raises:
        DataError: where ``language.yaml`` is missing or wrong, or names another language than its folder does.
    """
    path = folder / "language.yaml"
    data = validate(_LanguageFile, read_yaml(path), path)
    if data.code != folder.name:
        raise DataError(f"code is {data.code!r} in folder {folder.name!r}", where=path, mend="make them the same")
    fields = data.model_dump()
    for key in ("confused_with", "also_in"):
        fields[key] = tuple(fields[key])
    return Language(**fields, folder=folder, pack=pack)


@functools.cache
def load_languages() -> dict[str, Language]:
    """Return all languages by code, sorted; a third party's that is broken is named on stderr and left out.

    Raises:
        DataError: where one of the built-in languages is broken.
    """
    found: dict[str, Language] = {}
    for pack in packs():
        if pack.translations is None:
            continue
        for path in sorted(pack.translations.glob("*/language.yaml")):
            language = _read_from(pack, path.parent)
            if language is None:
                continue
            if language.code in found:
                _report(pack, f"language {language.code} is skipped: {found[language.code].pack} has it already")
                continue
            found[language.code] = language
    return dict(sorted(found.items()))


def _read_from(pack: Pack, folder: Path) -> Language | None:
    try:
        return read_language(folder, pack.name)
    except DataError as error:
        if _passed_over.get():
            return None
        if pack.ours:
            raise
        _report(pack, str(error))
        return None


_passed_over: ContextVar[bool] = ContextVar("_passed_over", default=False)


@contextmanager
def broken_passed_over() -> Iterator[None]:
    """Leave broken languages out of the registry without a word, ours too: for `lint`, which reports them itself."""
    before = _passed_over.set(True)
    load_languages.cache_clear()
    try:
        yield
    finally:
        _passed_over.reset(before)
        load_languages.cache_clear()


def _report(pack: Pack, message: str) -> None:
    import sys

    sys.stderr.write(f"refusalatlas: pack {pack.distribution} {pack.version}: {message}\n")


def get_language(code: str) -> Language:
    """Return a language by its code.

    Raises:
        UnknownNameError: offering the nearest codes.
    """
    known = load_languages()
    if code not in known:
        raise UnknownNameError("language", code, list(known))
    return known[code]
