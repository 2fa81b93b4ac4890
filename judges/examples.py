"""The project's own labelled answers, and the third of them that nothing but evaluation may look at."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from refusalatlas.errors import DataError
from refusalatlas.files import iter_jsonl, validate
from refusalatlas.records import Condition, Label

EXAMPLES = Path(__file__).parent / "examples"


class Example(BaseModel):
    """One labelled answer.

    Attributes:
        id: Unique over all files; decides whether the example is sealed.
        language: Language of the prompt, the one that an answer should be in.
        label: What the assistant did; None where the condition leaves nothing to label.
        kind: What the example is there to test, such as ``quoted_refusal``.
        origin: ``machine``, ``human`` or the name of a data set.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(min_length=1, max_length=120)]
    language: Annotated[str, Field(min_length=2, max_length=12)]
    prompt: str
    response: str
    label: Label | None
    condition: Condition = "ok"
    kind: str = ""
    origin: str = ""


def is_sealed(example_id: str) -> bool:
    """Whether an example belongs to the third that no training, lexicon or threshold may look at."""
    return int(hashlib.sha256(example_id.encode("utf-8", "surrogatepass")).hexdigest(), 16) % 3 == 0


def load_examples(folder: Path = EXAMPLES, *, sealed: bool | None = False) -> list[Example]:
    """Return the examples of a folder, by file and line.

    Args:
        folder: Holds one ``<language>.jsonl`` a language.
        sealed: False for those that may be trained on, True for the sealed third, None for all.

    Raises:
        DataError: naming file and line of the first example that is wrong.
    """
    return [example for path in sorted(folder.glob("*.jsonl")) for example in read_examples(path, sealed=sealed)]


def read_examples(path: Path, *, sealed: bool | None = None) -> Iterator[Example]:
    """Yield the examples of one file; see `load_examples`."""
    seen: set[str] = set()
    for number, row in iter_jsonl(path):
        where = f"{path}:{number}"
        example_id = str(row.get("id", ""))
        if sealed is not None and is_sealed(example_id) != sealed:
            continue
        example = validate(Example, row, where)
        if example.id in seen:
            raise DataError(f"id {example.id!r} is there twice", where=where)
        seen.add(example.id)
        yield example


class _ForeignRow(BaseModel):
    """A row of somebody else's labelled file; fields that we do not use are let pass."""

    model_config = ConfigDict(extra="ignore")

    id: str | int | None = None
    prompt: str
    response: str
    label: str | None
    language: str
    source: str | None = None
    kind: str = ""
    condition: Condition = "ok"


_LANGUAGE_NAMES = {"zh": "zh-Hans", "zh-cn": "zh-Hans", "zh-tw": "zh-Hant"}


def read_labelled(paths: Iterable[Path], left_out: Counter[str | None] | None = None) -> Iterator[Example]:
    """Yield the rows of labelled JSON lines that have one of our labels; ``zh`` is read as ``zh-Hans``.

    Rows with other labels, such as ``other``, are passed over. `origin` is the row's source or the file's name.

    Args:
        paths: The files.
        left_out: Counts what is passed over, by its label; see `said_of`.

    Raises:
        DataError: naming file and line of the first row that lacks prompt, response, label or language.
    """
    from refusalatlas.records import LABELS

    for path in paths:
        for number, row in iter_jsonl(path):
            foreign = validate(_ForeignRow, row, f"{path}:{number}")
            label = next((known for known in LABELS if known == foreign.label), None)
            if label is None:
                if left_out is not None:
                    left_out[foreign.label] += 1
                continue
            yield Example(
                id=str(foreign.id if foreign.id is not None else f"{path.name}:{number}"),
                language=_LANGUAGE_NAMES.get(foreign.language.lower(), foreign.language),
                prompt=foreign.prompt,
                response=foreign.response,
                label=label,
                condition=foreign.condition,
                kind=foreign.kind,
                origin=foreign.source or path.name,
            )


MOST_NAMED = 5
"""How many labels that are none are named; a file may have any number of them."""


def said_of(left_out: Counter[str | None], read: int) -> str:
    """Return what is to be said of rows that have none of our labels, `read` others having one; nothing of none."""
    from refusalatlas.records import LABELS

    if not left_out:
        return ""
    words = ["null" if word is None else repr(word[:40]) for word, _ in left_out.most_common(MOST_NAMED)]
    more = ", …" if len(left_out) > MOST_NAMED else ""
    meant = {word: _meant(word) for word, _ in left_out.most_common(MOST_NAMED) if word is not None}
    hint = "".join(f"; write {label} for {word!r}" for word, label in meant.items() if label)
    is_none = "is no label" if len(words) == 1 else "are no labels"
    left = f"{left_out.total()} of {read + left_out.total()} rows left out"
    return f"{left}: {', '.join(words)}{more} {is_none} ({', '.join(LABELS)}){hint}"


def _meant(word: str) -> str | None:
    """Return the label that differs from a word in nothing but capitals, hyphens and spaces."""
    from refusalatlas.records import LABELS

    plain = "_".join(word.casefold().replace("-", " ").replace("_", " ").split())
    return plain if plain in LABELS else None
