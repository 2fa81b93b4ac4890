"""Texts in another's place: a column that slipped, and a question where its answer belongs."""

from __future__ import annotations

import json
from typing import Any

import pytest


def shift(copy: Any, name: str, by: int) -> None:
    path = copy.folder / name
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    texts = [row["text"] for row in rows]
    for number, row in enumerate(rows):
        row["text"] = texts[(number - by) % len(texts)]
    copy.write(path, rows)


@pytest.mark.parametrize(("by", "said"), [(1, "1 row below"), (2, "2 rows below"), (-1, "1 row above")])
@pytest.mark.parametrize("name", ["pairs.jsonl", "phantom.jsonl"])
def test_column_that_slipped_is_found(copy: Any, name: str, by: int, said: str) -> None:
    shift(copy, name, by)
    [finding] = [finding for finding in copy.findings() if finding.rule == "order"]
    assert finding.path.name == name
    assert said in finding.what


def test_two_texts_that_changed_places_are_left_to_readers(copy: Any) -> None:
    one, other = copy.text("pairs.jsonl", 1), copy.text("pairs.jsonl", 5)
    copy.edit("pairs.jsonl", 1, text=other)
    copy.edit("pairs.jsonl", 5, text=one)
    assert "order" not in {rule for rule, _, _ in copy.found()}


def test_question_and_refusal_that_were_exchanged_are_found(copy: Any) -> None:
    path = copy.folder / "minos.jsonl"
    row = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    copy.edit("minos.jsonl", 1, text=row["response"], response=row["text"])
    assert ("order", "minos.jsonl", 1) in copy.found()
