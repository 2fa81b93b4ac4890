from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refusalatlas.errors import AtlasError
from refusalatlas.exchanges import read_exchanges, read_file
from refusalatlas.scale.parts import make_plan

LINE = '{{"id": {0}, "prompt": "p{0} ж", "response": "r{0}", "language": "en"}}'


def lines(*numbers: int | str, end: str = "\n") -> bytes:
    """Return a line of each number, and the text itself of each text."""
    return "".join((LINE.format(n) if isinstance(n, int) else n) + end for n in numbers).encode()


def ids(sources: list[str], part_lines: int) -> list[str]:
    """Return the ids of all exchanges, read part by part."""
    plan = make_plan(sources, part_lines)
    assert [part.index for part in plan.parts] == list(range(len(plan.parts)))
    return [at.exchange.id for part in plan.parts for at in read_file(Path(part.path), part.span)]


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.sampled_from(["", "  ", 7, 8]), min_size=1, max_size=12),
    size=st.integers(1, 14),
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
    packed=st.booleans(),
    cut=st.booleans(),
)
def test_parts_hold_what_the_file_holds(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[int | str],
    size: int,
    end: str,
    mark: bytes,
    packed: bool,
    cut: bool,
) -> None:
    data = mark + lines(*rows, 9, end=end)
    data = data.removesuffix(end.encode()) if cut else data
    path = tmp_path_factory.mktemp("x") / ("x.jsonl.gz" if packed else "x.jsonl")
    path.write_bytes(gzip.compress(data, mtime=0) if packed else data)
    assert ids([str(path)], size) == [e.id for e in read_exchanges(str(path))]
    assert make_plan([str(path)], size).files[0].lines == len([row for row in rows if isinstance(row, int)]) + 1


def test_lines_keep_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(1, "", 2, 3, "", 4))
    parts = make_plan([str(path)], 2).parts
    assert [at.line for part in parts for at in read_file(Path(part.path), part.span)] == [1, 3, 4, 6]
    path.write_bytes(lines(1, 2, 3, "{"))
    with pytest.raises(AtlasError, match=r"x\.jsonl:4: not a JSON object"):
        ids([str(path)], 3)


def test_several_sources_are_one_input_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_bytes(lines(1, 2, 3))
    (tmp_path / "a.jsonl").write_bytes(lines(4))
    assert ids([str(tmp_path / "b.jsonl"), str(tmp_path / "a.jsonl")], 2) == ["1", "2", "3", "4"]


def test_run_is_shared_out_in_its_order(finished_run: Path) -> None:
    assert ids([str(finished_run)], 7) == [e.id for e in read_exchanges(str(finished_run))]


def test_run_that_lacks_samples_is_refused(run_folder: Path) -> None:
    file = next(run_folder.rglob("samples_refusal_minos_sw*"))
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(AtlasError, match=r"samples_refusal_minos_sw.*holds 9 of 10 samples"):
        make_plan([str(run_folder)])
    shutil.rmtree(run_folder)
    with pytest.raises(AtlasError, match="no such"):
        make_plan([str(run_folder)])


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("-", None, "standard input: cannot be shared out among workers; save it as a file"),
        ("gone.jsonl", None, "gone.jsonl: no such file"),
        ("x.jsonl", b"\n \n", "x.jsonl: holds nothing to judge"),
        ("x.jsonl", b"", "x.jsonl: holds nothing to judge"),
        ("x.jsonl.gz", gzip.compress(lines(1, 2), mtime=0)[:-12], "x.jsonl.gz: cut off or damaged"),
        ("x.jsonl.gz", lines(1), "x.jsonl.gz: Not a gzipped file"),
    ],
)
def test_what_cannot_be_shared_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes | None, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if data is not None:
        Path(name).write_bytes(data)
    with pytest.raises(AtlasError) as caught:
        make_plan([name])
    assert str(caught.value).startswith(message)
