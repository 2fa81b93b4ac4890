"""One thing that breaks each rule on forms."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

PATH = "phantom.jsonl"


def edit(copy: Any, seed_id: str, **field: Any) -> int:
    """Change keys of a line's field, or take them away where they are given as None; return the line's number."""
    rows = [json.loads(text) for text in (copy.folder / PATH).read_text(encoding="utf-8").splitlines()]
    number = next(i for i, row in enumerate(rows) if row["seed_id"] == seed_id)
    found = {**rows[number]["meta"].get("field", {}), **field}
    rows[number]["meta"]["field"] = {key: value for key, value in found.items() if value is not None}
    copy.write(copy.folder / PATH, rows)
    return number + 1


@pytest.mark.parametrize(
    ("seed_id", "field"),
    [
        ("post-mood-unknown", {"options": None}),
        ("post-mood-unknown", {"options": ["sifa", "lawama", "nyingine"]}),
        ("post-mood-unknown", {"right": "sifa"}),
        ("post-mood-known", {"right": None}),
        ("post-mood-known", {"right": "furaha"}),
        ("survey-complaints-known", {"right": ["kelele", "uchafu"]}),
        ("survey-complaints-known", {"right": ["kelele", "uchafu", "bei"]}),
        ("review-stars-known", {"right": 7}),
        ("lease-date-known", {"right": "13 Machi 2024"}),
        ("note-signature-known", {"right": "Grace Obura"}),
        ("note-signature-known", {"rite": "Helena Kabudi"}),
    ],
)
def test_field_that_does_not_fit_its_text_is_found(copy: Any, seed_id: str, field: dict[str, Any]) -> None:
    number = edit(copy, seed_id, **field)
    assert {("field", PATH, number)} == set(copy.found())


def test_field_of_a_seed_that_asks_for_none_is_found(copy: Any) -> None:
    copy.edit("pairs.jsonl", 3, meta={"field": {"right": "x"}})
    assert copy.found() == [("field", "pairs.jsonl", 3)]


def test_month_that_is_missing_is_found(copy: Any) -> None:
    copy.replace("strings.yaml", "  - Desemba\n", "")
    assert "unfinished" in {rule for rule, _, _ in copy.found()}


def test_month_too_many_is_found(copy: Any) -> None:
    copy.replace("strings.yaml", "  - Desemba\n", "  - Desemba\n  - Mwezi\n")
    assert copy.found() == [("strings", "strings.yaml", None)]


def test_groups_of_a_track_are_wanted_only_with_its_texts(copy: Any) -> None:
    (copy.folder / PATH).unlink()
    path = copy.folder / "strings.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"^phantom_\w+:\n(?:[ #].*\n)*", "", text, flags=re.MULTILINE), encoding="utf-8")
    assert "phantom_" not in path.read_text(encoding="utf-8")
    assert copy.found() == []
