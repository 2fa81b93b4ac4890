from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from shapes import SAFE, Copies

from refusalatlas.errors import AtlasError
from refusalatlas.external import hub
from refusalatlas.external.sets import ExternalSet, get_set

MakeSet = Callable[..., ExternalSet]

ASK = """\
from refusalatlas.errors import AtlasError
from refusalatlas.external.hub import read_split
from refusalatlas.external.sets import get_set
one = get_set({name!r})
try:
    print(read_split(one, one.file.parts[0].config, one.file.parts[0].split))
except AtlasError as error:
    print(error)
"""


def _ask(name: str, **environment: str) -> str:
    """Read a set in a process of its own, since the hub's client reads its settings when it is imported."""
    env = {key: value for key, value in os.environ.items() if key != hub.COPIES}
    code = ASK.format(name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**env, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class _Hub(BaseHTTPRequestHandler):
    """A hub that answers every request alike: with this status and code of error."""

    status, code = 404, ""

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("X-Error-Code", self.code)
        self.send_header("X-Error-Message", "as the test wants it")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_POST = do_GET  # noqa: N815 - the names are http.server's

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Callable[[int, str], dict[str, str]]]:
    """Start a hub on this machine and return the environment in which it is the hub."""
    servers = []

    def start(status: int, code: str) -> dict[str, str]:
        handler = type("Hub", (_Hub,), {"status": status, "code": code})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        offline = {"HF_HUB_OFFLINE": "0", "HF_DATASETS_OFFLINE": "0", "NO_PROXY": "127.0.0.1"}
        return {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", **offline}

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_hub_that_lets_nobody_in_says_how_to_get_in(serve: Callable[[int, str], dict[str, str]]) -> None:
    said = _ask("sorrybench", **serve(403, "GatedRepo"))
    assert said == (
        "sorry-bench/sorry-bench-202503: lets in only who has been given access; accept the licence at "
        "https://huggingface.co/datasets/sorry-bench/sorry-bench-202503; `hf auth login`"
    )


def test_revision_that_is_gone_is_named(serve: Callable[[int, str], dict[str, str]]) -> None:
    said = _ask("jbb", **serve(404, "RevisionNotFound"))
    assert "JailbreakBench/JBB-Behaviors: has no revision 'd8d87b8fdcb7806e3b4e45fffb2bc24aa6b17f32'" in said


def test_repository_that_is_gone_is_named(serve: Callable[[int, str], dict[str, str]]) -> None:
    assert _ask("jbb", **serve(404, "RepoNotFound")).startswith("JailbreakBench/JBB-Behaviors: is not on the hub; ")


def test_offline_is_one_line_that_says_what_to_do() -> None:
    said = _ask("xstest", HF_HUB_OFFLINE="1")
    assert said == (
        "Paul/XSTest: the hub cannot be reached; try again with a connection and without HF_HUB_OFFLINE, "
        "or put a copy into REFUSALATLAS_EXT_DATA"
    )


def test_nobody_there_is_one_line_too() -> None:
    closed = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0", "HF_DATASETS_OFFLINE": "0"}
    assert _ask("xstest", **closed).startswith("Paul/XSTest: the hub cannot be reached; ")


@pytest.mark.parametrize(
    ("config", "split", "said"),
    [
        (None, "dev", 'somebody/tiny, split dev: Unknown split "dev"'),
        ("other", "test", "somebody/tiny, config other, split test: BuilderConfig 'other' not found"),
    ],
)
def test_config_and_split_that_are_not_there_are_named(
    copies: Copies, make_set: MakeSet, config: str | None, split: str, said: str
) -> None:
    copies.add("somebody/tiny", {(None, "test"): [{"text": SAFE}]})
    with pytest.raises(AtlasError, match=re.escape(said)) as error:
        hub.read_split(make_set(), config, split)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith("correct the set's YAML")


def test_file_that_is_damaged_is_named(copies: Copies, make_set: MakeSet) -> None:
    folder = copies.add("somebody/tiny", {(None, "test"): [{"text": SAFE}]})
    (folder / "default-test.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(AtlasError, match="somebody/tiny, split test: cannot be read"):
        hub.read_split(make_set(), None, "test")


def test_copy_comes_before_the_hub_and_is_called_one(copies: Copies, make_set: MakeSet) -> None:
    copies.add("somebody/tiny", {(None, "test"): [{"text": SAFE, "n": 1}]})
    rows = hub.read_split(make_set(), None, "test")
    assert (rows.columns, [dict(row) for row in rows.rows]) == (("text", "n"), [{"text": SAFE, "n": 1}])
    assert rows.revision == "local"


def test_code_in_a_repository_is_not_run(copies: Copies, make_set: MakeSet) -> None:
    folder = copies.add("somebody/tiny", {(None, "test"): [{"text": SAFE}]})
    mark = folder / "ran"
    (folder / "tiny.py").write_text(f"open({str(mark)!r}, 'w').close()\n", encoding="utf-8")
    with pytest.raises(AtlasError, match="cannot be read"):
        hub.read_split(make_set(), None, "test")
    assert not mark.exists()


class _Table:
    column_names = ("text",)

    def __init__(self, *files: str) -> None:
        self.info = type("Info", (), {"download_checksums": dict.fromkeys(files)})()


@pytest.mark.parametrize(
    ("file", "commit"),
    [
        ("hf://datasets/Paul/XSTest@" + "ab" * 20 + "/data/train.parquet", "ab" * 20),
        ("hf://datasets/Paul/XSTest@main/data/train.parquet", None),
        ("data/train.parquet", None),
    ],
)
def test_commit_that_rows_came_from_is_found_in_the_names_of_their_files(file: str, commit: str | None) -> None:
    assert hub._commit(_Table(file)) == commit


def test_listing_and_generating_never_reach_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    from refusalatlas.cli.tasks import external_rows
    from refusalatlas.generate import check_pack
    from refusalatlas.packs import packs

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the hub was asked")

    monkeypatch.setattr(hub, "_load", fail)
    assert {row["track"] for row in external_rows()} >= {"xstest", "sorrybench"}
    assert check_pack(packs()[0]) == []
    assert get_set("xstest").languages == ("en",)
