"""A built site on a local server, and a browser to look at it with."""

from __future__ import annotations

import datetime
import functools
import http.server
import importlib.resources
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "leaderboard")]

DAY = datetime.date(2026, 11, 30)
"""Of the snapshot that the sites have."""

CHROMIUM = Path("/usr/bin/chromium")
SLOW_MS = 1000 * float(os.environ.get("BROWSER_TIMEOUT_S", "60"))
"""How long the browser may take for one thing; a machine that is busy with others needs more."""

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
    from refusalatlas.leaderboard.site.build import build_site, take_snapshot

    work = tmp_path_factory.mktemp("browser")
    synthetic.write_submissions(work / "submissions", work / "runs", ("en", "ar"))
    take_snapshot(work / "submissions", DAY)
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
    from refusalatlas.leaderboard.site.build import build_site, take_snapshot

    work = tmp_path_factory.mktemp("hostile")
    submissions = hostile.write_submissions(work / "submissions", work / "runs")
    take_snapshot(submissions, DAY)
    build_site(submissions, work / "site", strict=True)
    return work / "site"


@pytest.fixture(scope="session")
def hostile_address(hostile_site: Path) -> Iterator[str]:
    """The address of that site."""
    with served(hostile_site) as found:
        yield found


def _absent(what: str) -> NoReturn:
    """Skip on a machine that lacks something; where everything has to be there, fail."""
    if os.environ.get("CI"):
        pytest.fail(f"there is no {what}")
    pytest.skip(f"no {what}")


@pytest.fixture(scope="session")
def axe() -> str:
    """The text of axe-core, as a package of the test extra ships it."""
    try:
        return (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        _absent("axe-core, which the test extra installs in axe-playwright-python")


@pytest.fixture
def place(site: Path) -> Callable[[str], str]:
    """Where a page lies, whose name holds what follows from the records."""
    run = next((site / "runs" / "meridian__meridian-large").glob("*.html"))
    names = {"RUN": f"meridian__meridian-large/{run.stem}", "PAIR": next((site / "compare").glob("*.html")).stem}

    def find(path: str) -> str:
        for name, real in names.items():
            path = path.replace(name, real)
        return path

    return find


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        _absent("playwright, which the test extra installs")
    if not CHROMIUM.is_file():
        _absent(f"{CHROMIUM}: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS, timeout=SLOW_MS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page of desktop size; an error in it fails the test."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.set_default_timeout(SLOW_MS)
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield opened
    opened.close()
    assert errors == []


@pytest.fixture
def unscripted(browser: Any) -> Iterator[Any]:
    """A page in which JavaScript is off."""
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(SLOW_MS)
    yield context.new_page()
    context.close()
