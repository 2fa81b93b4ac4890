"""Makes a classifier's input: its own format, within as many tokens as it reads, openings and ends kept."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from refusalatlas.errors import DataError

from .settings import HfSettings

Encoded = Mapping[str, Sequence[int]]
Fold = Callable[[str], str]

_ROLE_TOKEN = re.compile(r"<\|[^|<>\s]{1,40}\|>")
_WIDEST = 12
"""Characters a token, at most, for which a long text is looked at; few tokens are longer."""
_GAPS = (" ", "-", "\u00b7")
"""What may break a token in two; the first after which a tokenizer reads something else is taken."""
_LEAST = 16
"""Tokens of an answer that there must be room for."""


class Encoder:
    """Turns prompt and response into tokens.

    Args:
        tokenizer: A fast tokenizer, which knows where in the text each token stands.
        settings: Format, length, marker.
        where: What to call it in messages.

    Raises:
        DataError: where the format leaves no room for an answer.
    """

    def __init__(self, tokenizer: Any, settings: HfSettings, where: str) -> None:
        self._tokenizer, self._settings = tokenizer, settings
        self._before, self._between, self._after = settings.pieces
        self._side = _WIDEST * settings.max_length
        template = self._before + self._between + self._after
        kept = {token for token in tokenizer.all_special_tokens if len(token) > 1} | set(_ROLE_TOKEN.findall(template))
        self._forms: list[tuple[Fold, re.Pattern[str]]] = []
        folds: tuple[Fold, ...] = (str, _nfkc, self._normalised)
        for fold in folds:
            folded = kept | {"".join(map(fold, token)) for token in kept}
            found = sorted((token for token in folded if len(token) > 1), key=len, reverse=True)
            self._forms.append((functools.cache(fold), re.compile("|".join(map(re.escape, found)) or r"(?!)")))
        self._gap = next((gap for gap in _GAPS if all(self._breaks(gap, token) for token in kept)), _GAPS[-1])
        self._marker_tokens = len(self._spans(settings.marker))
        self._room = settings.max_length - len(self._tokens("", "")["input_ids"])
        if self._room < self._marker_tokens + _LEAST:
            raise DataError("max_length leaves no room for an answer", where=where, mend="raise max_length")

    def encode(self, prompt: str, response: str) -> Encoded:
        """Return the tokens of one exchange, at most `max_length` of them.

        Where they do not fit, the middle of the response is left out, then that of the prompt, which keeps a quarter
        of the room.
        """
        prompt, response = self._plain(prompt) if self._settings.reads_prompt else "", self._plain(response)
        found = self._tokens(prompt, response)
        limit, room = self._settings.max_length, self._room
        if len(found["input_ids"]) <= limit:
            return found
        prompt_spans, response_spans = self._spans(prompt), self._spans(response)
        while len(found["input_ids"]) > limit:
            for_prompt, for_response = _shares(len(prompt_spans), len(response_spans), room)
            found = self._tokens(
                self._cut(prompt, prompt_spans, for_prompt), self._cut(response, response_spans, for_response)
            )
            # Pieces joined at a marker may split into other tokens than before, so that a second try may be needed.
            room = max(0, room - max(1, len(found["input_ids"]) - limit))
        return found

    def _tokens(self, prompt: str, response: str) -> dict[str, list[int]]:
        if self._settings.input == "pair":
            made = self._tokenizer(prompt, text_pair=response, truncation=False, verbose=False)
        else:
            told = self._before + prompt if self._settings.reads_prompt else ""
            text = f"{told}{self._between}{response}{self._after}"
            made = self._tokenizer(text, truncation=False, verbose=False)
        return {key: list(value) for key, value in made.items()}

    def _spans(self, text: str) -> list[tuple[int, int]]:
        made = self._tokenizer(
            text, add_special_tokens=False, truncation=False, return_offsets_mapping=True, verbose=False
        )
        return [(start, end) for start, end in made["offset_mapping"]]

    def _cut(self, text: str, spans: Sequence[tuple[int, int]], room: int) -> str:
        """Return a text in about `room` tokens: its opening, the marker, its end."""
        if len(spans) <= room:
            return text
        kept = room - self._marker_tokens
        if kept < 2:
            return text[: spans[room - 1][1]] if room > 0 else ""
        opening = min(kept - 1, max(1, round(kept * self._settings.opening_share)))
        left = spans[opening - 1][1]
        return text[:left] + self._settings.marker + text[max(left, spans[opening - kept][0]) :]

    def _plain(self, text: str) -> str:
        """Return a text in which role and special tokens are mere letters, and of a huge one only what may be kept.

        So are those that normalising would make. Otherwise an answer that quotes the format would seem to begin a turn
        of its own.
        """
        if len(text) > 2 * self._side:
            return self._plain(text[: self._side]) + self._settings.marker + self._plain(text[-self._side :])
        for fold, pattern in self._forms:
            text = self._broken(text, fold, pattern)
        return text

    def _broken(self, text: str, fold: Fold, pattern: re.Pattern[str]) -> str:
        """Return a text with a gap behind the first character of whatever reads as a token once it is folded.

        Each character is folded by itself, so that it is known where it stands: full-width letters become plain ones,
        and what the tokenizer drops becomes nothing.
        """
        parts = [fold(character) for character in text]
        places = [i for i, part in enumerate(parts) for _ in part]
        gaps = {places[found.start()] for found in pattern.finditer("".join(parts))}
        if not gaps:
            return text
        return "".join(f"{character}{self._gap}" if i in gaps else character for i, character in enumerate(text))

    def _normalised(self, character: str) -> str:
        """Return what the tokenizer makes of a character within a text, before it splits anything."""
        normaliser = getattr(getattr(self._tokenizer, "backend_tokenizer", None), "normalizer", None)
        if normaliser is None:
            return character
        # Some put a mark before every text, or strip its ends: there are letters around the character.
        head, within = str(normaliser.normalize_str("a")), str(normaliser.normalize_str(f"a{character}a"))
        return within[len(head) : -1] if within.startswith(head) and within.endswith("a") else character

    def _breaks(self, gap: str, token: str) -> bool:
        whole, broken = (
            self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            for text in (token, f"{token[0]}{gap}{token[1:]}")
        )
        return bool(whole != broken)


def _nfkc(character: str) -> str:
    return unicodedata.normalize("NFKC", character)


def _shares(prompt: int, response: int, room: int) -> tuple[int, int]:
    """Return how many tokens prompt and response get: the response what it needs, the prompt at least a quarter."""
    for_prompt = min(prompt, max(room // 4, room - response))
    return for_prompt, min(response, room - for_prompt)
