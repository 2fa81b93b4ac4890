"""The interface in several languages."""

from __future__ import annotations

import datetime
import html
import json
import re
import shutil
from pathlib import Path

import pytest
from refusalatlas.leaderboard.site.build import build_site, take_snapshot
from refusalatlas.leaderboard.site.metrics import METRICS
from refusalatlas.leaderboard.site.places import REGIONS
from refusalatlas.leaderboard.site.views import TRACK_TITLES
from refusalatlas.leaderboard.site.wording import NAMES, Interface, interfaces, mark, speak

from refusalatlas.files import read_yaml
from refusalatlas.languages import load_languages

FRENCH = Interface("fr", "Français", "ltr", {"Overview": "Vue d’ensemble", "A & B": "<b>"})


@pytest.fixture(scope="module")
def site(two_languages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("spoken")
    shutil.copytree(two_languages, work / "submissions")
    take_snapshot(work / "submissions", datetime.date(2026, 11, 30))
    build_site(work / "submissions", work / "site", workers=1)
    return work / "site"


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


def test_values_are_put_in_where_each_language_wants_them() -> None:
    french = Interface("fr", "Français", "ltr", {"{a} before {b}": "{b} après {a}", "Overview": "Vue"})
    said = mark("{a} before {b}", a="<x> {b}", b=mark("Overview"))
    assert speak(said, french, "index.html") == "Vue après &lt;x&gt; {b}"
    assert speak(said, interfaces()[0], "index.html") == "&lt;x&gt; {b} before Overview"


def test_value_cannot_bring_marks_in() -> None:
    assert not re.search("[\x02\x03\x1e\x1f]", speak(mark("{a}", a="\x02Overview\x03\x1f\x1e"), FRENCH, "index.html"))


@pytest.mark.parametrize("interface", interfaces()[1:], ids=lambda one: one.code)
def test_translations_keep_the_places_for_values(interface: Interface) -> None:
    for english, said in interface.words.items():
        assert sorted(re.findall(r"{\w+}", english)) == sorted(re.findall(r"{\w+}", said)), english


# What shows only where a set of seeds is small, a run is not ranked, damaged or has another tier or other settings,
# a panel has no card, speakers have labelled answers, or a record has what these do not have.
SOMETIMES = {
    "With answers", "too few seeds", "Ten conversations (smoke test)", "Not ranked",
    "too many answers missing", "too many answers contested",
    "Left out", "These runs are damaged, and nothing on this site rests on them.",
    "Judges validated", "Speakers have labelled real answers in this language.",
    "Nothing changed.", "gone", "Runs", "? undecided", "✗ wrong", "other settings", "Runs under other settings",
    "These runs do not count towards the numbers above.",
    "Grouped by Youden’s J on contrast pairs.", "No card of a panel has been published yet.", "Notes",
    "The models that come first in the overview stand in this table. All others can be compared below.",
    "nothing to count", "needs both kinds of items", "no pairs", "weights at hand", "Run with",
    "Two models are needed.", "No model has numbers for both yet.", "none",
    "either", "name the local norm", "help the person", "say that it cannot be known", "abstains",
    "All places together", "Submitted as", "No snapshot has been taken yet", "Since the last snapshot", "safety",
    "appropriateness", "may know the norm", "does not name the norm",
    "One place has few requests, so that intervals are those of all places of a track. What is safe and what is "
    "appropriate are two numbers and never one.",
    "This takes JavaScript. Of two runs on your machine:", "The figures below are its own.",
    "The figures below are not its own: they are those of another panel.",
    "at most {bound}", "at least {bound}", "{0} seeds; an interval takes {1}.",
    "The answers are nearly all alike; an interval takes {0} that are not.",
    "None of {0} seeds went the other way; the bound is one-sided, 95 %.",
    "An interval takes {0} seeds that differ.", "answers may have been sampled at a temperature above 0",
    "the temperature is not known", "new tokens were not capped at {0} (but at {1})",
    "the model's chat template was not applied", "a system prompt was given",
    "one family of judges decided alone", "cut off", "harm safety", "rights consent", "deception fraud", "law",
    "ethics fairness", "policy", "capability access", "The text of this page is in English.",
}  # fmt: skip
# Of tracks and metrics a page shows those that its models have.
SOMETIMES |= {*TRACK_TITLES.values()} | {text for metric in METRICS.values() for text in (metric.title, metric.help)}


@pytest.mark.parametrize("interface", interfaces()[1:], ids=lambda one: one.code)
def test_every_language_and_region_has_a_name_in_every_language(interface: Interface) -> None:
    names = [*(one.english_name for one in load_languages().values()), *read_yaml(REGIONS).values()]
    assert [name for name in names if name not in interface.words] == []


def test_names_of_languages_are_those_of_the_interface(site: Path) -> None:
    swahili = "السواحلية"
    assert swahili in (site / "ar" / "index.html").read_text(encoding="utf-8")
    assert f"<title>{swahili} · " in (site / "ar" / "languages" / "sw.html").read_text(encoding="utf-8")
    assert ">كوريا الجنوبية <" in (site / "ar" / "locales" / "ko-KR.html").read_text(encoding="utf-8")
    assert "<bdi>Kiarabu</bdi>" in next((site / "sw" / "compare").glob("*.html")).read_text(encoding="utf-8")


def test_own_name_stands_once_where_it_is_the_name_in_the_interface(site: Path) -> None:
    css = (site / "static" / "atlas.css").read_text(encoding="utf-8")
    for one in interfaces()[1:]:
        assert f'html[lang="{one.code}"] .in-{one.code}' in css


@pytest.mark.parametrize("interface", interfaces()[1:], ids=lambda one: one.code)
def test_every_metric_and_track_is_said_in_every_language(interface: Interface) -> None:
    ours = [*TRACK_TITLES.values(), *(text for m in METRICS.values() for text in (m.title, m.help))]
    assert [text for text in ours if text not in interface.words] == []
    assert [text for text in ours if interface.words[text] == text] == []


def test_translated_wordings_are_those_of_the_pages(site: Path) -> None:
    pages = [
        *site.glob("*.html"),
        *site.glob("models/*.html"),
        *site.glob("compare/*.html"),
        *site.glob("v/*/*.html"),
        *site.glob("runs/*/*.html"),
    ]
    pages += [*site.glob("runs/meridian__meridian-large/*/*.html")]
    pages += [site / "languages" / "ar.html", site / "locales" / "ko-KR.html"]
    english = "\n".join(html.unescape(path.read_text(encoding="utf-8")) for path in sorted(pages))
    places = re.compile(r"\\{\w+\\}")
    ours = set(interfaces()[1].words) - set(read_yaml(NAMES / f"{interfaces()[1].code}.yaml"))
    unused = [w for w in ours if not re.search(places.sub(".*", re.escape(w)), english)]
    assert set(unused) <= SOMETIMES


@pytest.mark.parametrize(
    "path",
    ["index.html", "compare.html", "judges.html", "data.html", "runs/RUN.html", "compare/PAIR.html", "models/M.html"],
)
def test_page_has_no_english_of_ours_left(site: Path, path: str) -> None:
    """In Arabic, every run of four Latin words is marked as English or is a name, a code, a command or a file."""
    place = next((site / "ar" / "runs" / "meridian__meridian-large").glob("*.html"))
    pair = next((site / "ar" / "compare").glob("*.html"))
    names = {"RUN": f"meridian__meridian-large/{place.stem}", "PAIR": pair.stem, "M": "meridian__meridian-large"}
    for name, real in names.items():
        path = path.replace(f"/{name}.html", f"/{real}.html")
    text = (site / "ar" / path).read_text(encoding="utf-8").partition("<main")[2].partition("<noscript")[0]
    text = re.sub(
        r"<(bdi|code|title|desc)\b[^>]*>.*?</\1>|<(\w+)[^>]* lang=\"en\"[^>]*>.*?</\2>|<[^>]*>", " | ", text, flags=re.S
    )
    assert re.findall(r"(?:[A-Za-z’]+[ ,.:]+){4,}", html.unescape(text)) == []


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


def test_english_prose_is_announced_in_the_language_of_the_page(site: Path) -> None:
    for name in ("method.html", "submit.html"):
        assert "نص هذه الصفحة بالإنجليزية." in (site / "ar" / name).read_text(encoding="utf-8")
        assert "The text of this page is in English." not in (site / name).read_text(encoding="utf-8")


def test_words_lie_there_for_pages_that_the_browser_translates(site: Path) -> None:
    for interface in interfaces():
        found = json.loads((site / "words" / f"{interface.code}.json").read_text(encoding="utf-8"))
        assert (found["lang"], found["dir"], found["words"]) == (interface.code, interface.direction, interface.words)


def test_run_pages_are_there_in_every_language_and_lead_to_their_records(site: Path) -> None:
    (page,) = (site / "ar" / "runs" / "meridian__meridian-large").glob("*.html")
    text = page.read_text(encoding="utf-8")
    assert f'href="../../../runs/meridian__meridian-large/{page.stem}/en.html?lang=ar"' in text
    assert "السجلات حسب اللغة" in text
