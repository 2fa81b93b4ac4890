"""In which language an answer is: by its script, by py3langid, by profiles of our own texts, by langdetect.

py3langid decides among the registered languages of the answer's script. It does not know all of them (Hausa and
Yoruba are missing), so that a profile of character n-grams, made from each language's own texts in `translations/`,
has a voice too; where the two differ, langdetect is asked. On short texts all of them abstain.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refusalatlas.errors import AtlasError
from refusalatlas.files import read_jsonl, read_yaml
from refusalatlas.languages import Language, load_languages

from .normalise import fold
from .scripts import codepoints, script_counts, scripts_of

SAMPLE = 400
"""Characters that are looked at."""

_BUCKETS = 1 << 14
_LONE = {"Hang": "ko", "Grek": "el", "Armn": "hy", "Geor": "ka", "Thai": "th", "Laoo": "lo", "Khmr": "km"}
_DENSE = frozenset({"Hani", "Kana", "Hang"})
_FAMILIES = {"zh-Hans": "zh", "zh-Hant": "zh"}
_SURE, _SURELY_ENGLISH = 0.9, 0.78
"""A romanised text is taken for some language or other at .7 to .8, for English at .75."""

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_FREQUENT = (
    "i i'm you the that with can't cannot can help sorry but is it of and for not this don't your my be are do in on "
    "if or have would could please about any no we they was as at from what unable assist request"
)
_ENGLISH = frozenset(_FREQUENT.split())


def same_language(one: str | None, other: str | None) -> bool:
    """Whether two codes are one language; simplified and traditional Chinese count as one."""
    return one is not None and other is not None and _FAMILIES.get(one, one) == _FAMILIES.get(other, other)


def romanised(text: str, expected: str | None, found: str | None, sure: float) -> bool:
    """Whether a text seems to be in its language, but in Latin letters that this language is not written in.

    Nothing here was trained on such writing. A text that is surely in another language is no such text.

    Args:
        text: Prose, freed of quotations and code.
        expected: Code of the language that it should be in, or None.
        found: What `detect` says of it.
        sure: And how sure it is, 0 to 1.
    """
    language = load_languages().get(expected or "")
    if language is None or "Latn" in {language.script, *language.also_in}:
        return False
    if found is not None and sure >= (_SURELY_ENGLISH if found == "en" else _SURE):
        return False
    if found == "en" and _is_plain_english(text):
        return False
    counts = script_counts(text[:SAMPLE])
    return counts.get("Latn", 0) > 0.6 * sum(counts.values())


def _is_plain_english(text: str) -> bool:
    """Whether half of the words are among the most frequent of English, as in the briefest refusal."""
    words = _WORD.findall(text[:SAMPLE].lower().replace("’", "'"))
    return len(words) >= 4 and sum(word in _ENGLISH for word in words) >= 0.5 * len(words)


def detect(text: str, expected: str | None = None) -> tuple[str | None, float]:
    """Return the language of a text and how sure that is.

    Args:
        text: Prose, folded or not; of quotations and code it should be freed before.
        expected: Code of the language that it should be in, or None.

    Returns:
        A BCP-47 code of a registered language, or the ISO 639-1 code of one that only py3langid knows, or None where
        the text is too short, too mixed, too close to several languages, or in a script in which the expected language
        is written only here and there; and a confidence of 0 to 1.
    """
    text = text[:SAMPLE]
    counts = script_counts(text)
    letters = sum(counts.values())
    if not letters:
        return None, 0.0
    if counts.get("Kana", 0) > 0.08 * letters:
        return "ja", min(1.0, counts["Kana"] / letters + 0.5)
    script, most = next(iter(counts.items()))
    share = most / letters
    if letters < (4 if script in _DENSE else 12) or share < 0.6:
        return None, 0.0
    known = load_languages()
    if expected in known and any(script in scripts_of(other) for other in known[expected].also_in):
        return None, 0.0  # most of its texts, and all that the detectors know of it, are in another script
    candidates = [language for language in known.values() if script in scripts_of(language.script)]
    if script in _LONE:
        return _LONE[script], share
    if script == "Hani":
        return _chinese(text, expected, share)
    if script != "Latn" and len(candidates) <= 1 and letters >= 20:
        ours = candidates[0] if candidates else None
        return _among(text, ours, candidates, letters)
    return _among(text, known.get(expected or ""), candidates, letters)


def _chinese(text: str, expected: str | None, share: float) -> tuple[str | None, float]:
    simplified = sum(map(text.count, "这们说对时来为会个国问请发现关开电听让认应实"))
    traditional = sum(map(text.count, "這們說對時來為會個國問請發現關開電聽讓認應實"))
    if simplified == traditional:
        return (expected if same_language(expected, "zh-Hans") else "zh-Hans"), share
    return ("zh-Hans" if simplified > traditional else "zh-Hant"), share


def _among(text: str, expected: Language | None, candidates: list[Language], letters: int) -> tuple[str | None, float]:
    """Decide between languages of one script."""
    first, sure = _by_py3langid(text, candidates)
    ours, ours_sure = _by_profile(text, tuple(candidates))
    unknown = {language.code for language in candidates if language.py3langid is None}
    length = min(1.0, letters / 60)
    if ours is None or first == ours:
        return (first, sure * (0.5 + 0.5 * length)) if sure > 0.5 else (None, sure)
    if ours in unknown and ours_sure > (0.5 if expected is not None and ours == expected.code else 0.7):
        # py3langid has to name some language that it knows; our profile knows better.
        return ours, ours_sure * (0.5 + 0.5 * length)
    if letters < 40:
        return None, 0.0
    second = _by_langdetect(text, candidates)
    if second is not None and second in (first, ours):
        return second, 0.75 * length
    if expected is not None and expected.code in (first, ours):
        return expected.code, 0.5 * length
    return None, 0.0


@functools.lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _by_py3langid(text: str, candidates: list[Language]) -> tuple[str | None, float]:
    """Return the likeliest candidate, or a language that is no candidate where py3langid is sure of it."""
    codes: dict[str, str] = {}
    for language in candidates:
        if language.py3langid:
            codes.setdefault(language.py3langid, language.code)
    ranked = _identifier().rank(text.encode("utf-8", "replace"))
    label, share = ranked[0]
    if label not in codes and share > 0.9:
        return label, float(share)
    inside = [(codes[label], share) for label, share in ranked if label in codes]
    total = sum(share for _, share in inside)
    if total <= 0:
        return None, 0.0
    return inside[0][0], float(inside[0][1] / total)


def _by_langdetect(text: str, candidates: list[Language]) -> str | None:
    from langdetect.detector_factory import DetectorFactory, init_factory
    from langdetect.lang_detect_exception import LangDetectException

    init_factory()
    from langdetect import detector_factory

    factory: DetectorFactory = detector_factory._factory
    detector = factory.create()
    detector.seed = 0
    detector.append(text)
    try:
        label = detector.detect()
    except LangDetectException:
        return None
    return next((language.code for language in candidates if language.langdetect == label), None)


@dataclass(frozen=True, slots=True)
class _Profiles:
    codes: tuple[str, ...]
    log_shares: NDArray[np.float32]


def _by_profile(text: str, candidates: tuple[Language, ...]) -> tuple[str | None, float]:
    profiles = _profiles(candidates)
    if not profiles.codes:
        return None, 0.0
    grams = _grams(fold(text))
    if len(grams) < 8:
        return None, 0.0
    scores = profiles.log_shares[grams].sum(axis=0) / np.sqrt(len(grams))
    weights = np.exp(scores - scores.max())
    best = int(weights.argmax())
    return profiles.codes[best], float(weights[best] / weights.sum())


@functools.lru_cache(maxsize=32)
def _profiles(candidates: tuple[Language, ...]) -> _Profiles:
    """Return smoothed log shares of hashed character trigrams for each language that has texts."""
    codes, rows = [], []
    for language in candidates:
        grams = _grams(fold("\n".join(_texts(language))))
        if len(grams) >= 2000:
            counts = np.bincount(grams, minlength=_BUCKETS).astype(np.float64) + 0.02
            codes.append(language.code)
            rows.append(np.log(counts / counts.sum()))
    if not rows:
        return _Profiles((), np.zeros((_BUCKETS, 0), dtype=np.float32))
    return _Profiles(tuple(codes), np.stack(rows, axis=1).astype(np.float32))


def _texts(language: Language) -> list[str]:
    texts: list[str] = []
    try:
        for path in (language.strings, language.lexicon):
            if path.is_file():
                groups: Mapping[str, list[str]] = read_yaml(path)
                texts += [text for group in groups.values() for text in group if isinstance(text, str)]
        for path in sorted(language.folder.glob("*.jsonl")):
            for row in read_jsonl(path):
                texts += [row[key] for key in ("text", "response") if isinstance(row.get(key), str)]
    except (AtlasError, AttributeError, TypeError):
        # A broken file is reported where it is read for its own sake; here it only makes for a smaller profile.
        return texts
    return texts


def _grams(text: str) -> NDArray[np.intp]:
    points = codepoints(f" {text} ".replace("\n", " ")).astype(np.uint64)
    if len(points) < 3:
        return np.zeros(0, dtype=np.intp)
    mixed = (points[:-2] * np.uint64(0x9E3779B1) + points[1:-1]) * np.uint64(0x85EBCA6B) + points[2:]
    mixed *= np.uint64(0xC2B2AE3D27D4EB4F)
    return np.asarray((mixed >> np.uint64(50)) % np.uint64(_BUCKETS), dtype=np.intp)
