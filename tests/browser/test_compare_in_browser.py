"""Any two models, compared in the browser: the same numbers as Python's, with the choice in the address."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from refusalatlas.leaderboard.site.metrics import signed_points

from refusalatlas.comparison import Comparison, compare_records

pytestmark = pytest.mark.browser

MERIDIAN, KESTREL, POLICY = "meridian__meridian-large", "kestrel__kestrel-mini", "refusalatlas-reference__ideal"
TEXTS = """(board) => [...board.querySelectorAll("tbody tr")].map(
  (row) => [...row.cells].map((cell) => cell.textContent.replace(/\\s+/g, " ").trim()))"""
RUN = "async ([root, first, second, draw]) => (await import(root + 'static/paired.js')).compare(first, second, draw)"


def ask(page: Any, address: str, first: str, second: str, folder: str = "") -> None:
    page.goto(f"{address}{folder}compare.html?first={first}&second={second}")
    page.wait_for_selector(".result table")


def test_says_what_the_page_of_the_pair_says(page: Any, address: str, site: Path) -> None:
    for path in sorted(site.glob("compare/*.html")):
        page.goto(f"{address}compare/{path.name}")
        table = page.eval_on_selector("[data-board]", TEXTS)
        words = page.locator(".words li").all_inner_texts()
        ask(page, address, *path.stem.split("--"))
        assert page.eval_on_selector(".result [data-board]", TEXTS) == table, path
        assert page.locator(".words li").all_inner_texts() == words, path


def made(seed: int, harm: float, benign: float, samples: int = 1, clusters: int = 40) -> list[Any]:
    """Answers of a model that does not exist, some of them undecided, seeds unlike each other."""
    draw = random.Random(seed)
    records = []
    for cluster in range(clusters):
        lean = draw.gauss(0, 0.2)
        for language in ("en", "ar", "sw"):
            for expected, share in (("refuse", harm), ("comply", benign)):
                labels = [one_label(draw, share + lean) for _ in range(samples)]
                record = SimpleNamespace(track="pairs", variant="base", version="1-0", locale=None, language=language)
                record.axis = "safety"
                record.seed_id, record.cluster_id, record.expected = (
                    f"c{cluster:02}-{expected}",
                    f"c{cluster:02}",
                    expected,
                )
                record.id = f"{record.seed_id}-{language}"
                record.decisions = [SimpleNamespace(label=label, outcome={}) for label in labels]
                records.append(record)
    return records


def one_label(draw: random.Random, refused: float) -> str | None:
    if draw.random() < 0.04:
        return None
    if draw.random() < refused:
        return "full_refusal"
    return "compliant" if draw.random() < 0.9 else "clarification"


CASES = {
    "two models": (made(1, 0.9, 0.1), made(2, 0.8, 0.2)),
    "the same model": (made(1, 0.9, 0.1), made(1, 0.9, 0.1)),
    "several answers a prompt": (made(3, 0.9, 0.1, samples=3), made(4, 0.7, 0.4, samples=3)),
    "few seeds": (made(5, 0.9, 0.1, clusters=15), made(6, 0.7, 0.1, clusters=15)),
    "all and nothing": (made(7, 2, -1), made(8, -1, 2)),
    "other seeds": (made(9, 0.9, 0.1), made(10, 0.88, 0.11, clusters=25)),
}


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_python(page: Any, address: str, site: Path, case: str) -> None:
    from refusalatlas.leaderboard.site.answered import answered

    first, second = CASES[case]
    draw = json.loads((site / "data" / "answers.json").read_text(encoding="utf-8"))
    page.goto(address + "compare.html")
    found = page.evaluate(RUN, [address, json.loads(answered(first)), json.loads(answered(second)), draw])
    expected = compare_records(first, second)
    assert len(found) == len(expected) == 12
    for here, there in zip(found, expected, strict=True):
        assert (here["metric"], here["place"], here["pairs"], here["seeds"]) == (
            there.metric,
            there.place,
            there.pairs,
            there.seeds,
        )
        for browser, python in figures(here, there):
            assert browser == (None if python is None else pytest.approx(python, abs=1e-9)), (here, there)
        assert (there.difference.reason or "").startswith(here["reason"] or ""), there


def figures(here: dict[str, Any], there: Comparison) -> Iterator[tuple[float | None, float | None]]:
    yield here["value"], there.difference.value
    yield here["low"], there.difference.low
    yield here["high"], there.difference.high
    yield here["p"], there.test.p
    yield here["adjusted"], there.p_holm
    yield here["detectable"], there.detectable


SHARES = (0.0, -0.0, 0.0025, -0.0025, 0.0035, -0.0004, 0.00951, 0.0099, 0.00999, 0.01, 0.125, -0.135, 0.384, -1.0)


def test_points_are_written_as_python_writes_them(page: Any, address: str) -> None:
    page.goto(address + "compare.html")
    load = "const { signed } = await import(root + 'static/compare.js')"
    run = f"async ([root, values]) => {{ {load}; return values.map(signed) }}"
    shown = page.evaluate(run, [address, SHARES])
    assert shown == [signed_points(value) for value in SHARES]


def test_versions_with_other_items_are_not_compared(page: Any, address: str, site: Path) -> None:
    data = json.loads((site / "data" / "answers" / f"{MERIDIAN}.json").read_text(encoding="utf-8"))
    draw = json.loads((site / "data" / "answers.json").read_text(encoding="utf-8"))
    page.goto(address + "compare.html")
    assert page.evaluate(RUN, [address, data, {**data, "versions": ["2"]}, draw]) is None


def test_choice_goes_to_the_address_and_comes_back(page: Any, address: str) -> None:
    page.goto(address + "compare.html")
    page.select_option("select[name=first]", MERIDIAN)
    page.select_option("select[name=second]", POLICY)
    page.wait_for_selector(".result table")
    words, link = page.locator(".words li").all_inner_texts(), page.url
    assert f"first={MERIDIAN}" in link
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector(".result table")
    assert page.locator(".words li").all_inner_texts() == words
    assert page.input_value("select[name=second]") == POLICY


def test_swap_turns_the_sign(page: Any, address: str) -> None:
    ask(page, address, MERIDIAN, KESTREL)
    value = page.locator(".result tbody td.num").first.get_attribute("data-value")
    page.click("button[name=swap]")
    page.wait_for_function(
        "value => Number(document.querySelector('.result tbody td.num')?.dataset.value) === -Number(value)", arg=value
    )
    assert f"first={KESTREL}" in page.url


def test_result_is_a_table_like_the_others(page: Any, address: str) -> None:
    ask(page, address, MERIDIAN, KESTREL)
    page.select_option(".result select[name=metric]", "Youden’s J")
    assert page.locator(".result tbody tr:visible").count() == 3
    page.locator('.result thead th[data-key="difference"] button').click()
    values = [float(v) for v in page.locator(".result tbody tr:visible td:nth-of-type(2)").evaluate_all(
        "cells => cells.map((cell) => cell.dataset.value)"
    )]  # fmt: skip
    assert values == sorted(values, reverse=True)
    assert "any.metric=" in page.url
    assert f"first={MERIDIAN}" in page.url


@pytest.mark.parametrize("query", ["first=nobody&second=%3Cscript%3E", f"first={MERIDIAN}&second={MERIDIAN}", ""])
def test_nonsense_in_the_address_compares_nothing(page: Any, address: str, query: str) -> None:
    page.goto(f"{address}compare.html?{query}")
    page.wait_for_selector("form.pick:not([hidden])")
    assert page.locator(".result *").count() == 0


def test_answers_that_cannot_be_loaded_are_said_to_be(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.route("**/data/answers/*", lambda route: route.abort())
    page.goto(f"{address}compare.html?first={MERIDIAN}&second={KESTREL}")
    page.get_by_role("status").get_by_text("could not be loaded").wait_for()
    page.close()


def test_words_are_those_of_the_interface(page: Any, address: str) -> None:
    ask(page, address, MERIDIAN, KESTREL, "fr/")
    assert page.locator(".words li").first.inner_text().startswith(("J de Youden :", "Refus excessifs :"))
    assert "Toutes les langues" in page.locator(".result tbody").inner_text()


def test_model_page_leads_to_its_comparisons(page: Any, address: str) -> None:
    page.goto(f"{address}models/{KESTREL}.html")
    page.get_by_role("link", name="Compare with any other model").click()
    page.wait_for_selector("form.pick:not([hidden])")
    assert page.input_value("select[name=first]") == KESTREL


def test_without_javascript_the_pairs_that_are_there_are_listed(unscripted: Any, address: str) -> None:
    unscripted.goto(address + "compare.html")
    assert unscripted.locator(".against td a").count() == 20
    assert unscripted.locator("form.pick").is_hidden()
    assert unscripted.locator("noscript code", has_text="refusalatlas compare RUN RUN").count() == 1
    assert unscripted.locator("noscript p").is_visible()


def test_result_fits_a_phone(browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    ask(page, address, MERIDIAN, KESTREL)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
