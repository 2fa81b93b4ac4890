"""What is known about a language from the standards, so that nobody has to look it up."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..errors import AtlasError

if TYPE_CHECKING:
    from langcodes import Language

_RIGHT_TO_LEFT = frozenset({"Arab", "Hebr", "Thaa", "Nkoo", "Syrc", "Adlm", "Rohg", "Mand", "Samr"})
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
    code: str, *, name: str | None = None, english_name: str | None = None, locale: str | None = None
) -> Facts:
    """Return what the standards say about a language.

    Args:
        code: BCP-47 code, with a script where the language has several (``br``, ``sr-Latn``).
        name: Its own name, where it is not known here.
        english_name: Its English name, likewise.
        locale: The place that speaks for it; by default the one with most of its speakers.

    Raises:
        AtlasError: where the code is none, or a name is not known here.
    """
    from langcodes import Language

    if not re.fullmatch(r"[a-z]{2,3}(-[A-Z][a-z]{3})?", code):
        raise AtlasError(f"{code!r} is no code of a language", mend="give it as br, or sr-Latn, as in BCP 47")
    try:
        tag = Language.get(code)
        iso639_3 = tag.to_alpha3()
        valid = tag.is_valid()
    except LookupError:
        valid = False
    if not valid:
        raise AtlasError(f"{code!r} is not in the register of languages", mend="look it up at iana.org or in ISO 639-3")
    full = tag.maximize()
    script = tag.script or full.script
    known = _names(tag)
    name, english_name = name or known[0], english_name or known[1]
    if not name or not english_name:
        lacking = " and ".join(["--name"] * (not name) + ["--english-name"] * (not english_name))
        raise AtlasError(f"what {code} is called is not known here", mend=f"give it with {lacking}")
    territory = full.territory or "001"
    return Facts(
        code=code,
        name=name,
        english_name=english_name,
        script=script or "Latn",
        direction="rtl" if script in _RIGHT_TO_LEFT else "ltr",
        iso639_1=tag.language if tag.language and len(tag.language) == 2 else None,
        iso639_3=iso639_3,
        py3langid=_label(str(tag.language), _py3langid_labels()),
        langdetect=_label(str(tag.language), _langdetect_labels()),
        default_locale=locale or f"{code}-{territory}",
        spaced=script not in _UNSPACED,
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
