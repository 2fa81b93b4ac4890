"""Suites of published sets: their items lie elsewhere, so that `verify` takes them as they are, and says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refusalatlas.digests import digest_of
from refusalatlas.errors import AtlasError
from refusalatlas.external.hub import LOCAL
from refusalatlas.external.sets import get_set
from refusalatlas.records import Record

from .schema import Suite
from .suites import SuiteKey, ids_digest

Complaint = tuple[str, str]


def suite_of(key: SuiteKey, records: Sequence[Record], prompts: Mapping[str, str], sources: Mapping[str, str]) -> Suite:
    """Return what ``run.json`` says of a suite of a published set: the digests of the items that were really asked.

    Args:
        key: The suite.
        records: Its records.
        prompts: What was asked, by item id.
        sources: ``<repository>@<revision>`` by item id.

    Raises:
        AtlasError: where the run does not say, or says in more than one way, where the items were read.
    """
    read = sorted({sources.get(record.id, "") for record in records})
    if len(read) != 1 or not read[0]:
        what = f"the items of {key} were read from {', '.join(map(repr, read))}"
        raise AtlasError(what, mend="run the task again, all of it from one revision")
    repository, _, revision = read[0].partition("@")
    pinned = digest_of((r.id, r.expected, r.cluster_id, r.category, r.role, prompts[r.id]) for r in records)
    facts: dict[str, Any] = {
        "track": key.track,
        "version": key.version,
        "language": key.language,
        "locale": None,
        "variant": key.variant,
        "external": {"repository": repository, "revision": revision},
    }
    return Suite.model_validate(facts | pinned)


def complaints(key: SuiteKey, suite: Suite, records: Sequence[Record]) -> Iterator[Complaint]:
    """Check of such a suite what can be checked offline: that it is of the records, and of the right repository."""
    again = "submit the run again"
    if suite.external is None:
        yield f"does not say where the items of {key} were read", again
    elif suite.external.repository != get_set(key.track).file.repository:
        yield f"says that the items of {key} are from {suite.external.repository}", again
    if (suite.n, suite.ids) != (len(records), ids_digest(records)):
        yield f"the digests of {key} are not those of its records", again


def notes(suites: Sequence[Suite]) -> list[str]:
    """Return one line for each published set and source, on what of it could not be verified."""
    languages: dict[tuple[str, str, str], list[str]] = {}
    for suite in suites:
        if suite.external is not None:
            languages.setdefault((suite.track, *suite.external.model_dump().values()), []).append(suite.language)
    return [
        f"{track} in {', '.join(sorted(codes))}: external, items not verifiable offline "
        + (f"(a copy of {repository})" if revision == LOCAL else f"({repository}@{revision})")
        for (track, repository, revision), codes in sorted(languages.items())
    ]
