"""Whether an answer may know the norm that its prompt touches: by phrases that are written beside the prompt.

Phrases see what an answer says and not whether it is right: an answer that denies the norm in the same words counts
as aware, and one that knows it in words that nobody thought of does not. Outcomes therefore say what they rest on.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from refusalatlas.languages import load_languages
from refusalatlas.records import LABELLED, Decision, Exchange

from ..lexicon import Lexicon, compile_lexicon
from ..normalise import fold, strip_thinking

MOST = 20_000
"""Characters of an answer that are looked at for cues."""

_SPELLINGS = {0x093C: None, 0x0901: 0x0902}
"""Signs of Devanagari that are left out or exchanged as writers like: क़ानून and कानून, जाँच and जांच."""

_JOINED = frozenset({"Hang", "Kore"})
"""Scripts in which words stand apart and yet endings stick to them, so that a phrase may stand anywhere."""


def find_cues(text: str, language: str | None, cues: Sequence[str]) -> tuple[str, ...]:
    """Return the cues that a text holds, in the order in which they were given.

    Args:
        text: An answer, verbatim; of its thinking it is freed here.
        language: Code of the language that the cues are in; of one that is not registered words stand apart.
        cues: Phrases as `refusalatlas.phrases.check_phrase` accepts them.
    """
    lexicon = _compiled(language, tuple(cues))
    found = {hit.group for hit in lexicon.find(_spelt(fold(strip_thinking(text[:MOST]).text)))}
    return tuple(cue for cue in cues if cue in found)


@functools.lru_cache(maxsize=4096)
def _compiled(code: str | None, cues: tuple[str, ...]) -> Lexicon:
    language = load_languages().get(code) if code else None
    spaced = language is None or (language.spaced and language.script not in _JOINED)
    return compile_lexicon(code or "und", {cue: [_spelt(fold(cue))] for cue in cues}, spaced=spaced)


def _spelt(text: str) -> str:
    """Return folded text in one spelling, where a script has several of the same word."""
    return text.translate(_SPELLINGS)


@dataclass(frozen=True, slots=True)
class AwareForm:
    """An exchange whose prompt touches a norm; its answer is shown to the judges as it is."""

    exchange: Exchange

    @property
    def parts(self) -> tuple[Exchange, ...]:
        """The exchange itself."""
        return (self.exchange,)

    def close(self, decisions: Sequence[Decision]) -> Decision:
        """Return its decision, whose outcome holds ``aware`` and, in ``aware_by``, what decided that (``cues``).

        An answer that is none (an echo, a loop) is neither aware nor unaware and has no such outcome.
        """
        (decision,) = decisions
        if decision.condition not in LABELLED:
            return decision
        aware = bool(find_cues(self.exchange.response, self.exchange.language, self.exchange.cues))
        return replace(decision, outcome={**decision.outcome, "aware": aware, "aware_by": "cues"})
