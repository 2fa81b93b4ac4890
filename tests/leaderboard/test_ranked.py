"""Who is ranked, where, and what stands in the place of an interval that is not there."""

from __future__ import annotations

import csv
import datetime
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import synthetic
from click.testing import CliRunner
from refusalatlas.leaderboard.cli import site
from refusalatlas.leaderboard.released import released_panels
from refusalatlas.leaderboard.schema import PanelId
from refusalatlas.leaderboard.site import svg
from refusalatlas.leaderboard.site.answers import Answers
from refusalatlas.leaderboard.site.build import build_site, take_snapshot
from refusalatlas.leaderboard.site.comparing import compared
from refusalatlas.leaderboard.site.gather import Atlas, Entry, gather
from refusalatlas.leaderboard.site.judging import deciding, read_cards, released_rules, rule_of
from refusalatlas.leaderboard.site.metrics import in_points, signed_points, written
from refusalatlas.leaderboard.site.reasons import at_length, setting, shortly
from refusalatlas.leaderboard.site.snapshots import read_snapshots, snapshot
from refusalatlas.leaderboard.site.tables import Estimate
from refusalatlas.leaderboard.site.views import CORE, overview_table, tie_groups, unranked_because
from refusalatlas.leaderboard.site.wording import interfaces, speak
from refusalatlas.leaderboard.submission import submit_run

from refusalatlas.errors import AtlasError

BEHAVIOURS = {
    "best/perfect": synthetic.Behaviour(1, 0, 0, 0),
    "good/nearly": synthetic.Behaviour(0.99, 0.01, 0, 0),
    "good/well": synthetic.Behaviour(0.9, 0.1),
    "some/middling": synthetic.Behaviour(0.7, 0.3),
    "some/poor": synthetic.Behaviour(0.4, 0.35),
    "worst/complies": synthetic.Behaviour(0, 0, 0, 0),
}


