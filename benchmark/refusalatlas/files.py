"""Reading and writing the few file formats that the project knows."""

from __future__ import annotations

import functools
import gzip
import io
import itertools
import json
import os
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from .errors import AtlasError, DataError

_Model = TypeVar("_Model", bound=BaseModel)


def dumps(value: Any) -> str:
    """Return compact JSON, non-ASCII letters as they are; lone surrogates are escaped, so that UTF-8 can hold them."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    return text.encode("utf-8", "backslashreplace").decode("utf-8") if not text.isprintable() else text


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, with or without a byte order mark.

    Raises:
        DataError: where the file is missing, unreadable or not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError("no such file", where=path) from None
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 (byte {error.start})", where=path, mend="save it as UTF-8") from None
    except OSError as error:
        raise DataError(error.strerror or str(error), where=path) from None


@dataclass(frozen=True, slots=True)
class Span:
    """Some lines of a file, one after the other.

    Attributes:
        start: Where the first of them begins, in bytes of the file's unpacked content.
        first: Number of that line in the file, from 1.
        count: How many lines, blank ones included.
    """

    start: int
    first: int
    count: int


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a file, plain or gzipped, to read what it holds in bytes."""
    return cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def iter_jsonl(path: Path, span: Span | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield `(line number, object)` of a JSON-lines file, plain or gzipped; blank lines are passed over.

    With a span, only its lines are read, and of a plain file nothing before them.

    Raises:
        DataError: naming the first line that is not a JSON object, or that is cut off.
    """
    try:
        with open_unpacked(path) as raw:
            if span is None:
                first, lines = 1, _lines(raw)
            else:
                raw.seek(span.start)
                first, lines = span.first, itertools.islice(_lines(raw, newline="\n"), span.count)
            for number, line in enumerate(lines, first):
                if line.strip():
                    yield number, _json_object(line, path, number)
    except FileNotFoundError:
        raise DataError("no such file", where=path) from None
    except UnicodeDecodeError:
        if path.suffix != ".gz" and _is_gzip(path):
            raise DataError("is gzip", where=path, mend=f"unpack it, or call it {path.name}.gz") from None
        raise DataError("not UTF-8", where=path, mend="save it as UTF-8") from None
    except EOFError:
        raise DataError("cut off in the middle", where=path, mend="copy or make it again") from None
    except zlib.error:
        raise DataError("damaged, cannot be unpacked", where=path, mend="copy or make it again") from None
    except OSError as error:
        raise DataError(error.strerror or str(error), where=path) from None


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as raw:
        return raw.read(2) == b"\x1f\x8b"


def _lines(raw: IO[bytes], newline: str | None = None) -> Iterator[str]:
    return io.TextIOWrapper(raw, encoding="utf-8-sig", newline=newline)


def _json_object(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "not JSON"
        cut = "" if line.endswith("\n") else ", and the file ends there: cut off?"
        raise DataError(f"not a JSON object ({reason}{cut})", where=f"{path}:{number}") from None
    if not isinstance(row, dict):
        raise DataError("not a JSON object", where=f"{path}:{number}")
    return row


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return all objects of a JSON-lines file; see `iter_jsonl`."""
    return [row for _, row in iter_jsonl(path)]


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds, loaded safely.

    Raises:
        DataError: naming the line where the YAML breaks.
    """
    import yaml

    text = read_text(path)
    try:
        return yaml.load(text, Loader=_yaml_loader())  # noqa: S506
    except _TwiceError as error:
        raise DataError(str(error), where=f"{path}:{error.line}", mend="make the two one, or delete one") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else path
        tab = _tab_before(text, mark.line) if mark else None
        if tab is not None:
            what = "a tab stands at the beginning of the line, where YAML takes spaces alone"
            raise DataError(what, where=f"{path}:{tab}", mend="write two spaces in its place") from None
        problem = getattr(error, "problem", None) or error
        raise DataError(f"not valid YAML ({problem})", where=where) from None
    except (ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
        # PyYAML lets these through where a value is no date, number or truth value, although it looks or is tagged so
        raise DataError(f"not valid YAML ({type(error).__name__}: {error})", where=path, mend="quote it") from None


class _TwiceError(Exception):
    """A key stands twice in a mapping, of which YAML keeps the last without a word."""

    def __init__(self, key: str, first: int, line: int) -> None:
        super().__init__(f"{key!r} stands twice, in line {first} already")
        self.line = line


@functools.cache
def _yaml_loader() -> Any:
    """Return the safe loader, which refuses a key that stands twice."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            first: dict[str, int] = {}
            for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
                if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                    line = key.start_mark.line + 1
                    if key.value in first:
                        raise _TwiceError(key.value, first[key.value], line)
                    first[key.value] = line
            return super().construct_mapping(node, deep)

    return Loader


def _tab_before(text: str, line: int) -> int | None:
    """Return the number of the line with a tab before its first word, where it is one of two that a reader stops at."""
    lines = text.split("\n")
    near = [n for n in (line, line - 1) if 0 <= n < len(lines)]
    return next((n + 1 for n in near if "\t" in lines[n][: len(lines[n]) - len(lines[n].lstrip())]), None)


def validate(model: type[_Model], value: Any, where: str | Path) -> _Model:
    """Return `value` as a pydantic model.

    Raises:
        DataError: naming every field that is wrong, in one line.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise DataError("; ".join(problems(error)), where=where) from None


def problems(error: ValidationError) -> list[str]:
    """Return one clause for every field that pydantic found wrong."""
    return [_problem(".".join(map(str, item["loc"])), item["type"], item["msg"]) for item in error.errors()]


def _problem(place: str, kind: str, said: str) -> str:
    """Return a clause without what only says how the check is programmed."""
    if kind in ("model_type", "model_attributes_type"):
        return f"{place or 'file'}: should hold names with values"
    if kind == "value_error":
        said = said.removeprefix("Value error, ")
        return f"{place}: {said}" if place else said
    return f"{place or 'file'}: {said}"


def write_atomic(path: Path, data: str | bytes) -> None:
    """Write a file so that nobody ever sees half of it, and an interrupted write leaves the old one.

    Raises:
        AtlasError: where the folder cannot be written.
    """
    payload = data.encode("utf-8") if isinstance(data, str) else data
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(payload)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise _unwritable(path, error) from None
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _unwritable(path: Path, error: OSError) -> AtlasError:
    return AtlasError(
        f"cannot be written ({error.strerror or error})", where=path, mend="choose a folder that you may write to"
    )
