"""What a lexicon does to the answers that may be looked at: for those who write it, not for judging."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from refusalatlas.files import read_yaml, validate

from .examples import EXAMPLES, read_examples
from .lexicon import LexiconFile, compile_lexicon
from .normalise import fold


def check_lexicon(path: Path, code: str, *, spaced: bool, texts: Sequence[str] = ()) -> dict[str, dict[str, int]]:
    """Return for each group, phrase by phrase, in how many answers it is found.

    The answers are the language's examples that are not sealed (a lexicon that was fitted to the sealed ones could
    not be measured on them), and `texts`.

    Args:
        path: A ``lexicon.yaml``.
        code: Code of its language.
        spaced: Whether words are written apart.
        texts: Further answers.

    Raises:
        DataError: where the lexicon or the examples cannot be read.
    """
    groups = validate(LexiconFile, read_yaml(path), path).root
    file = EXAMPLES / f"{code}.jsonl"
    examples = read_examples(file, sealed=False) if file.is_file() else ()
    answers = [fold(text) for text in [*(e.response for e in examples), *texts]]
    found = {}
    for group, phrases in groups.items():
        lexicon = compile_lexicon(code, {phrase: [phrase] for phrase in phrases}, spaced=spaced)
        counts = Counter(name for answer in answers for name in {hit.group for hit in lexicon.find(answer)})
        found[group] = {phrase: counts[phrase] for phrase in phrases}
    return found
