"""A built site on a local server, and a browser to look at it with."""

from __future__ import annotations

import functools
import http.server
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "leaderboard"))

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-sync",
    "--no-first-run",
)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site in English and Arabic."""
    import synthetic
    from refusalatlas.leaderboard.site.build import build_site

    work = tmp_path_factory.mktemp("browser")
    synthetic.write_submissions(work / "submissions", work / "runs", ("en", "ar"))
    build_site(work / "submissions", work / "site")
    return work / "site"


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Give the address of a folder on a local server, with a slash at its end."""
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The address of that site."""
    with served(site) as found:
        yield found


@pytest.fixture(scope="session")
def hostile_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of submissions whose every text tries something."""
    import hostile
    from refusalatlas.leaderboard.site.build import build_site

    work = tmp_path_factory.mktemp("hostile")
    build_site(hostile.write_submissions(work / "submissions", work / "runs"), work / "site", strict=True)
    return work / "site"


@pytest.fixture(scope="session")
def hostile_address(hostile_site: Path) -> Iterator[str]:
    """The address of that site."""
    with served(hostile_site) as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.is_file():
        pytest.skip(f"no {CHROMIUM}")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page of desktop size; an error in it fails the test."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield opened
    opened.close()
    assert errors == []
