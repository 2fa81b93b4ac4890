"""Pages of records, which are written in English and put into other languages by the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.browser

Find = Callable[[str], str]


def open_in(page: Any, address: str, place: Find, language: str) -> None:
    page.goto(f"{address}{place('runs/RUN/ar.html')}?lang={language}")
    page.wait_for_selector("form.filters:not([hidden])")


def test_records_are_read_in_arabic(page: Any, address: str, place: Find) -> None:
    open_in(page, address, place, "ar")
    assert page.eval_on_selector("html", "e => [e.lang, e.dir]") == ["ar", "rtl"]
    assert page.locator("h2").first.inner_text() == "السجلات"
    assert page.locator("thead button").first.inner_text() == "الطلب"
    assert "لا يُعرض" in page.locator(".records tbody").inner_text()
    assert page.get_attribute("input[name=q]", "placeholder") == "اسم أو /نمط/"


def test_no_row_says_english_words_of_ours(page: Any, address: str, place: Find) -> None:
    open_in(page, address, place, "fr")
    shown = page.locator(".records tbody").evaluate(
        "body => { for (const own of body.querySelectorAll('bdi, code')) own.remove(); return body.innerText; }"
    )
    for word in ("Refused", "Complied", "decline", "not shown", "none stated", "fraud\n"):
        assert word not in shown


def test_what_models_said_is_left_alone(page: Any, address: str, place: Find) -> None:
    page.goto(address + place("runs/RUN/ar.html"))
    said = page.locator(".said bdi").all_inner_texts()
    items = page.locator(".records code").all_inner_texts()
    open_in(page, address, place, "ko")
    assert page.locator(".said bdi").all_inner_texts() == said
    assert page.locator(".records code").all_inner_texts() == items


def test_filter_in_another_language_keeps_the_address_that_all_share(page: Any, address: str, place: Find) -> None:
    open_in(page, address, place, "fr")
    page.select_option("select[name=outcome]", label="Refusé")
    assert "outcome=Refused" in page.url
    assert "lang=fr" in page.url
    assert 0 < page.locator(".records tbody tr:visible").count() < page.locator(".records tbody tr").count()
    page.fill("input[name=q]", "refusé")
    assert page.locator(".records tbody tr:visible").count() > 0


def test_links_stay_in_the_language(page: Any, address: str, place: Find) -> None:
    open_in(page, address, place, "sw")
    page.locator(".crumb a").last.click()
    page.wait_for_url(f"**/sw/{place('runs/RUN.html')}")
    page.locator("ul.bars a").last.click()
    page.wait_for_url("**/*.html?lang=sw")
    page.wait_for_selector("html[lang=sw]")


def test_menu_offers_the_languages_and_marks_the_one_that_is_read(page: Any, address: str, place: Find) -> None:
    page.goto(address + place("runs/RUN/ar.html"))
    page.locator(".speech summary").click()
    page.locator(".speech a[hreflang=hi]").click()
    page.wait_for_selector("html[lang=hi]")
    assert page.locator(".speech [aria-current]").get_attribute("hreflang") == "hi"
    assert page.locator(".speech summary").inner_text() == "हिन्दी"


@pytest.mark.parametrize("language", ["xx", "%3Cscript%3E", "../ar", ""])
def test_language_that_is_not_there_stays_english(page: Any, address: str, place: Find, language: str) -> None:
    open_in(page, address, place, language)
    assert page.eval_on_selector("html", "e => [e.lang, e.dir]") == ["en", "ltr"]


def test_without_javascript_records_are_read_in_english(unscripted: Any, address: str, place: Find) -> None:
    unscripted.goto(f"{address}{place('runs/RUN/ar.html')}?lang=ar")
    assert unscripted.locator("h2").first.inner_text() == "Records"
    assert unscripted.locator(".speech").is_hidden()
