"""``refusalatlas-reference``: policies that know what is expected, or that are blind to it.

They are the ceilings and floors beside which a leaderboard shows models. What they say comes from the language's
``strings.yaml``; nothing there answers a harmful request.
"""

from __future__ import annotations

import functools
import hashlib
import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from refusalatlas.errors import AtlasError, DataError, UnknownNameError
from refusalatlas.phrases import without_gaps
from refusalatlas.records import Answer
from refusalatlas.strings import strings

from . import filling, pointing
from .base import MessageModel

Document = Mapping[str, Any]

_FIELDS = ("id", "language", "expected", "prompt")
_IGNORED = frozenset({"batch_size", "max_batch_size", "device", "trust_remote_code"})


class ReferenceModel(MessageModel):
    """A model that answers by a policy.

    Args:
        policy: ``ideal`` does what is expected; ``english-only`` does so in English and complies elsewhere;
            ``always-refuse`` and ``always-comply`` say it; ``keyword-guard`` refuses where a prompt holds one of the
            language's ``guard_keywords``; ``echo`` repeats the prompt.
        **arguments: What lm_eval hands to every model.

    Raises:
        UnknownNameError: where policy or argument is unknown.
    """

    lm_eval_name = "refusalatlas-reference"

    def __init__(self, policy: str = "ideal", **arguments: Any) -> None:
        super().__init__()
        for name in arguments:
            if name not in _IGNORED:
                raise UnknownNameError("argument of refusalatlas-reference", name, ["policy"])
        if policy not in POLICIES:
            raise UnknownNameError("policy", str(policy), list(POLICIES))
        self.policy = policy
        self.identity = {"model": self.lm_eval_name, "policy": policy}

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[Answer]:
        """Return one answer a request, in order.

        Raises:
            AtlasError: where a request belongs to a task of somebody else, which says nothing about what is expected.
            DataError: where the language lacks a group of sentences.
        """
        return [self._answer(request) for request in requests]

    def _answer(self, request: Any) -> Answer:
        document = request.doc
        if not isinstance(document, Mapping) or any(field not in document for field in _FIELDS):
            raise AtlasError(
                f"{self.lm_eval_name} only knows what is expected in tasks of Refusal Atlas",
                where=getattr(request, "task_name", None),
                mend="choose tasks such as 'refusal_*'",
            )
        served = f"{self.lm_eval_name}/{self.policy}"
        text = filling.answer(self.policy, document)
        if text is None:
            text = pointing.answer(self.policy, document)
        if text is None:
            text = in_form(document, POLICIES[self.policy](document))
        return Answer(text, finish_reason="stop", served_model=served, provider="refusalatlas")


def ideal(document: Document) -> str:
    """Do what is expected."""
    expected = document["expected"]
    if expected == "refuse":
        return always_refuse(document)
    if expected in ("comply", "either"):
        return always_comply(document)
    if expected == "aware":
        return f"{_aware(document)} {_say(document, 'compliance')}"
    if expected == "support":
        return f"{_say(document, 'refusal')} {_say(document, 'support')}"
    if expected == "abstain":
        return _say(document, "capability_limitation")
    raise DataError(f"expected is {expected!r}", where=str(document["id"]), mend="update refusalatlas")


def _aware(document: Document) -> str:
    """Return a sentence with a cue by which judges see that a norm is known; one without a gap, where there is such."""
    cues = list(document["cues"])
    cue = next((cue for cue in cues if "*" not in cue), cues[0])
    return _say(document, "awareness").replace("{cue}", without_gaps(cue))


def english_only(document: Document) -> str:
    """Do what is expected in English, and comply in any other language."""
    return ideal(document) if str(document["language"]).partition("-")[0] == "en" else always_comply(document)


def always_refuse(document: Document) -> str:
    """Refuse."""
    return _say(document, "refusal")


def always_comply(document: Document) -> str:
    """Comply."""
    return _say(document, "compliance")


def keyword_guard(document: Document) -> str:
    """Refuse where a keyword of the language occurs in the prompt, whatever the prompt is about."""
    prompt = _folded(echo(document))
    keywords = _group(str(document["language"]), "guard_keywords")
    return always_refuse(document) if any(_folded(word) in prompt for word in keywords) else always_comply(document)


def echo(document: Document) -> str:
    """Repeat the prompt; of a conversation, the last turn."""
    prompt = document["prompt"]
    return str(prompt[-1]["content"]) if isinstance(prompt, list) else str(prompt)


def in_form(document: Document, text: str) -> str:
    """Return what a policy says in the form that the document demands; an echo is no answer and has none."""
    if document.get("variant") != "json" or text == echo(document):
        return text
    complied = text in _group(str(document["language"]), "compliance")
    return json.dumps({"answer": text, "complete": complied}, ensure_ascii=False)


POLICIES: dict[str, Callable[[Document], str]] = {
    "ideal": ideal,
    "english-only": english_only,
    "always-refuse": always_refuse,
    "always-comply": always_comply,
    "keyword-guard": keyword_guard,
    "echo": echo,
}
"""The policies by name."""


def _say(document: Document, group: str) -> str:
    """Return a sentence of a group, always the same for the same item."""
    sentences = _group(str(document["language"]), group)
    digest = hashlib.sha256(f"{group}\n{document['id']}".encode()).digest()
    return sentences[int.from_bytes(digest[:8], "big") % len(sentences)]


@functools.lru_cache(maxsize=4096)
def _group(language: str, name: str) -> tuple[str, ...]:
    from refusalatlas.languages import get_language

    sentences = strings(language).get(name)
    if not sentences:
        raise DataError(f"has no group {name!r}", where=get_language(language).strings, mend="add some sentences")
    return tuple(sentences)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
