"""What lm_eval's task files of published sets name; the filter and the aggregations are those of our own tasks."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from .. import saving
from ..adapter import current_panel, doc_of, judged_item
from ..ahead import DESK
from ..wording import counted
from .hub import read_split
from .items import SetItems, items_of
from .sets import ExternalSet, get_set


def load(**options: Any) -> dict[str, Any]:
    """Return the docs of a set in a language as lm_eval wants them; this is where the hub is asked, and nowhere else.

    Each doc says in ``source`` where it was read: repository and commit.

    Raises:
        AtlasError: where set or panel are not there, the hub does not give the rows, the rows are not what the set's
            YAML says, or the results cannot be written.
    """
    from datasets import Dataset

    saving.prepare()
    DESK.expect(current_panel())
    one = get_set(options["ra_track"])
    found = read_items(one, options["ra_language"])
    if found.left_out:
        left = f"{counted(found.left_out, 'row')} without prompt or expectation left out"
        sys.stderr.write(f"refusalatlas: {one.name} in {options['ra_language']}: {left}\n")
    source = f"{one.file.repository}@{found.revision}"
    return {"test": Dataset.from_list([{**doc_of(item), "source": source} for item in found.items])}


def read_items(one: ExternalSet, language: str) -> SetItems:
    """Return the items of a set in a language, read from the hub or from a copy.

    Raises:
        AtlasError: see `load`.
    """
    return items_of(one, language, functools.partial(read_split, one))


def process_results(doc: Mapping[str, Any], results: Iterable[Any]) -> dict[str, Any]:
    """Return an item's record and its value for each metric of its set."""
    return judged_item(doc, results, get_set(str(doc["track"])).metrics)
