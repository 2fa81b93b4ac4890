"""Text of other people on the pages: it stays text."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import hostile
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusalatlas.leaderboard.site.build import build_site
from refusalatlas.leaderboard.site.runs import _marked
from refusalatlas.leaderboard.site.tables import _FORMULA
from refusalatlas.leaderboard.site.untrusted import COMMAND, PROSE, shortened, visible


class _Page(HTMLParser):
    """The kinds of elements and attributes of a page, its links, scripts and words."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.kinds: set[tuple[str, str]] = set()
        self.links: list[str] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self.inside: str | None = None
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag
        self.kinds |= {(tag, name) for name, _ in attrs} | {(tag, "")}
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action", "formaction")]

    def handle_endtag(self, tag: str) -> None:
        self.inside = None

    def handle_data(self, data: str) -> None:
        (self.scripts if self.inside == "script" else self.words).append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("hostile")
    build_site(hostile.write_submissions(work / "submissions", work / "runs"), work / "site", strict=True, workers=1)
    return work / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, _Page]:
    return {str(path.relative_to(site)): _Page(path) for path in sorted(site.rglob("*.html"))}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """The kinds of elements and attributes of a site of the same runs with plain words in the same places."""
    work = tmp_path_factory.mktemp("plain")
    submissions = hostile.write_submissions(work / "submissions", work / "runs", hostile=False)
    build_site(submissions, work / "site", strict=True, workers=1)
    ours = {("bdi", "title")}  # of names that are long, which plain ones are not
    return ours | {kind for path in (work / "site").rglob("*.html") for kind in _Page(path).kinds}


def test_no_element_or_attribute_comes_from_a_submission(pages: dict[str, _Page], plain: set[tuple[str, str]]) -> None:
    assert len(plain) > 100
    assert {name: page.kinds - plain for name, page in pages.items() if page.kinds - plain} == {}


def test_every_text_is_there_as_text(pages: dict[str, _Page]) -> None:
    everywhere = "\n".join("".join(page.words) for name, page in pages.items() if name.startswith("models/"))
    assert [text for text in hostile.EVIL if text not in everywhere] == []
    assert "{{ 7*191 }}" in everywhere
    assert str(7 * 191) not in everywhere


def test_links_lead_to_pages_of_ours(pages: dict[str, _Page]) -> None:
    for name, page in pages.items():
        assert not [link for link in page.links if re.match(r"\s*[a-z]+:|//", link, re.IGNORECASE)], name


def test_scripts_hold_nothing(pages: dict[str, _Page]) -> None:
    for name, page in pages.items():
        assert "".join(page.scripts).strip() == "", name


def test_nothing_works_unseen(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert visible(text) == text, path


def test_long_lines_are_cut_and_say_so(site: Path) -> None:
    longest = {"n": PROSE, "p": PROSE, "e": 80, "c": COMMAND}
    for path in (site / "models").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        for letter, limit in longest.items():
            assert max(map(len, re.findall(f"{letter}{{20,}}", text))) <= limit, path
        assert len(text) < 4 * COMMAND
        assert text.count("more]") == 4


def test_data_are_still_data(site: Path) -> None:
    for path in (site / "data").rglob("*.json"):
        json.loads(path.read_text(encoding="utf-8"))
    for path in (site / "data").rglob("*.csv"):
        rows = list(csv.reader(path.open(encoding="utf-8", newline="")))
        assert {len(row) for row in rows} == {len(rows[0])}, path
        cells = [cell for row in rows for cell in row if not re.fullmatch(r"-?[\d.]+(e-\d+)?", cell)]
        assert not [cell for cell in cells if cell.startswith(_FORMULA)], path


def test_long_command_is_not_said_again_with_every_number(site: Path) -> None:
    for path in (site / "data" / "every_eval_ever").rglob("*.json"):
        assert path.stat().st_size < 500_000


@given(st.text(), st.lists(st.text(min_size=1, max_size=5), max_size=4))
def test_marking_evidence_changes_no_word(text: str, evidence: list[str]) -> None:
    from html import unescape

    marked = _marked(text, evidence)
    assert unescape(re.sub("</?mark>", "", marked)) == unescape(_marked(text, ()))
    assert marked.count("<mark>") == marked.count("</mark>")


def test_evidence_within_evidence_is_one_piece() -> None:
    assert _marked("a <law> mark", ["<law>", "law", "mark", "k"]) == "a <mark>&lt;law&gt;</mark> <mark>mark</mark>"


def test_letters_of_an_escape_are_no_evidence() -> None:
    assert _marked("<b>", ["l", "t"]) == "&lt;b&gt;"


@pytest.mark.parametrize("text", ["क्‍ष", "می‌خواهم", "👩‍👩‍👧", "a\nb\tc", "\u200fעברית"])
def test_what_scripts_are_written_with_stays(text: str) -> None:
    assert visible(text) == text


def test_what_is_cut_is_counted() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("a" * 2003, 1000) == f"{'a' * 1000}… [1,003 more]"
