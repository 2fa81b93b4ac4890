"""What is known about a language from the standards, so that nobody has to look it up."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..errors import AtlasError

if TYPE_CHECKING:
    from langcodes import Language

RIGHT_TO_LEFT = frozenset({"Arab", "Hebr", "Thaa", "Nkoo", "Syrc", "Adlm", "Rohg", "Mand", "Samr"})
_PRIVATE_PLACE = re.compile(r"AA|Q[M-Z]|X[A-JL-Z]|ZZ")
"""Codes of places that ISO 3166 leaves to everybody; XK is in use for Kosovo."""
_UNSPACED = frozenset({"Hans", "Hant", "Jpan", "Thai", "Khmr", "Laoo", "Mymr", "Tibt", "Java", "Bali", "Lana", "Tale"})


@dataclass(frozen=True, slots=True)
class Facts:
    """What ``language.yaml`` holds; see `refusalatlas.languages.Language`."""

    code: str
    name: str
    english_name: str
    script: str
    direction: str
    iso639_1: str | None
    iso639_3: str
    py3langid: str | None
    langdetect: str | None
    default_locale: str
    spaced: bool
    confused_with: tuple[str, ...] = field(default=())

    def as_yaml(self) -> str:
        """Return the text of ``language.yaml``."""
        import yaml

        data = asdict(self) | {"confused_with": list(self.confused_with)}
        order = ["code", "name", "english_name", "script", "direction", "iso639_1", "iso639_3", "py3langid"]
        order += ["langdetect", "confused_with", "default_locale", "spaced"]
        head = (
            "# `name` is the language's own name. `confused_with`: codes of languages that it is easily taken for.\n"
            "# `spaced`: whether words are written apart. The rest is from the standards.\n"
        )
        text: str = yaml.safe_dump({key: data[key] for key in order}, allow_unicode=True, sort_keys=False)
        return head + text


def facts_of(
    code: str,
    *,
    name: str | None = None,
    english_name: str | None = None,
    locale: str | None = None,
    unregistered: bool = False,
) -> Facts:
    """Return what the standards say about a language.

    Args:
        code: BCP-47 code, with a script where the language has several (``br``, ``sr-Latn``).
        name: Its own name, where it is not known here.
        english_name: Its English name, likewise.
        locale: The place that speaks for it; by default the one with most of its speakers.
        unregistered: Whether to take a code that is in no register, or one for private use.

    Raises:
        AtlasError: where the code or the locale is none, or a name or the place is not known here.
    """
    from langcodes import Language
    from langcodes.data_dicts import LIKELY_SUBTAGS

    tag = Language.get(code, normalize=False) if _looked_up(code, unregistered) else None
    if tag is None:
        raise AtlasError(f"{code!r} is no code of a language", mend="give it as br, or sr-Latn, as in BCP 47")
    if unregistered and not (name and english_name and locale):
        raise AtlasError(f"nothing is known of {code}", mend="give --name, --english-name and --locale")
    if locale is not None:
        check_locale(locale, code)
    iso639_3 = tag.language if tag.language and len(tag.language) == 3 else tag.to_alpha3()
    full = tag.maximize()
    script = tag.script or full.script
    known = _names(tag)
    name, english_name = name or known[0], english_name or known[1]
    if not name or not english_name:
        lacking = " and ".join(["--name"] * (not name) + ["--english-name"] * (not english_name))
        raise AtlasError(f"what {code} is called is not known here", mend=f"give it with {lacking}")
    if locale is None and tag.language not in LIKELY_SUBTAGS:  # `maximize` then says US, as for anything unknown
        raise AtlasError(f"where {code} is spoken is not known here", mend=f"give it with --locale, as {code}-FR")
    territory = full.territory or "001"
    return Facts(
        code=code,
        name=name,
        english_name=english_name,
        script=script or "Latn",
        direction="rtl" if script in RIGHT_TO_LEFT else "ltr",
        iso639_1=tag.language if tag.language and len(tag.language) == 2 else None,
        iso639_3=iso639_3,
        py3langid=_label(str(tag.language), _py3langid_labels()),
        langdetect=_label(str(tag.language), _langdetect_labels()),
        default_locale=locale or f"{code}-{territory}",
        spaced=script not in _UNSPACED,
    )


def _looked_up(code: str, unregistered: bool) -> bool:
    """Return whether a code has the form of one.

    Raises:
        AtlasError: where it is in no register, an older code of another, or for private use, and may not be.
    """
    from langcodes import Language

    if not re.fullmatch(r"[a-z]{2,3}(-[A-Z][a-z]{3})?", code):
        return False
    if unregistered:
        if len(code.partition("-")[0]) != 3:
            raise AtlasError(f"{code!r} is no code for private use", mend="take one from qaa to qtz, or of ISO 639-3")
        return True
    look = "look it up at iana.org or in ISO 639-3, or give --unregistered with names and --locale"
    if not is_registered(code):
        raise AtlasError(f"{code!r} is not in the register of languages", mend=look)
    if re.match(r"q[a-t][a-z]\b", code):
        raise AtlasError(f"{code!r} is for private use and names no language", mend=look)
    now = str(Language.get(code))
    if now != code:
        raise AtlasError(f"{code!r} is another code of {now}", mend=f"write {now}")
    return True


def is_registered(code: str) -> bool:
    """Whether the registers have a language of this code."""
    from langcodes import Language

    try:
        return Language.get(code).is_valid() and bool(Language.get(code).to_alpha3())
    except (LookupError, ValueError):
        return False


def check_locale(locale: str, code: str) -> None:
    """Refuse a locale that is not the language in a place that BCP 47 knows.

    Raises:
        AtlasError: where it is not.
    """
    from langcodes import Language

    place = locale.removeprefix(f"{code}-")
    formed = locale.startswith(f"{code}-") and re.fullmatch(r"[A-Z]{2}|[0-9]{3}", place)
    if formed and not _PRIVATE_PLACE.fullmatch(place) and Language.get(f"und-{place}", normalize=False).is_valid():
        known = Language.get(f"und-{place}").territory  # 999 and the like are of no place
        if known not in (None, "ZZ"):
            return
    raise AtlasError(
        f"{locale!r} is no place where {code} is spoken",
        where="--locale",
        mend=f"give it as {code}-FR: {code}, a hyphen, and a country of ISO 3166 or a region of UN M.49 such as 419",
    )


def _names(tag: Language) -> tuple[str | None, str | None]:
    """Return a language's own and its English name, where the optional data of langcodes is installed."""
    if find_spec("language_data") is None:
        return None, None
    own, english = tag.autonym(), tag.display_name()
    unknown = f"Unknown language [{tag}]"
    return (None if own in (unknown, str(tag)) else own), (None if english == unknown else english)


def _label(language: str, labels: frozenset[str]) -> str | None:
    return language if language in labels else None


def _py3langid_labels() -> frozenset[str]:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return frozenset(str(label) for label in LanguageIdentifier.from_model_file(MODEL_FILE).nb_classes)


def _langdetect_labels() -> frozenset[str]:
    from pathlib import Path

    import langdetect

    return frozenset(path.name for path in (Path(langdetect.__file__).parent / "profiles").iterdir())
