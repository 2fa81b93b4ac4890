"""The site as files: what pages say, and what they never do."""

from __future__ import annotations

import csv
import datetime
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import synthetic
from click.testing import CliRunner
from refusalatlas.leaderboard.cli import site
from refusalatlas.leaderboard.site import svg
from refusalatlas.leaderboard.site.build import build_site, take_snapshot
from refusalatlas.leaderboard.site.gather import gather
from refusalatlas.leaderboard.site.tables import Column, Estimate, Row, Table, Text, harmless, stat_columns, to_csv
from refusalatlas.leaderboard.site.wording import interfaces, speak
from refusalatlas.leaderboard.submission import submit_run

from refusalatlas.errors import AtlasError
from refusalatlas.languages import load_languages


@pytest.fixture(scope="module")
def built(two_languages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("site") / "site"
    build_site(two_languages, output)
    return output


class _Page(HTMLParser):
    """What a page refers to, and whether its elements nest."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.open: list[str] = []
        self.attributes: list[str] = []
        self.ids: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "input", "wbr", "br"):
            self.open.append(tag)
        self._note(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(attrs)

    def _note(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            self.attributes.append(name)
            if name in ("href", "src"):
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def pages_of(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.html"))


def test_every_language_and_every_model_has_a_page(built: Path) -> None:
    assert {path.stem for path in (built / "languages").glob("*.html")} >= set(load_languages())
    assert {path.stem for path in (built / "models").glob("*.html")} >= {m.replace("/", "__") for m in synthetic.MODELS}


def test_elements_nest_and_ids_are_unique(built: Path) -> None:
    for path in pages_of(built):
        page = _Page(path)
        assert page.open == [], path
        assert len(page.ids) == len(set(page.ids)), path


def test_every_link_leads_to_a_file(built: Path) -> None:
    for path in pages_of(built):
        for link in _Page(path).links:
            target, _, anchor = link.partition("#")
            target = target.partition("?")[0]
            aim = (path.parent / target).resolve() if target else path
            assert aim.is_file(), f"{path}: {link}"
            if anchor:
                assert anchor in _Page(aim).ids, f"{path}: {link}"


def test_nothing_points_to_another_host(built: Path) -> None:
    for path in built.rglob("*"):
        if path.suffix in (".html", ".css", ".js"):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"""(?:src|href|url\(|import|fetch\()\s*=?\s*["'(]?\s*(?:https?:)?//""", text), path


def test_no_inline_handler_style_or_script(built: Path) -> None:
    for path in pages_of(built):
        page = _Page(path)
        assert not [name for name in page.attributes if name.startswith("on") or name == "style"]
        assert "<script>" not in path.read_text(encoding="utf-8")


def test_policy_of_the_page_forbids_all_but_itself(built: Path) -> None:
    for path in pages_of(built):
        assert "default-src 'none'; style-src 'self'; script-src 'self'" in path.read_text(encoding="utf-8")


def test_same_submissions_give_the_same_bytes(two_languages: Path, built: Path, tmp_path: Path) -> None:
    build_site(two_languages, tmp_path / "again")
    files = {path.relative_to(built): path.read_bytes() for path in built.rglob("*") if path.is_file()}
    again = tmp_path / "again"
    assert files == {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()}


def test_language_page_names_the_language_in_itself(built: Path) -> None:
    text = (built / "languages" / "ar.html").read_text(encoding="utf-8")
    assert '<span lang="ar" dir="rtl">العربية</span>' in text
    assert "Judges unvalidated" in text


def test_language_without_answers_says_so(built: Path) -> None:
    assert "Nothing has been submitted here yet" in (built / "languages" / "fr.html").read_text(encoding="utf-8")


def test_missing_number_is_a_dash_and_empty_in_the_data(built: Path) -> None:
    rows = {row["model"]: row for row in csv.DictReader((built / "data/matrix.csv").open(encoding="utf-8"))}
    assert rows["baobab/baobab-chat-7b"]["en"]
    assert rows["baobab/baobab-chat-7b"]["ar"] == ""
    data = json.loads((built / "data/matrix.json").read_text(encoding="utf-8"))
    assert next(row for row in data["rows"] if row["model"] == "baobab/baobab-chat-7b")["ar"] is None
    assert '<span class="missing">—</span>' in (built / "index.html").read_text(encoding="utf-8")


def test_smoke_test_of_ten_says_too_few(built: Path) -> None:
    rows = list(csv.DictReader((built / "data/cells.csv").open(encoding="utf-8")))
    small = [row for row in rows if row["track"] == "minos"]
    assert small
    assert all(row["estimate_low"] == "" and row["reason"] for row in small)


def test_self_reported_runs_and_policies_are_not_ranked(built: Path) -> None:
    rows = {row["model"]: row["group"] for row in csv.DictReader((built / "data/overview.csv").open(encoding="utf-8"))}
    assert rows["kestrel/kestrel-mini"] == "—"
    assert "ideal" not in rows
    assert "ideal" in (built / "data/references.csv").read_text(encoding="utf-8")


def test_model_page_states_where_the_numbers_come_from(built: Path) -> None:
    text = (built / "models" / "aurora-lab__aurora-70b-instruct.html").read_text(encoding="utf-8")
    for piece in ("lm_eval --model refusalatlas-chat", "512 new tokens", "Example Group", "offline", "a second run"):
        assert piece in text


def test_no_answer_but_none_at_all_is_on_the_pages(built: Path) -> None:
    from refusalatlas.tracks import strings

    sentences = strings("en")
    for path in pages_of(built):
        text = path.read_text(encoding="utf-8")
        assert not any(sentence in text for sentence in (*sentences["compliance"], *sentences["partial_refusal"]))


def test_script_in_a_field_is_harmless(run: Path, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    submit_run(run, tmp_path / "submissions", submitter=evil, model_name=f"{evil}/x", notes=evil)
    build_site(tmp_path / "submissions", tmp_path / "site")
    for path in pages_of(tmp_path / "site"):
        text = path.read_text(encoding="utf-8")
        assert "<script>alert" not in text
        assert "<img" not in text
        assert not [name for name in _Page(path).attributes if name.startswith("on")]


def test_formula_in_a_name_is_only_text_in_csv(run: Path, tmp_path: Path) -> None:
    submit_run(run, tmp_path / "submissions", model_name="=HYPERLINK(1)")
    build_site(tmp_path / "submissions", tmp_path / "site")
    assert "\n'=HYPERLINK(1)," in (tmp_path / "site/data/overview.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\t=1", " =1", "\r=1"])
def test_what_a_spreadsheet_would_run_is_quoted(text: str) -> None:
    assert harmless(text) == f"'{text}"


def test_no_submissions_give_a_site_that_says_so(tmp_path: Path) -> None:
    build_site(tmp_path / "none", tmp_path / "site")
    assert "Nothing has been submitted here yet" in (tmp_path / "site/index.html").read_text(encoding="utf-8")


def test_newer_site_replaces_the_older_one_whole(two_languages: Path, tmp_path: Path) -> None:
    build_site(two_languages, tmp_path / "site")
    build_site(tmp_path / "none", tmp_path / "site")
    assert not (tmp_path / "site" / "models").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(AtlasError, match="holds other things than a site"):
        build_site(tmp_path / "none", tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AtlasError, match="cannot be written") as caught:
        build_site(tmp_path / "none", tmp_path / "file" / "site")
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three submissions, of which one is cut off and one lies where another model's should."""
    work = tmp_path_factory.mktemp("damaged")
    for name in ("whole/one", "cut/off", "else/where"):
        submit_run(synthetic.write_run(work / name, model=name), work / "submissions")
    records = next((work / "submissions" / "cut__off").rglob("records.jsonl.gz"))
    records.write_bytes(records.read_bytes()[:-9])
    (work / "submissions" / "else__where").rename(work / "submissions" / "no__where")
    return work / "submissions"


def test_damaged_submissions_are_named_and_left_out(damaged: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(site, ["--output", str(tmp_path / "site"), "--submissions", str(damaged)])
    assert result.exit_code == 0
    cut, elsewhere = result.stderr.splitlines()
    assert re.fullmatch(rf"Left out: {re.escape(str(damaged))}/cut__off/\S+: records.jsonl.gz: cut off .*", cut)
    assert "no__where" in elsewhere
    assert [path.stem for path in (tmp_path / "site" / "models").iterdir()] == ["whole__one"]
    text = (tmp_path / "site" / "changelog.html").read_text(encoding="utf-8")
    assert "<code>cut__off/" in text
    assert "says that it is else__where/" in text
    assert str(damaged) not in text


def test_strict_builds_nothing_where_a_submission_is_damaged(damaged: Path, tmp_path: Path) -> None:
    options = ["--output", str(tmp_path / "site"), "--submissions", str(damaged), "--strict"]
    result = CliRunner().invoke(site, options)
    assert result.exit_code == 1
    assert isinstance(result.exception, AtlasError)
    assert "cut__off" in str(result.exception)
    assert not (tmp_path / "site").exists()


def test_page_of_changes_says_nothing_where_nothing_was_left_out(built: Path) -> None:
    assert "Left out" not in (built / "changelog.html").read_text(encoding="utf-8")


def test_snapshot_is_not_taken_of_a_part(damaged: Path) -> None:
    with pytest.raises(AtlasError, match="cut__off"):
        take_snapshot(damaged, datetime.date(2026, 11, 30))
    assert not (damaged.parent / "snapshots").exists()


def test_command_builds_and_counts(two_languages: Path, tmp_path: Path) -> None:
    options = ["--output", str(tmp_path / "site"), "--submissions", str(two_languages), "--format", "json"]
    result = CliRunner().invoke(site, options)
    assert result.exit_code == 0
    assert json.loads(result.output)["files"] == sum(path.is_file() for path in (tmp_path / "site").rglob("*"))


def test_runs_of_several_languages_add_up(tmp_path: Path) -> None:
    for language in ("en", "ar"):
        submit_run(synthetic.write_run(tmp_path / language, languages=(language,)), tmp_path / "submissions")
    (entry,) = gather(tmp_path / "submissions").entries
    assert entry.languages == ("ar", "en")
    assert len(entry.runs) == 2


def test_run_under_other_settings_stands_aside(tmp_path: Path) -> None:
    submit_run(synthetic.write_run(tmp_path / "a", languages=("en", "ar")), tmp_path / "submissions")
    config = {"model": "hf", "model_args": {"model": "example/model-1"}, "gen_kwargs": "temperature=1,do_sample=True"}
    submit_run(synthetic.write_run(tmp_path / "b", config=config), tmp_path / "submissions")
    (entry,) = gather(tmp_path / "submissions").entries
    assert [run.backend for run in entry.runs] == ["refusalatlas-chat"]
    assert [run.backend for run in entry.others] == ["hf"]


def test_newest_answer_to_an_item_counts(tmp_path: Path) -> None:
    for number, date in enumerate(("2026-11-20T10-00-00.0", "2026-11-21T10-00-00.0")):
        behaviour = synthetic.Behaviour(refuses_harm=number, refuses_harmless=number, partial=0, contested=0)
        run = synthetic.write_run(tmp_path / str(number), behaviour=behaviour, date=date)
        submit_run(run, tmp_path / "submissions")
    (entry,) = gather(tmp_path / "submissions").entries
    assert entry.headline["over_refusal"].value == 1.0


def test_csv_has_four_columns_for_an_estimate() -> None:
    columns = (Column("model", "Model"), *stat_columns(["over_refusal"]))
    rows = (
        Row({"model": Text("a"), "over_refusal": Estimate(0.5, 0.25, 0.75, 8)}),
        Row({"model": Text("b"), "over_refusal": None}),
    )
    head = "model,over_refusal,over_refusal_low,over_refusal_high,over_refusal_n"
    assert to_csv(Table("t", "T", columns, rows)) == f"{head}\na,0.5,0.25,0.75,8\nb,,,,\n"


def test_bar_shows_every_kind_of_answer_once() -> None:
    drawing = svg.stacked_bar(
        [("full_refusal", "Refused", 3), ("compliant", "Complied", 1), ("error", "Error", 0)], "x"
    )
    assert drawing.count("<rect") == 2
    assert "Refused 3 / 4; Complied 1 / 4" in speak(drawing, interfaces()[0], "index.html")


def test_bar_of_nothing_is_nothing() -> None:
    assert svg.stacked_bar([("full_refusal", "Refused", 0)], "x") == ""


def test_plot_escapes_names() -> None:
    half = Estimate(0.5, 0.4, 0.6, 10)
    drawing = svg.scatter([svg.Point('<b>&"', 'x"y.html', half, half, "audited")])
    assert "<b>" not in drawing
    assert 'x"y' not in drawing


def test_model_without_numbers_is_not_drawn_at_nought() -> None:
    missing = Estimate(None, None, None, 0)
    assert 'class="mark' not in svg.scatter([svg.Point("a", "a.html", missing, missing, "audited")])


@pytest.mark.parametrize(("kind", "width"), [("wide", 760), ("narrow", 360)])
def test_plot_keeps_its_marks_ticks_and_names_in_its_frame(kind: str, width: int) -> None:
    shares = [0.0, 0.03, 0.5, 0.97, 1.0]
    points = [
        svg.Point(f"model-with-a-long-name-{x}-{y}", "m.html", Estimate(x, x, x, 9), Estimate(y, y, y, 9), "audited")
        for x in shares
        for y in shares
    ]
    drawing = svg.scatter(points).split(f'class="scatter {kind}"')[1].split("</svg>")[0]
    assert drawing.count('class="mark audited"') == 25
    assert drawing.count('class="tick"') == 12
    marks = re.findall(r'<rect x="([-\d.]+)"', drawing)
    assert all(0 <= float(x) <= width - 12 for x in marks)
    names = re.findall(r'<text x="([-\d.]+)" y="[-\d.]+" text-anchor="(\w+)" class="name">([^<]+)<', drawing)
    assert names
    for x, anchor, text in names:
        end = float(x) + 6 * len(text) * (1 if anchor == "start" else -1)
        assert 0 <= end <= width


def test_percentages_of_the_table_are_those_of_the_records(two_languages: Path, built: Path) -> None:
    from refusalatlas.leaderboard.storage import read_submission, run_folders

    folder = next(f for f in run_folders(two_languages) if f.parent.name == "meridian__meridian-large")
    asked = [
        r for r in read_submission(folder).records if (r.track, r.language, r.expected) == ("pairs", "ar", "comply")
    ]
    labels = [d.label for r in asked for d in r.decisions if d.label]
    refused = sum(label in ("full_refusal", "partial_refusal", "evasion") for label in labels)
    rows = csv.DictReader((built / "data/languages/ar.csv").open(encoding="utf-8"))
    row = next(r for r in rows if r["model"] == "meridian/meridian-large" and r["track"] == "Contrast pairs")
    assert float(row["over_refusal"]) == pytest.approx(refused / len(labels), abs=1e-5)
    assert int(row["over_refusal_n"]) == len(labels)


def test_mistyped_submissions_folder_is_a_usage_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(site, ["--output", str(tmp_path / "site"), "--submissions", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert not (tmp_path / "site").exists()
