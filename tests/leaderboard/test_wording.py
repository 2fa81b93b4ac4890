"""The interface in several languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from refusalatlas.leaderboard.site.build import build_site
from refusalatlas.leaderboard.site.wording import Interface, interfaces, mark, speak

FRENCH = Interface("fr", "Français", "ltr", {"Overview": "Vue d’ensemble", "A & B": "<b>"})


@pytest.fixture(scope="module")
def site(two_languages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("spoken") / "site"
    build_site(two_languages, output, workers=1)
    return output


def test_words_are_put_in() -> None:
    assert speak(f"<a>{mark('Overview')}</a>", FRENCH, "index.html") == "<a>Vue d’ensemble</a>"


def test_words_that_are_missing_stay_english() -> None:
    assert speak(mark("Nowhere else"), FRENCH, "index.html") == "Nowhere else"


def test_english_keeps_its_point_at_the_end_from_right_to_left() -> None:
    arabic = Interface("ar", "العربية", "rtl", {"Known.": "معروف."})
    assert speak(mark("Unknown."), arabic, "index.html") == "Unknown.\N{LEFT-TO-RIGHT MARK}"
    assert speak(mark("Known."), arabic, "index.html") == "معروف."


def test_translations_are_escaped_like_everything_else() -> None:
    assert speak(mark("A & B"), FRENCH, "index.html") == "&lt;b&gt;"


def test_marked_text_cannot_bring_markup_in() -> None:
    assert speak(mark('<script>"'), FRENCH, "index.html") == "&lt;script&gt;&#34;"


def test_seven_languages_are_there() -> None:
    assert {one.code for one in interfaces()} >= {"en", "fr", "ar", "sw", "hi", "zh-Hans", "ko"}


@pytest.mark.parametrize("interface", interfaces()[1:], ids=lambda one: one.code)
def test_each_says_all_that_the_others_say(interface: Interface) -> None:
    assert interface.words.keys() == interfaces()[1].words.keys()
    assert all(word.strip() for word in interface.words.values())


def test_translated_wordings_are_those_of_the_pages(site: Path) -> None:
    english = "\n".join(path.read_text(encoding="utf-8") for path in sorted(site.glob("*.html")))
    english += (site / "models" / "meridian__meridian-large.html").read_text(encoding="utf-8")
    english += (site / "languages" / "ar.html").read_text(encoding="utf-8")
    english += (site / "locales" / "ko-KR.html").read_text(encoding="utf-8")
    from html import unescape

    text = unescape(english)
    unused = [word for word in interfaces()[1].words if word not in text]
    # What shows only where a set of seeds is small, a run is not ranked or damaged, or speakers have labelled answers.
    assert set(unused) <= {
        "With answers", "too few seeds", "Ten conversations (smoke test)", "Not ranked",
        "Left out", "These runs are damaged, and nothing on this site rests on them.",
        "Judges validated", "Speakers have labelled real answers in this language.",
    }  # fmt: skip


def test_arabic_pages_run_from_right_to_left(site: Path) -> None:
    assert '<html lang="ar" dir="rtl">' in (site / "ar" / "index.html").read_text(encoding="utf-8")


def test_no_mark_is_left_on_any_page(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert not re.search("[\x02\x03]", path.read_text(encoding="utf-8")), path


def test_page_offers_itself_in_the_other_languages(site: Path) -> None:
    text = (site / "fr" / "languages" / "ar.html").read_text(encoding="utf-8")
    assert 'hreflang="sw" href="../../sw/languages/ar.html"' in text
    assert 'hreflang="en" href="../../languages/ar.html"' in text
    assert 'hreflang="fr" href="../../fr/languages/ar.html" aria-current="true"' in text


def test_english_prose_says_that_it_is_english(site: Path) -> None:
    assert '<div lang="en" dir="ltr">' in (site / "ar" / "method.html").read_text(encoding="utf-8")
