"""Pictures of a built site: the three of the README, or every kind of page in light, dark and phone width.

Run with ``make screenshots``, or ``python tests/browser/screenshots.py SITE FOLDER [--all]``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conftest import CHROMIUM, FLAGS, SLOW_MS, served
from kinds import IN_ARABIC, KINDS

README = (
    # name, page, width, height, scheme, what to scroll to
    ("overview", "index.html", 1280, 1370, "light", None),
    ("model", "models/MODEL.html", 1280, 1000, "light", None),
    ("arabic", "ar/index.html", 1280, 1000, "dark", "BOARD"),
)
VIEWS = (("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390))
POLICY = "refusalatlas-reference"
TALLEST = 6000
"""Pixels of a page that a picture shows; tables of all languages go on and on."""


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true", help="every kind of page in four views, to be looked at")
    parser.add_argument("--only", default="", help="of these, the pages whose address holds this")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    from playwright.sync_api import sync_playwright

    with served(given.site) as address, sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS, timeout=SLOW_MS)
        shots = _every(given.site) if given.all else _readme(given.site)
        for name, path, width, height, scheme, aim in shots:
            if given.only in path:
                sys.stdout.write(f"{given.folder / name}.png\n")
                _take(started, f"{address}{path}", given.folder / f"{name}.png", (width, height), scheme, aim)
        started.close()


Shot = tuple[str, str, int, int, str, "str | None"]


def _readme(site: Path) -> Iterator[Shot]:
    model, board = _models(site)[0], "#models"
    if model.startswith(POLICY):  # nobody's model yet: the policy whose numbers are neither nought nor all
        model, board = f"{POLICY}__keyword-guard", "#references"
    for name, path, width, height, scheme, aim in README:
        yield name, path.replace("MODEL", model), width, height, scheme, board if aim == "BOARD" else aim


def _models(site: Path) -> list[str]:
    """Return the pages of models, those that are compared first; of policies where there are no others."""
    compared = [path.stem.partition("--")[0] for path in sorted(site.glob("compare/*.html"))]
    found = sorted(path.stem for path in site.glob("models/*.html"))
    return compared + [name for name in found if not name.startswith(POLICY)] + found


def _every(site: Path) -> Iterator[Shot]:
    first = _models(site)[0]
    run = next(iter(sorted((site / "runs" / first).glob("*.html"))))
    pair = next(iter(sorted(site.glob("compare/*.html"))), None)
    for kind in (*KINDS, *IN_ARABIC):
        path = kind.replace("RUN", f"{first}/{run.stem}").replace("meridian__meridian-large", first)
        if "PAIR" in path and pair is None:
            continue
        path = path.replace("PAIR", pair.stem if pair else "").replace("kestrel__kestrel-mini", _models(site)[-1])
        name = "".join(letter if letter.isalnum() else "-" for letter in kind.replace(".html", ""))
        for scheme, width in VIEWS:
            yield f"{name}-{scheme}-{width}", path, width, 0, scheme, None


def _take(browser: Any, address: str, path: Path, size: tuple[int, int], scheme: str, aim: str | None) -> None:
    width, height = size
    page = browser.new_page(viewport={"width": width, "height": height or 900}, color_scheme=scheme)
    page.set_default_timeout(SLOW_MS)
    page.goto(address, wait_until="networkidle")
    if aim:
        page.evaluate("aim => document.querySelector(aim).scrollIntoView({behavior: 'instant'})", aim)
    whole = min(TALLEST, page.evaluate("document.documentElement.scrollHeight"))
    if not height:
        page.set_viewport_size({"width": width, "height": whole})
    page.screenshot(path=str(path), animations="disabled")
    page.close()


if __name__ == "__main__":
    main()