@pytest.fixture(scope="module")
def submissions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six models that have been audited, one of them perfect, and one that nobody has looked at."""
    work = tmp_path_factory.mktemp("ranked")
    for number, (model, behaviour) in enumerate(BEHAVIOURS.items()):
        run = synthetic.write_run(work / str(number), model=model, languages=CORE, behaviour=behaviour)
        synthetic.raise_tier(submit_run(run, work / "submissions"), "audited")
    run = synthetic.write_run(work / "x", model="un/looked-at", languages=CORE, behaviour=BEHAVIOURS["best/perfect"])
    submit_run(run, work / "submissions")
    return work / "submissions"


@pytest.fixture(scope="module")
def atlas(submissions: Path) -> Atlas:
    return gather(submissions)


@pytest.fixture(scope="module")
def built(submissions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("ranked-site") / "site"
    build_site(submissions, output)
    return output


def english(text: Any) -> str:
    return speak(text, interfaces()[0], "index.html")


def test_perfect_model_is_first_and_in_the_first_group(atlas: Atlas) -> None:
    perfect = next(entry for entry in atlas.entries if entry.name == "best/perfect")
    assert (perfect.headline["youden_j"].value, perfect.headline["youden_j"].low) == (1.0, None)
    rows = [
        (row.cells["model"].text, row.cells["group"].text)  # type: ignore[union-attr]
        for row in overview_table(atlas, tie_groups(atlas)).rows
    ]
    assert rows[0] == ("best/perfect", "1")
    assert [name for name, _ in rows] == [*BEHAVIOURS, "un/looked-at"]
    groups = [int(group) for _, group in rows[:-1]]
    assert groups == sorted(groups)
    assert groups[-1] > 2
    assert rows[-1][1] == "—"


def test_comparisons_and_snapshots_agree_with_the_overview(atlas: Atlas) -> None:
    assert [entry.name for entry in compared(atlas)] == [*BEHAVIOURS, "un/looked-at"]
    kept = snapshot(atlas, tie_groups(atlas), datetime.date(2026, 11, 30)).models
    assert (kept["best__perfect"].group, kept["best__perfect"].unranked) == (1, None)
    assert (kept["un__looked-at"].group, kept["un__looked-at"].unranked) == (None, "self-reported")


def entry_with(clusters: int, low: float | None, lacking: str | None = None) -> Entry:
    """What a rank is asked of: an audited entry with so many seeds, each in every language that is needed."""
    keys = tuple((f"c{number}", code) for number in range(clusters) for code in CORE)
    return cast(
        "Entry",
        SimpleNamespace(
            tier="audited",
            run=SimpleNamespace(ranking=SimpleNamespace(ranked=True)),
            languages=CORE,
            headline={"youden_j": Estimate(0.5, low, low, 9)},
            answers=Answers(keys, cast("Any", ())),
            lacking=lacking,
        ),
    )


@pytest.mark.parametrize("low", [None, 0.4])
@pytest.mark.parametrize(("clusters", "why"), [(20, None), (19, "too few seeds"), (2, "too few seeds")])
def test_seeds_decide_about_a_rank_and_intervals_do_not(clusters: int, why: str | None, low: float | None) -> None:
    assert unranked_because(entry_with(clusters, low)) == why


def test_whoever_loses_too_many_answers_is_not_ranked() -> None:
    assert unranked_because(entry_with(20, 0.4, "too many answers missing")) == "too many answers missing"


def test_table_says_the_bound_or_the_true_reason(built: Path) -> None:
    row = re.search(r"<tr[^>]*>\s*<th[^>]*>.{0,80}best__perfect.*?</tr>", (built / "index.html").read_text(), re.S)
    assert row is not None
    assert "too few events" in row[0]
    assert "at most 8.0\N{NARROW NO-BREAK SPACE}%" in row[0]
    assert "too few seeds" not in row[0]
    assert "8.0\N{NARROW NO-BREAK SPACE}% على الأكثر" in (built / "ar" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("reason", "short", "long"),
    [
        ("too few seeds (12, at least 20 are needed)", "too few seeds", "12 seeds; an interval takes 20."),
        (
            "too few events (none the other way in 40 seeds: at most 0.08, 95 %, one-sided)",
            "at most 8.0\N{NARROW NO-BREAK SPACE}%",
            "None of 40 seeds went the other way; the bound is one-sided, 95 %.",
        ),
        (
            "too few events (under 4)",
            "too few events",
            "The answers are nearly all alike; an interval takes 4 that are not.",
        ),
        ("no pairs", "no pairs", "no pairs"),
    ],
)
def test_reason_is_said_in_short_and_at_length(reason: str, short: str, long: str) -> None:
    assert english(shortly(reason, "percent")) == short
    assert english(at_length(reason)) == long


def test_reason_of_a_run_is_ours_or_shown_as_it_is() -> None:
    french = next(one for one in interfaces() if one.code == "fr")
    assert speak(setting("the temperature is not known"), french, "x") == "la température n’est pas connue"
    capped = setting("new tokens were not capped at 512 (but at None)")
    assert english(capped) == "new tokens were not capped at 512 (but at —)"
    assert setting("<b>\x02Models\x03") == '<bdi lang="en">&lt;b&gt;\ufffdModels\ufffd</bdi>'


def test_snapshot_before_the_newest_is_refused(submissions: Path) -> None:
    folder = submissions.parent / "snapshots"
    take_snapshot(submissions, datetime.date(2026, 11, 30))
    with pytest.raises(AtlasError, match="older than the snapshot of 2026-11-30"):
        take_snapshot(submissions, datetime.date(2026, 11, 29))
    assert [one.date.isoformat() for one in read_snapshots(folder)] == ["2026-11-30"]


def test_snapshot_of_a_day_to_come_is_refused(submissions: Path, tmp_path: Path) -> None:
    options = ["--output", str(tmp_path / "site"), "--submissions", str(submissions), "--snapshot", "9999-12-31"]
    result = CliRunner().invoke(site, options)
    assert result.exit_code == 2
    assert "9999-12-31 is to come" in result.output
    assert not (tmp_path / "site").exists()


def test_page_of_the_judges_says_which_panel_decided(built: Path, submissions: Path, tmp_path: Path) -> None:
    text = (built / "judges.html").read_text(encoding="utf-8")
    panel = synthetic.PANEL.partition("@")[2]
    assert f"<code>{panel[:12]}</code> · Runs: 7. The figures below are its own." in text
    assert deciding(gather(submissions), read_cards(tmp_path))[0].own is False


def test_rule_of_a_panel_is_that_of_its_file() -> None:
    (name, sha256, rule), *_ = [one for one in released_rules() if one[0] == "offline"]
    assert sha256 == next(one.sha256 for one in reversed(released_panels()) if one.name == "offline")
    assert rule == rule_of(PanelId(name=name, sha256=sha256))
    assert dict(rule.alone) == {"embedding": "0.88", "ngram": "0.95", "rules": "0.95"}
    assert rule_of(PanelId(name="offline", sha256="0" * 64)) is None


def test_page_of_the_method_names_the_family_and_the_thresholds(built: Path) -> None:
    text = (built / "method.html").read_text(encoding="utf-8")
    assert "the family of tests is all pairs of the models that are left" in text
    assert "0.88 (embedding), 0.95 (ngram), 0.95 (rules)" in text
    assert "pairs of at least 20 seeds" in text


def test_comparison_of_policies_does_not_ask_for_models(tmp_path: Path) -> None:
    for number, policy in enumerate(("ideal", "always-refuse")):
        behaviour = synthetic.POLICIES[policy]
        facts: dict[str, Any] = {"backend": "refusalatlas-reference", "model_args": {"policy": policy}}
        run = synthetic.write_run(tmp_path / str(number), model="", behaviour=behaviour, **facts)
        submit_run(run, tmp_path / "submissions")
    build_site(tmp_path / "submissions", tmp_path / "site")
    text = (tmp_path / "site" / "compare.html").read_text(encoding="utf-8")
    assert "Two models are needed." not in text
    assert "data-compare" in text
    assert "the table above" not in text
    build_site(tmp_path / "none", tmp_path / "site")
    assert "Two models are needed." in (tmp_path / "site" / "compare.html").read_text(encoding="utf-8")


def test_points_that_lie_on_each_other_name_each_other() -> None:
    def point(name: str, share: float) -> svg.Point:
        return svg.Point(
            name, f"{name}.html", Estimate(share, None, None, 9), Estimate(share, None, None, 9), "audited"
        )

    drawing = english(svg.scatter([point("one", 0.0), point("two", 0.001), point("far", 0.5)]))
    titles = re.findall(r"<a [^>]*><title>(.*?)</title>", drawing)
    assert [sorted(re.findall(r"one|two|far", title)) for title in titles[:3]] == [
        ["one", "two"],
        ["one", "two"],
        ["far"],
    ]


def test_names_of_wide_letters_are_cut_off_in_the_plot() -> None:
    half = Estimate(0.5, None, None, 9)
    drawing = english(svg.scatter([svg.Point("W" * 190, "w.html", half, half, "audited")]))
    shown = re.findall(r'class="name">([^<]+)<', drawing)
    assert shown
    assert all(len(name) < 20 for name in shown)


def test_long_name_is_clamped_and_whole_in_its_title(tmp_path: Path) -> None:
    name = f"org/{'W' * 180}"
    submit_run(synthetic.write_run(tmp_path / "run", model=name), tmp_path / "submissions")
    build_site(tmp_path / "submissions", tmp_path / "site")
    assert f'<bdi class="long" title="{name}">' in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("share", "percent", "points"),
    [(23 / 40, "57.5", "57.5"), (0.125, "12.5", "12.5"), (1.0, "100.0", "100.0"), (0.295, "29.5", "29.5")],
)
def test_rates_and_differences_are_rounded_alike(share: float, percent: str, points: str) -> None:
    assert (written(share, "percent"), in_points(share)) == (percent, points)
    assert signed_points(-share) == f"\N{MINUS SIGN}{points}"
    bar = english(
        svg.stacked_bar(
            [("full_refusal", "Refused", round(share * 1000)), ("compliant", "Complied", 1000 - round(share * 1000))],
            "x",
        )
    )
    assert f"{percent} %" in bar


def test_page_of_a_pair_says_points_to_one_decimal(built: Path) -> None:
    text = (built / "compare" / "best__perfect--worst__complies.html").read_text(encoding="utf-8")
    assert "higher than" in text
    assert "by 100.0 points." in text
    data = json.loads((built / "data/overview.json").read_text(encoding="utf-8"))
    assert data["rows"][0]["model"] == "best/perfect"
    with (built / "data/overview.csv").open(encoding="utf-8") as file:
        assert next(iter(csv.DictReader(file)))["group"] == "1"
