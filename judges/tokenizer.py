"""Cutting text into the pieces that multilingual-e5-small knows: the likeliest cut under a unigram model.

The method is SentencePiece's (Kudo 2018, "Subword Regularization"): each piece has a log probability, and the cut with
the largest sum is found from left to right. Cost grows linearly with the text, since no piece has more than sixteen
letters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .e5_file import ModelFile

_SPACE = "\u2581"
_SPACES = re.compile(" {2,}")
_UNKNOWN_PENALTY = 10.0


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A unigram vocabulary.

    Attributes:
        pieces: Id and log probability of each piece.
        longest: Letters of the longest piece.
        unknown: Id for a letter that no piece covers.
        unknown_score: Log probability of such a letter.
        normalised: What letters are replaced by first.
    """

    pieces: dict[str, tuple[int, float]]
    longest: int
    unknown: int
    unknown_score: float
    normalised: dict[int, str]

    @classmethod
    def of(cls, model: ModelFile) -> Tokenizer:
        """Return the tokenizer of a model file."""
        scores = model.piece_scores.tolist()
        pieces: dict[str, tuple[int, float]] = {}
        for number, piece in enumerate(model.pieces):
            if piece and number != model.unknown:
                pieces.setdefault(piece, (number, scores[number]))
        return cls(pieces, max(map(len, pieces)), model.unknown, min(scores) - _UNKNOWN_PENALTY, dict(model.normalised))

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's pieces, without those that open and close it."""
        text = _SPACES.sub(" ", text.translate(self.normalised))
        text = (text if text.startswith(" ") else f" {text}").replace(" ", _SPACE)
        size, pieces, longest = len(text), self.pieces, self.longest
        best = [float("-inf")] * (size + 1)
        last = [(0, 0)] * (size + 1)
        best[0] = 0.0
        for start in range(size):
            so_far = best[start]
            if so_far + self.unknown_score > best[start + 1]:
                best[start + 1], last[start + 1] = so_far + self.unknown_score, (start, self.unknown)
            for end in range(start + 1, min(size, start + longest) + 1):
                found = pieces.get(text[start:end])
                if found is not None and so_far + found[1] > best[end]:
                    best[end], last[end] = so_far + found[1], (start, found[0])
        result = []
        while size:
            size, piece = last[size]
            result.append(piece)
        return result[::-1]
