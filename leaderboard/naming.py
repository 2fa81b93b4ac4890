"""Names that are safe as folders, files and addresses, and that do not pass for others."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0e\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
"""Signs that count as printable and show nothing."""

_SLASHES = re.compile("[\u2044\u2215\u29f5\u29f8\ufe68\uff0f\uff3c]")
_PLAIN_FORMS = re.compile(
    "[\uff0e\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u2460-\u249b\u24b6-\u24ff\U0001d400-\U0001d7ff\U0001f110-\U0001f189]"
)
"""Letters and digits in full-width, mathematical and circled forms, which pass for plain ones."""

_MOST_MARKS, _MOST_SIGNS = 2, 4  # Vietnamese has two accents on a letter; Thai and Tibetan more signs, none of them one


def blank(text: str) -> bool:
    """Whether a text shows nothing."""
    return not _BLANK.sub("", text).strip()


def name_complaint(name: str) -> str | None:
    """Return why a name of a model or person would mislead or break something, in one clause; None where it is fine."""
    from refusalatlas.linting.letters import mixed_word

    if _BLANK.search(name):
        return f"holds a letter that shows nothing (U+{ord(_BLANK.findall(name)[0]):04X})"
    if name != name.strip() or "  " in name:
        return "begins or ends with a space, or has two side by side"
    if not any(map(str.isalnum, name)):
        return "holds neither letter nor digit"
    form = _PLAIN_FORMS.search(name)
    if form is not None:
        return f"holds {form.group()!r}, which passes for a plain letter or digit"
    if _SLASHES.search(name) or "\\" in name or name.startswith(("/", "~")):
        return "looks like a path"
    if any(part.strip() in ("", ".", "..") for part in name.split("/")):
        return "looks like a path"
    if _piled(name):
        return "has more marks on a letter than any script writes"
    mixed = mixed_word(unicodedata.normalize("NFC", name))
    return None if mixed is None else f"mixes letters of scripts that look alike in {mixed!r}"


def _piled(name: str) -> bool:
    """Whether marks are heaped upon a letter."""
    marks, signs = 0.0, 0
    for letter in unicodedata.normalize("NFD", name):
        if unicodedata.category(letter) not in ("Mn", "Me"):
            marks, signs = 0.0, 0
            continue
        signs += 1
        if unicodedata.combining(letter) or unicodedata.category(letter) == "Me":
            marks += 0.5 if "\u0591" <= letter <= "\u05c7" else 1  # the points of Hebrew are vowels, dots and accents
        if marks > _MOST_MARKS or signs > _MOST_SIGNS:
            return True
    return False


def model_slug(name: str) -> str:
    """Return a model's slug: lower-case ``[a-z0-9._-]``, ``org/model`` as ``org__model``.

    A name that loses letters on the way gets a piece of its hash, so that no two such names meet. A slug never
    starts with a dot, and is never longer than 120 characters.
    """
    lowered = name.strip().lower()
    slug = re.sub(r"[^a-z0-9._-]+", "-", lowered.replace("/", "__")).strip(".-")
    lost = bool(re.search(r"[^a-z0-9._/ :+@-]", lowered)) or len(slug) > 100 or not slug
    if not lost:
        return slug
    digest = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return f"{slug[:100].strip('.-') or 'model'}-{digest}"


def run_id(date: str, *parts: str) -> str:
    """Return ``<date>-<ten hex digits>``, the digits derived from what the run holds."""
    return f"{date}-{hashlib.sha256(chr(10).join(parts).encode('utf-8', 'backslashreplace')).hexdigest()[:10]}"
