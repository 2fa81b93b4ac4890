from __future__ import annotations

import gzip
import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.exchanges import exchange_of_line, read_exchanges
from refusalatlas.records import Exchange

LINE = {"id": "a", "prompt": "Hi", "response": "Hello", "language": "en", "finish_reason": "stop"}


def write(path: Path, *rows: Any) -> str:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return str(path)


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "anything.txt"])
def test_json_lines_are_read_in_order(tmp_path: Path, name: str) -> None:
    source = write(tmp_path / name, LINE, {**LINE, "id": 2})
    assert [e.id for e in read_exchanges(source)] == ["a", "2"]


def test_line_becomes_an_exchange() -> None:
    assert exchange_of_line(LINE, "x") == Exchange("a", "Hi", "Hello", "en", "stop")


def test_last_turn_of_the_user_is_the_prompt() -> None:
    turns = [("system", "s"), ("user", "first"), ("assistant", "x"), ("user", "last"), ("assistant", "y")]
    messages = [{"role": role, "content": text, "name": "n"} for role, text in turns]
    row = {"id": "a", "messages": messages, "response": "z"}
    assert exchange_of_line(row, "x").prompt == "last"


def test_null_is_an_empty_answer_and_further_fields_are_allowed() -> None:
    assert exchange_of_line({"id": 1, "prompt": "p", "response": None, "mine": {}}, "x").response == ""


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ({"prompt": "p", "response": "r"}, "id"),
        ({"id": "a", "response": "r"}, "neither prompt nor a user's message"),
        ({"id": "a", "prompt": "p"}, "response"),
        ({"id": "a", "prompt": "p", "response": 3}, "response"),
        ({"id": "a", "messages": [{"role": "assistant", "content": "x"}], "response": "r"}, "neither prompt nor"),
        ({"id": "a", "messages": "hi", "response": "r"}, "messages"),
        ({"id": "a", "prompt": "p", "response": "r", "language": 5}, "language"),
        ({}, "each line needs id, prompt or messages, and response"),
    ],
)
def test_what_is_wrong_with_a_line_is_named(tmp_path: Path, row: dict[str, Any], named: str) -> None:
    with pytest.raises(DataError, match=named) as caught:
        list(read_exchanges(write(tmp_path / "x.jsonl", LINE, row)))
    assert "x.jsonl:2" in str(caught.value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda x: st.lists(x, max_size=2)))
def test_any_line_is_an_exchange_or_our_own_error(value: Any) -> None:
    for row in (value, {**LINE, "id": value}, {**LINE, "messages": value, "prompt": None}, {**LINE, "response": value}):
        with suppress(DataError):
            assert isinstance(exchange_of_line(row, "x"), Exchange)


def _stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    _stdin(monkeypatch, b"\n" + json.dumps(LINE).encode() + b"\n")
    assert [e.id for e in read_exchanges("-")] == ["a"]


def test_byte_order_mark_in_standard_input_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    _stdin(monkeypatch, b"\xef\xbb\xbf" + json.dumps(LINE).encode())
    assert [e.id for e in read_exchanges("-")] == ["a"]


@pytest.mark.parametrize("data", [b"{", b"\xff\xfe\n", b"[" * 200_000, b'{"id": "a", "promp'])
def test_broken_standard_input_is_our_error(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    _stdin(monkeypatch, data)
    with pytest.raises(DataError, match="standard input"):
        list(read_exchanges("-"))


@pytest.mark.parametrize("data", [b"", b"\n\n"])
def test_nothing_to_judge_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: bytes) -> None:
    _stdin(monkeypatch, data)
    with pytest.raises(AtlasError, match="holds nothing to judge"):
        list(read_exchanges("-"))
    (tmp_path / "x.jsonl").write_bytes(data)
    with pytest.raises(AtlasError, match="holds nothing to judge"):
        list(read_exchanges(str(tmp_path / "x.jsonl")))


def test_folder_results_and_samples_of_a_run_give_the_same(finished_run: Path) -> None:
    whole = list(read_exchanges(str(finished_run)))
    [results] = finished_run.rglob("results_*.json")
    samples = sorted(finished_run.rglob("samples_*.jsonl"))
    assert list(read_exchanges(str(results))) == whole
    assert [e for path in samples for e in read_exchanges(str(path))] == whole
    assert len(whole) == 20


def test_a_run_is_read_line_by_line_and_not_as_a_whole(run_folder: Path) -> None:
    last = sorted(run_folder.rglob("samples_*.jsonl"))[-1]
    found = read_exchanges(str(run_folder))
    next(found)
    last.unlink()
    with pytest.raises(DataError, match="no such file"):
        list(found)


def test_a_run_whose_samples_are_cut_off_says_so_at_the_end(run_folder: Path) -> None:
    path = sorted(run_folder.rglob("samples_*.jsonl"))[0]
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")
    with pytest.raises(DataError, match="holds 9 of 10 samples: cut off"):
        list(read_exchanges(str(run_folder)))


def test_only_what_the_backend_settled_is_handed_on(run_folder: Path) -> None:
    path = sorted(run_folder.rglob("samples_refusal_minos_en_*.jsonl"))[0]
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row, condition in zip(rows, ["blocked", "error", "empty", "echo", "truncated"], strict=False):
        row["record"]["decisions"][0].update(condition=condition, label=None, contested=False)
    found = read_exchanges(write(path, *rows))
    assert [e.condition for e in found][:5] == ["blocked", "error", None, None, None]
