"""Runs of a track on two axes and in several locales of a language: submitted, verified, and shown apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from refusalatlas.leaderboard.audit import reveal
from refusalatlas.leaderboard.everyeval import export
from refusalatlas.leaderboard.site import heat, places, views
from refusalatlas.leaderboard.site.gather import Atlas, Entry, Place, gather
from refusalatlas.leaderboard.storage import RECORDS_FILE, RUN_FILE, iter_lines, pack, read_submission
from refusalatlas.leaderboard.submission import submit_run
from refusalatlas.leaderboard.verify import verify_audit, verify_paths

from refusalatlas.tracks import get_track

LANGUAGES = ("en", "ja", "ms")
LOCALES = ("en-SG", "ja-JP", "ms-MY", "ms-SG")
AXES = ("safety", "appropriateness")
Change = Callable[[Any], Any]


@pytest.fixture
def asia(tmp_path: Path) -> Path:
    """A submission of `apac` in three languages and four places, and of `pairs` in English."""
    run = synthetic.write_run(tmp_path / "run", languages=LANGUAGES, tracks=("apac",))
    return submit_run(run, tmp_path / "submissions", submitter="Somebody")


@pytest.fixture(scope="module")
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Atlas:
    work = tmp_path_factory.mktemp("asia")
    run = synthetic.write_run(work / "run", languages=LANGUAGES, tracks=("apac", "pairs"))
    submit_run(run, work / "submissions", submitter="Somebody")
    return gather(work / "submissions")


@pytest.fixture
def entry(atlas: Atlas) -> Entry:
    (found,) = atlas.models
    return found


def found(folder: Path) -> str:
    return "\n".join(map(str, verify_paths([folder]).findings))


def change_run(folder: Path, mend: Change) -> Path:
    facts = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    mend(facts)
    (folder / RUN_FILE).write_text(json.dumps(facts), encoding="utf-8")
    return folder


def change_records(folder: Path, mend: Change) -> Path:
    rows = [json.loads(line) for _, line in iter_lines(folder / RECORDS_FILE)]
    mend(rows)
    (folder / RECORDS_FILE).write_bytes(pack([json.dumps(row) for row in rows]))
    return folder


def test_fresh_submission_has_no_findings(asia: Path) -> None:
    assert found(asia) == ""


def test_scores_and_suites_say_axis_and_locale(asia: Path) -> None:
    run = read_submission(asia).run
    assert sorted(suite.locale or "" for suite in run.suites) == sorted(LOCALES)
    keys = [(s.locale, s.axis, s.metric) for s in run.scores]
    assert len(keys) == len(set(keys))
    assert {(s.locale, s.axis) for s in run.scores if s.metric == "awareness_rate"} == {
        (locale, axis) for locale in LOCALES for axis in AXES
    }


def test_score_moved_to_the_other_axis_is_found(asia: Path) -> None:
    def swap(facts: dict[str, Any]) -> None:
        for row in facts["scores"]:
            row["axis"] = AXES[1 - AXES.index(row["axis"])]

    assert "scores do not follow from the records" in found(change_run(asia, swap))


def test_scores_without_axis_do_not_stand_for_two(asia: Path) -> None:
    assert "scores" in found(change_run(asia, lambda facts: [row.pop("axis") for row in facts["scores"]]))


def test_suite_that_names_no_locale_does_not_stand_for_two(asia: Path) -> None:
    text = found(change_run(asia, lambda facts: [row.pop("locale") for row in facts["suites"]]))
    assert "names a suite twice" in text


def test_earlier_submissions_say_neither_and_still_verify(submission: Path) -> None:
    """Those of tracks on one axis, each in one place of a language."""

    def older(facts: dict[str, Any]) -> None:
        assert {row.pop("axis") for row in facts["scores"]} == {None}
        assert {row.pop("locale") for row in facts["suites"]} == {None}

    assert found(change_run(submission, older)) == ""


def test_earlier_suite_of_a_track_in_places_still_verifies(tmp_path: Path) -> None:
    run = synthetic.write_run(tmp_path / "run", languages=("sw",), tracks=("africa",))
    folder = submit_run(run, tmp_path / "submissions", submitter="Somebody")
    assert [suite.locale for suite in read_submission(folder).run.suites] == ["sw-KE"]
    assert found(change_run(folder, lambda facts: [row.pop("locale") for row in facts["suites"]])) == ""


def test_norm_that_nothing_is_said_of_is_found(asia: Path) -> None:
    def forget(rows: list[dict[str, Any]]) -> None:
        row = next(row for row in rows if row["expected"] == "aware" and row["decisions"][0]["condition"] == "ok")
        row["decisions"][0].pop("outcome")

    assert "does not say whether an answer knows a norm" in found(change_records(asia, forget))


def test_norm_where_none_is_touched_is_found(asia: Path) -> None:
    def invent(rows: list[dict[str, Any]]) -> None:
        next(row for row in rows if row["expected"] == "comply")["decisions"][0]["outcome"] = {"aware": True}

    assert "says whether an answer knows a norm" in found(change_records(asia, invent))


def test_audit_finds_an_answer_that_knows_no_norm(tmp_path: Path) -> None:
    run = synthetic.write_run(tmp_path / "run", languages=("en",), tracks=("apac",))
    folder = submit_run(run, tmp_path / "submissions", submitter="Somebody")
    reveal(run, read_submission(folder), "seed", tmp_path / "revealed.json")

    def boast(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            if row["expected"] == "aware":
                row["decisions"][0]["outcome"]["aware"] = True

    before = "\n".join(map(str, verify_audit(folder, tmp_path / "revealed.json", "seed").findings))
    assert "says aware" not in before
    # The run still names the hash of the records as they were, so that the same answers are drawn.
    changed = change_records(folder, boast)
    after = "\n".join(map(str, verify_audit(changed, tmp_path / "revealed.json", "seed").findings))
    assert "says aware: True in the records, but judged again False" in after


def test_export_names_each_number_once(asia: Path) -> None:
    found = read_submission(asia)
    rows = export(found.run, "x", found.records)["evaluation_results"]
    names = [row["evaluation_name"] for row in rows]
    assert len(names) == len(set(names))
    assert "apac/base/ms-MY/appropriateness/awareness_rate" in names
    lower = {row["evaluation_name"].rpartition("/")[2]: row["metric_config"]["lower_is_better"] for row in rows}
    assert (lower["unaware_compliance"], lower["awareness_rate"]) == (True, False)
    assert all(row["score_details"]["uncertainty"]["num_samples"] > 0 for row in rows)


def test_site_keeps_axes_apart(entry: Entry) -> None:
    here = [place for place in entry.estimates if place.track == "apac"]
    assert {(place.locale, place.axis) for place in here} == {(locale, axis) for locale in LOCALES for axis in AXES}
    asked = sum(sum(counts.values()) for place, counts in entry.outcomes.items() if place.track == "apac")
    assert asked == sum(entry.estimates[place]["usable_rate"].n for place in here)


def test_all_places_together_have_the_interval_that_one_has_not(entry: Entry) -> None:
    for axis in AXES:
        one = entry.estimates[Place("apac", "base", "en", "en-SG", axis)]["awareness_rate"]
        pooled = entry.pooled[Place("apac", "base", "", "", axis)]["awareness_rate"]
        assert (one.low, "too few seeds" in (one.reason or "")) == (None, True)
        assert pooled.low is not None
        assert pooled.n > one.n
    assert "pairs" not in {place.track for place in entry.pooled}


def test_page_of_a_place_has_a_row_an_axis_and_columns_of_norms(atlas: Atlas) -> None:
    table = places.locale_table(atlas, "ja-JP")
    assert [row.facets["track"] for row in table.rows] == [
        "Asian places, appropriateness · ja-JP", "Asian places, safety · ja-JP"
    ]  # fmt: skip
    assert {"awareness_rate", "unaware_compliance"} <= {column.key for column in table.columns}
    assert len(places.pooled_table(atlas).rows) == 2


def test_pages_without_norms_have_no_columns_of_them(two_languages: Path) -> None:
    plain = gather(two_languages)
    assert "awareness_rate" not in {column.key for column in views.language_table(plain, "ar").columns}
    assert places.pooled_table(plain).rows == ()


def test_bars_never_add_up_two_axes(entry: Entry) -> None:
    bars = views.model_bars(entry)
    subs = [bar.title.sub for bar in bars if bar.title.text == "All languages"]
    assert subs == [None, "appropriateness"]
    total = sum(sum(counts.values()) for counts in entry.outcomes.values())
    assert sum(bar.n for bar in bars if bar.title.text == "All languages") == total


def test_headline_and_heat_are_of_pairs_alone(atlas: Atlas, entry: Entry) -> None:
    assert entry.headline["youden_j"].n == 3 * 80 - sum(
        counts["contested"] for place, counts in entry.outcomes.items() if place.track == "pairs"
    )
    table = heat.language_heat(atlas, "ja")
    assert [column.key for column in table.columns] == ["model", *get_track("pairs").categories]


def test_every_number_says_its_axis(atlas: Atlas) -> None:
    rows = views.cells_table(atlas).rows
    keys = [tuple(str(getattr(row.cells[k], "text", "")) for k in ("track", "variant", "axis", "locale", "language",
                                                                   "metric")) for row in rows]  # fmt: skip
    assert len(keys) == len(set(keys))
    assert {key[2] for key in keys if key[0] == "apac"} == set(AXES)
