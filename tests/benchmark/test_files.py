from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.files import dumps, iter_jsonl, read_jsonl, read_text, read_yaml, validate, write_atomic

ANY_TEXT = st.text(st.characters(codec=None, categories=None))  # lone surrogates too: models do write them
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


def _joined(value: Any) -> Any:
    """A value as JSON readers see it: a high and a low surrogate side by side are one character."""
    return json.loads(json.dumps(value))


@given(JSON)
def test_dumps_gives_one_line_of_utf8_that_reads_back(value: Any) -> None:
    line = dumps(value)
    assert "\n" not in line
    assert json.loads(line.encode("utf-8")) == _joined(value)


def test_dumps_keeps_letters_as_they_are() -> None:
    assert dumps({"a": "ልጅ 中文"}) == '{"a": "ልጅ 中文"}'


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.dictionaries(ANY_TEXT, JSON, max_size=3), max_size=5), suffix=st.sampled_from(["", ".gz"]))
def test_jsonl_reads_back_what_was_written(tmp_path: Path, rows: list[dict[str, Any]], suffix: str) -> None:
    path = tmp_path / f"rows.jsonl{suffix}"
    data = "".join(dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data, 1, mtime=0) if suffix else data)
    assert read_jsonl(path) == _joined(rows)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(data=st.binary(max_size=60), suffix=st.sampled_from(["jsonl", "jsonl.gz", "yaml", "txt"]))
