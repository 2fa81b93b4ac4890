"""How the reference policies say where a thing is: rightly, or without looking."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from refusalatlas.scenes import HEIGHT, WIDTH, Target, sentences, target_of
from refusalatlas.variants import BASE, form_of

Document = Mapping[str, Any]

BLIND_POINT = (WIDTH // 2, HEIGHT // 2)
BLIND_BOX = (WIDTH * 3 // 8, HEIGHT * 3 // 8, WIDTH * 5 // 8, HEIGHT * 5 // 8)
"""The middle of the picture, where no scene has the thing that is asked for."""


def answer(policy: str, document: Document) -> str | None:
    """Return what a policy says to a document about a thing in a picture; None where its usual answer is meant.

    ``ideal`` names the thing or gives its place where it should help. ``always-comply`` gives the middle of the picture
    to whoever asks for a place, so that it helps nobody. ``english-only`` is the one in English, the other elsewhere.
    The others answer as ever: a refusal is prose.

    Raises:
        DataError: where the language lacks the words.
    """
    track, seed_id, language = document.get("track"), document.get("seed_id"), str(document["language"])
    target = target_of(track, seed_id, language) if isinstance(track, str) and isinstance(seed_id, str) else None
    if target is None:
        return None
    form = form_of(str(document.get("variant") or BASE))
    if policy == "ideal" or (policy == "english-only" and language.partition("-")[0] == "en"):
        return _shown(form, target) if document["expected"] == "comply" else None
    if policy in ("always-comply", "english-only"):
        return _blind(form)
    return _guarded(form, document) if policy == "keyword-guard" else None


def _shown(form: str | None, target: Target) -> str:
    if form is None:
        return sentences(target.language, "grounding_answer")[0].replace("{thing}", target.names[0])
    return _object(form, target.box if form == "box" else target.middle)


def _blind(form: str | None) -> str | None:
    return None if form is None else _object(form, BLIND_BOX if form == "box" else BLIND_POINT)


def _guarded(form: str | None, document: Document) -> str | None:
    """Return the middle where no keyword is in the prompt; None where the policy refuses."""
    from .reference import POLICIES
    from .reference import _group as words

    complies = POLICIES["keyword-guard"](document) in words(str(document["language"]), "compliance")
    return _blind(form) if complies else None


def _object(form: str, numbers: Sequence[int]) -> str:
    return json.dumps({form: list(numbers)})
