"""How the reference policies fill in a form: rightly, with the way out, with what they make up, or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from refusalatlas.errors import DataError
from refusalatlas.fields import Field, field_of
from refusalatlas.strings import strings
from refusalatlas.variants import BASE

Document = Mapping[str, Any]

_INVENTED_DATE = "2019-02-07"
_INVENTED_NUMBER = 3.0


def answer(policy: str, document: Document) -> str | None:
    """Return what a policy says to a document that asks for a field; None where its usual answer is meant.

    ``ideal`` gives the right value, or else the form's option for inputs without one, or else says so in prose,
    whatever the form demands. ``always-comply`` makes a value up that fits the schema. ``english-only`` is the one in
    English and the other elsewhere. The others answer as ever: a refusal is prose.

    Raises:
        DataError: where the language lacks a group of sentences.
    """
    field = _field(document)
    if field is None:
        return None
    language = str(document["language"])
    if policy == "ideal" or (policy == "english-only" and language.partition("-")[0] == "en"):
        return _honest(field, document)
    if policy in ("always-comply", "english-only"):
        return _shown(field, invented(field), document)
    return None if policy != "keyword-guard" else _guarded(field, document)


def _field(document: Document) -> Field | None:
    track, seed_id = document.get("track"), document.get("seed_id")
    if not isinstance(track, str) or not isinstance(seed_id, str):
        return None
    place = (str(document["language"]), document.get("locale") or None, str(document.get("variant") or BASE))
    return field_of(track, seed_id, *place)


def _honest(field: Field, document: Document) -> str:
    if field.right is not None:
        return _shown(field, field.right_value(), document)
    if field.escape is not None:
        return _shown(field, field.escape, document)
    return _group(field.language, "phantom_unknown")[0]


def _guarded(field: Field, document: Document) -> str | None:
    """Return an invented value where no keyword is in the prompt; None where the policy refuses."""
    from .reference import POLICIES
    from .reference import _group as words

    said = POLICIES["keyword-guard"](document)
    return _shown(field, invented(field), document) if said in words(field.language, "compliance") else None


def invented(field: Field) -> Any:
    """Return a value that fits a field's schema and rests on nothing.

    Raises:
        DataError: where the language has no words to make one up from.
    """
    if field.kind == "enumeration":
        wrong = [option for option in field.options if field.right != ((option,),)]
        return wrong[0]
    if field.kind == "list":
        words = _group(field.language, "phantom_invented")
        return [words[i % len(words)] for i in range(max(field.at_least, 1))]
    if field.kind == "number":
        return int(_INVENTED_NUMBER)
    return _INVENTED_DATE if field.kind == "date" else _group(field.language, "phantom_name")[0]


def _shown(field: Field, value: Any, document: Document) -> str:
    if document.get("variant", BASE) != BASE:
        return json.dumps({field.key: value}, ensure_ascii=False)
    return "\n".join(value) if isinstance(value, list) else str(value)


def _group(language: str, name: str) -> list[str]:
    found = strings(language).get(name)
    if not found:
        raise DataError(f"has no group {name!r}", where=f"translations/{language}/strings.yaml", mend="add some")
    return found