def test_any_bytes_are_read_or_refused_by_our_own_error(tmp_path: Path, data: bytes, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(data)
    reader = {"yaml": read_yaml, "txt": read_text}.get(suffix, read_jsonl)
    try:
        reader(path)
    except DataError as error:
        assert str(path) in str(error)


def test_jsonl_cut_off_in_the_middle_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n\n{"a": "begi', encoding="utf-8")
    with pytest.raises(DataError, match=r"x\.jsonl:3: not a JSON object .*cut off\?"):
        read_jsonl(path)


def test_jsonl_is_read_up_to_the_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n[2]\n', encoding="utf-8")
    rows = iter_jsonl(path)
    assert next(rows) == (1, {"a": 1})
    with pytest.raises(DataError, match=r"x\.jsonl:2: not a JSON object"):
        next(rows)


def test_nesting_without_end_is_not_json_to_us(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": ' + "[" * 200_000, encoding="utf-8")
    with pytest.raises(DataError, match=r":1: not a JSON object"):
        read_jsonl(path)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_byte_order_mark_is_no_fault(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x.jsonl{suffix}"
    data = b'\xef\xbb\xbf{"a": 1}\n'
    path.write_bytes(gzip.compress(data, mtime=0) if suffix else data)
    assert read_jsonl(path) == [{"a": 1}]


def test_cut_gzip_is_said_to_be_cut(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(os.urandom(3000).hex().encode(), mtime=0)[:-800])
    with pytest.raises(DataError, match="cut off in the middle"):
        read_jsonl(path)


def test_damaged_gzip_is_our_error(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    data = bytearray(gzip.compress(b'{"a": 1}\n' * 500, mtime=0))
    data[12:20] = b"\xff" * 8
    path.write_bytes(bytes(data))
    with pytest.raises(DataError, match=r"x\.jsonl\.gz"):
        read_jsonl(path)


def test_what_is_no_gzip_is_our_error(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(b'{"a": 1}\n')
    with pytest.raises(DataError, match=r"x\.jsonl\.gz"):
        read_jsonl(path)


@pytest.mark.parametrize("reader", [read_jsonl, read_yaml, read_text])
def test_missing_files_and_folders_are_our_error(tmp_path: Path, reader: Any) -> None:
    with pytest.raises(DataError, match="no such file"):
        reader(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="directory"):
        reader(tmp_path)


@pytest.mark.parametrize("reader", [read_jsonl, read_yaml, read_text])
def test_other_encodings_are_refused_with_advice(tmp_path: Path, reader: Any) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes('{"a": "é"}\n'.encode("latin-1"))
    with pytest.raises(DataError, match=r"not UTF-8.*save it as UTF-8"):
        reader(path)


def test_broken_yaml_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: 1\nb: [1, 2\nc: 3\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"x\.yaml:3: not valid YAML"):
        read_yaml(path)


@pytest.mark.parametrize(
    "text",
    ["a: 2026-13-45", "a: !!int x", "a: !!int ''", "a: !!bool x", "a: !!timestamp x", "a: " + "[" * 5000, "? [1]\n: 2"],
)
def test_yaml_that_parses_but_means_nothing_is_our_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"x\.yaml"):
        read_yaml(path)


def test_yaml_never_makes_objects(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: !!python/object/apply:os.getcwd []\n", encoding="utf-8")
    with pytest.raises(DataError, match="constructor"):
        read_yaml(path)


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    size: int


def test_validation_names_every_wrong_field_in_one_line() -> None:
    with pytest.raises(DataError) as caught:
        validate(_Form, {"size": "many", "colour": 1}, "form.yaml")
    message = str(caught.value)
    assert message.startswith("form.yaml: ")
    assert all(field in message for field in ("name", "size", "colour"))
    assert "\n" not in message


def test_a_check_of_our_own_is_said_in_its_own_words() -> None:
    class Checked(BaseModel):
        size: int

        @field_validator("size")
        @classmethod
        def _odd(cls, size: int) -> int:
            if size % 2 == 0:
                raise ValueError("has to be odd")
            return size

        @model_validator(mode="after")
        def _whole(self) -> Checked:
            raise ValueError("size needs colour")

    for size, said in ((2, "form.yaml: size: has to be odd"), (3, "form.yaml: size needs colour")):
        with pytest.raises(DataError) as caught:
            validate(Checked, {"size": size}, "form.yaml")
        assert str(caught.value) == said
    with pytest.raises(DataError, match=r"form\.yaml: file: should hold names with values$"):
        validate(Checked, [], "form.yaml")


@pytest.mark.parametrize("value", [None, [], "text", 3])
def test_validation_refuses_what_is_no_mapping(value: Any) -> None:
    with pytest.raises(DataError, match=r"form\.yaml: file: "):
        validate(_Form, value, "form.yaml")


@pytest.mark.parametrize("data", ["ልጅ\n", b"\x00\xff"])
def test_written_file_holds_the_data_and_nothing_else_is_left(tmp_path: Path, data: str | bytes) -> None:
    path = tmp_path / "new" / "folder" / "x.txt"
    write_atomic(path, data)
    assert path.read_bytes() == (data.encode() if isinstance(data, str) else data)
    assert [p.name for p in path.parent.iterdir()] == ["x.txt"]
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_interrupted_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    path = tmp_path / "x.txt"
    path.write_text("old", encoding="utf-8")

    def fail(self: Path, target: Path) -> None:
        raise failure

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(KeyboardInterrupt if isinstance(failure, KeyboardInterrupt) else AtlasError):
        write_atomic(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.txt"]


def test_folder_that_cannot_be_made_is_one_line_with_advice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(AtlasError, match=r"cannot be written.*choose a folder that you may write to"):
        write_atomic(tmp_path / "file" / "below" / "x.txt", "new")


def test_target_that_is_a_folder_is_our_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(AtlasError, match="cannot be written"):
        write_atomic(tmp_path / "x", "new")
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_packed_file_that_is_not_called_so_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(gzip.compress(b'{"id": "1"}\n'))
    with pytest.raises(DataError, match=r"answers\.jsonl: is gzip; unpack it, or call it answers\.jsonl\.gz"):
        read_jsonl(path)


def test_key_that_stands_twice_in_yaml_is_named_by_line(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\nb: {c: 1}\na: 2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.yaml:3: 'a' stands twice, in line 1 already"):
        read_yaml(path)
