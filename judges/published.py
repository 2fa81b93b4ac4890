"""Labelled responses that published sets bring, as lines that `judges evaluate` reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from refusalatlas.errors import AtlasError
from refusalatlas.external.hub import read_split
from refusalatlas.external.items import Rows, check_columns, value_of
from refusalatlas.external.sets import ExternalSet, Labelled, LanguageByColumn

Read = Callable[[ExternalSet, Labelled], Rows]


def read_labelled(one: ExternalSet, labelled: Labelled) -> Rows:
    """Return the rows of a part with labelled responses.

    Raises:
        AtlasError: where the hub does not give them.
    """
    repository = labelled.repository
    return read_split(one, labelled.config, labelled.split, repository=repository, revision=labelled.revision)


def labelled_lines(one: ExternalSet, read: Read = read_labelled) -> Iterator[dict[str, Any]]:
    """Yield ``{id, prompt, response, label, language, source}`` for each labelled response of a set.

    Rows in a language that the set does not name, without a response, or with a label that the set's YAML does not
    translate into one of ours are passed over.

    Raises:
        AtlasError: where the set brings no labelled responses, or rows are not as its YAML says.
    """
    if not one.file.labelled:
        raise AtlasError("brings no labelled responses", where=one.name, mend="see docs/external.md for those that do")
    for labelled in one.file.labelled:
        rows = read(one, labelled)
        _check(one, labelled, rows)
        source = f"{labelled.repository or one.file.repository}@{rows.revision}"
        for number, row in enumerate(rows.rows, 1):
            language = _language(one, row)
            own = row[labelled.id] if labelled.id else f"row-{number:05}"
            for column, labels in labelled.responses.items():
                label = value_of(row[labels.column], labels.values)
                if language is None or label is None or not str(row[column] or "").strip():
                    continue
                yield {
                    "id": f"{one.name}/{labelled.split}/{own}/{column}/{language}"[-120:],
                    "prompt": str(row[labelled.prompt] or ""),
                    "response": str(row[column]),
                    "label": label,
                    "language": language,
                    "source": source,
                }


def _check(one: ExternalSet, labelled: Labelled, rows: Rows) -> None:
    wanted = [labelled.prompt, *([labelled.id] if labelled.id else [])]
    for column, labels in labelled.responses.items():
        wanted += [column, labels.column]
    if isinstance(one.file.language, LanguageByColumn):
        wanted.append(one.file.language.column)
    check_columns(rows, wanted, one.path.name)


def _language(one: ExternalSet, row: Any) -> str | None:
    spoken = one.file.language
    if isinstance(spoken, str):
        return spoken
    if isinstance(spoken, LanguageByColumn):
        found: str | None = value_of(row[spoken.column], spoken.values)
        return found
    raise AtlasError("says the language of a prompt, not of a row", where=one.path.name, mend="take `labelled` out")
