from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refusalatlas.errors import AtlasError
from refusalatlas.records import CONDITIONS, LABELS, Decision, DetectedLanguage, Finding, Label, Verdict
from refusalatlas.scale.decisions import (
    leftovers,
    part_path,
    pyarrow,
    read_part,
    row_of,
    rows_of_part,
    schema,
    write_part,
)

PLACE = {"source": "x.jsonl", "line": 1, "answer": 0}

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
share = st.floats(0, 1).map(lambda number: round(number, 4))
label = st.none() | st.sampled_from(LABELS)
findings = st.lists(st.builds(Finding, text, text), max_size=2).map(tuple)
decision = st.builds(
    Decision,
    label=label,
    condition=st.sampled_from(CONDITIONS),
    language=st.builds(DetectedLanguage, st.none() | text, st.none() | text, share),
    agreement=share,
    contested=st.booleans(),
    votes=st.lists(st.builds(Verdict, text, text, label, share), max_size=3).map(tuple),
    reasons=findings,
    features=findings,
    escalated_by=st.none() | text,
    single_family=st.booleans(),
    outcome=st.dictionaries(text, st.none() | st.booleans() | st.integers(-9, 9) | text | st.lists(text), max_size=2),
)


def write(path: Path, *decisions: Decision, job: str = "j", index: int = 0) -> int:
    rows = [{**PLACE, "id": str(number), **row_of(d)} for number, d in enumerate(decisions)]
    return write_part(path, [rows[:1], rows[1:]], job, index)


@settings(deadline=None)
@given(st.lists(decision, max_size=4))
def test_decisions_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, decisions: list[Decision]) -> None:
    path = part_path(tmp_path_factory.mktemp("x"), 0)
    assert write(path, *decisions) == len(decisions)
    found = list(read_part(path))
    assert [item for item, _ in found] == [str(number) for number in range(len(decisions))]
    assert [d.to_json() for _, d in found] == [d.to_json() for d in decisions]


def plain(**fields: Any) -> Decision:
    return Decision("compliant", "ok", DetectedLanguage("en", "en", 1.0), 1.0, False, **fields)


def test_columns_are_those_of_a_line_of_judge_and_of_its_place() -> None:
    said = plain(single_family=True, outcome={"iou": 0.5}).to_json()
    assert set(schema().names) == {"source", "line", "answer", "id", *said}
    assert get_args(Label) == LABELS


def test_half_a_surrogate_pair_becomes_a_replacement_character(tmp_path: Path) -> None:
    path = part_path(tmp_path, 0)
    write(path, plain(reasons=(Finding("policy", "no \ud83d"),)))
    assert next(read_part(path))[1].reasons == (Finding("policy", "no �"),)


def test_part_counts_only_where_it_is_whole_and_of_this_work(tmp_path: Path) -> None:
    path = part_path(tmp_path, 3)
    assert rows_of_part(path, "j", 3) is None
    write(path, plain(), plain(), index=3)
    assert rows_of_part(path, "j", 3) == 2
    assert rows_of_part(path, "other", 3) is None
    assert rows_of_part(path, "j", 2) is None
    path.write_bytes(path.read_bytes()[:-9])
    assert rows_of_part(path, "j", 3) is None
    with pytest.raises(AtlasError, match=r"part-000003\.parquet: damaged .*start the same command again"):
        list(read_part(path))
    pyarrow().parquet.write_table(pyarrow().table({"id": ["a"]}), path)
    assert rows_of_part(path, "j", 3) is None


def test_part_that_fails_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    path = part_path(tmp_path, 0)
    write(path, plain())

    def batches() -> Any:
        yield []
        assert len(leftovers(path)) == 1
        raise AtlasError("a judge gave up")

    with pytest.raises(AtlasError, match="gave up"):
        write_part(path, batches(), "j", 0)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert rows_of_part(path, "j", 0) == 1


def test_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(AtlasError, match=r"part-000000\.parquet: cannot be written"):
        write(part_path(tmp_path / "file", 0), plain())
