"""Submissions whose every text tries something, in Chromium: no script of theirs runs, no dialog opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytestmark = pytest.mark.browser

WATCH = "window.evil = () => { window.ran = true; alert('ran'); };"
THEIRS = """() => [
  window.ran === true,
  document.querySelectorAll("x-evil, img, [evil], [onload], [onerror], a[href^=javascript]").length,
  document.querySelectorAll("script").length,
]"""


@pytest.fixture(scope="module")
def hostile_pages(hostile_site: Path) -> list[Path]:
    """One page of each kind, and all pages of models and runs."""
    found = sorted(hostile_site.glob("*.html")) + sorted(hostile_site.glob("models/*.html"))
    found += [hostile_site / "languages" / "ar.html", hostile_site / "ar" / "index.html"]
    return found + sorted(hostile_site.glob("runs/*/*.html")) + sorted(hostile_site.glob("runs/*/*/ar.html"))


def test_no_script_of_theirs_runs(
    browser: Any, hostile_site: Path, hostile_address: str, hostile_pages: list[Path]
) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.add_init_script(WATCH)
    for path in hostile_pages:
        page.goto(hostile_address + quote(str(path.relative_to(hostile_site))))
        ran, elements, scripts = page.evaluate(THEIRS)
        assert not ran, path
        assert elements == 0, path
        assert scripts == 1, path
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    assert len(hostile_pages) > 25
    assert dialogs == []
    page.close()


def test_watch_would_notice_a_script(browser: Any) -> None:
    page = browser.new_page()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.add_init_script(WATCH)
    page.goto("about:blank")
    page.evaluate("document.body.innerHTML = '<img src=x onerror=evil()>'")
    page.wait_for_function("window.ran === true")
    assert dialogs == ["ran"]
    page.close()
