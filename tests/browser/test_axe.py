"""axe-core on every kind of page: desktop and phone, light and dark, and the interface in Arabic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kinds import IN_ARABIC, KINDS

pytestmark = pytest.mark.browser

VIEWS = [(1280, "light"), (390, "dark"), (1280, "dark"), (390, "light")]
ENOUGH = 2
"""Views of pages that axe takes long over, or that differ from their like by the interface's language alone; each
width and each scheme is among them."""
MINOR = {"minor"}
"""What axe calls a matter of taste; everything above it fails."""


def findings(page: Any) -> list[tuple[str, str, str]]:
    """Return what axe finds above the minor: rule, how grave it is, and the first element concerned."""
    found = page.evaluate("axe.run(document)")["violations"]
    return [(v["id"], v["impact"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] not in MINOR]


@pytest.mark.parametrize("path", [*KINDS, *IN_ARABIC])
def test_axe_finds_nothing(page: Any, axe: str, address: str, place: Callable[[str], str], path: str) -> None:
    page.goto(address + place(path))
    if "second=" in path:
        page.wait_for_selector(".result table")
    page.evaluate(axe)
    for width, scheme in VIEWS[:ENOUGH] if path in IN_ARABIC or path.endswith("judges.html") else VIEWS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert findings(page) == [], (width, scheme)


def test_axe_would_find_something(page: Any, axe: str, address: str) -> None:
    page.goto(address + "index.html")
    page.evaluate(axe)
    page.evaluate(
        "document.querySelector('h1').before(document.createElement('img'), document.createElement('button'))"
    )
    page.evaluate("document.querySelector('h1').setAttribute('aria-hidden', 'perhaps')")
    assert {"image-alt", "button-name", "aria-valid-attr-value"} <= {rule for rule, _, _ in findings(page)}
