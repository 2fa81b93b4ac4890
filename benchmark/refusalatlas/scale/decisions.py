"""Decisions in Parquet: the columns, one file a part, and the way back.

Columns: where the answer stood (`source`, `line` from 1, `answer` from 0 of that line), then the fields of a line of
`refusalatlas judge` (DESIGN §3) under their names. `votes`, `reasons` and `features` are lists of structs, `language`
is a struct. `outcome` is a JSON object as text, null where there is none. Text that UTF-8 cannot hold (half of a
surrogate pair) has U+FFFD in its place.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import AtlasError
from ..files import dumps
from ..records import Decision, well_formed

_META = b"refusalatlas"


def pyarrow() -> Any:
    """Return pyarrow with its Parquet module.

    Raises:
        AtlasError: where it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise AtlasError("needs pyarrow", where="Parquet", mend="pip install 'refusalatlas[ray]'") from None
    return pyarrow


def schema() -> Any:
    """Return the Arrow schema of the decisions."""
    pa = pyarrow()
    text, real = pa.string(), pa.float64()

    def several(*fields: tuple[str, Any]) -> Any:
        return pa.list_(pa.struct(list(fields)))

    return pa.schema(
        [
            pa.field("source", text, nullable=False),
            pa.field("line", pa.int64(), nullable=False),
            pa.field("answer", pa.int32(), nullable=False),
            pa.field("id", text, nullable=False),
            pa.field("label", text),
            pa.field("condition", text, nullable=False),
            pa.field("language", pa.struct([("expected", text), ("detected", text), ("confidence", real)])),
            pa.field("agreement", real, nullable=False),
            pa.field("contested", pa.bool_(), nullable=False),
            pa.field("votes", several(("judge", text), ("version", text), ("label", text), ("confidence", real))),
            pa.field("reasons", several(("reason", text), ("evidence", text))),
            pa.field("features", several(("feature", text), ("evidence", text))),
            pa.field("escalated_by", text),
            pa.field("single_family", pa.bool_(), nullable=False),
            pa.field("outcome", text),
        ]
    )


def row_of(decision: Decision) -> dict[str, Any]:
    """Return the columns of a decision; those of its exchange are not among them."""
    row: dict[str, Any] = _well_formed(decision.to_json())
    row.setdefault("single_family", False)
    row["outcome"] = dumps(row["outcome"]) if "outcome" in row else None
    return row


def _well_formed(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else well_formed(value)
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(entry) for key, entry in value.items()}
    return [_well_formed(entry) for entry in value] if isinstance(value, list | tuple) else value


def part_path(folder: Path, index: int) -> Path:
    """Return the name of a part's file; in order of their names the files are in the order of the input."""
    return folder / f"part-{index:06}.parquet"


def leftovers(path: Path) -> list[Path]:
    """Return what workers that died in the middle of a part have left of it."""
    return list(path.parent.glob(f".{path.name}.*"))


def write_part(path: Path, batches: Iterable[Sequence[dict[str, Any]]], job: str, index: int) -> int:
    """Write a part's rows, batch by batch, under a name of this process; the part's own name comes when all is there.

    Args:
        path: See `part_path`.
        batches: Rows with all columns of `schema`.
        job: Digest of the work that the part belongs to.
        index: Number of the part.

    Returns:
        How many rows were written.

    Raises:
        AtlasError: where the folder cannot be written.
    """
    pa = pyarrow()
    temporary = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}")
    rows, columns = 0, schema()
    try:
        with pa.parquet.ParquetWriter(temporary, columns, compression="zstd") as writer:
            for batch in batches:
                writer.write_table(pa.Table.from_pylist(list(batch), schema=columns))
                rows += len(batch)
            writer.add_key_value_metadata({_META: dumps({"job": job, "part": index, "rows": rows})})
        with temporary.open("rb") as handle:  # a name must never stand for what is not yet on the disk
            os.fsync(handle.fileno())
        temporary.replace(path)
    except OSError as error:
        raise AtlasError(f"cannot be written ({error.strerror or error})", where=path) from None
    finally:
        with suppress(OSError):  # where the folder is gone there is nothing left to remove
            temporary.unlink(missing_ok=True)
    return rows


def rows_of_part(path: Path, job: str, index: int) -> int | None:
    """Return how many rows a finished part has; None where it is not there, damaged, or of other work."""
    pa = pyarrow()
    try:
        meta = pa.parquet.read_metadata(path)
        said = json.loads((meta.metadata or {})[_META])
        rows = int(meta.num_rows)
    except (OSError, ValueError, KeyError, pa.ArrowException):
        return None
    return rows if said == {"job": job, "part": index, "rows": rows} else None


def read_part(path: Path) -> Iterator[tuple[str, Decision]]:
    """Yield id and decision of each row, in order; memory is bounded by a batch.

    Raises:
        AtlasError: where the file is damaged.
    """
    pa = pyarrow()
    try:
        with pa.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1024):
                for row in batch.to_pylist():
                    row["outcome"] = json.loads(row["outcome"]) if row["outcome"] else {}
                    yield row["id"], Decision.from_json(row)
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        mend = "remove it and start the same command again"
        raise AtlasError(f"damaged ({type(error).__name__})", where=path, mend=mend) from None
