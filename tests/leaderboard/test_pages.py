"""Pages beside the overview: records, comparisons, judges, places and changes."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
import synthetic
from refusalatlas.leaderboard.site import build, comparing, judging, places, runs, snapshots, views
from refusalatlas.leaderboard.site.gather import Atlas, gather
from refusalatlas.leaderboard.site.metrics import shown_metrics
from refusalatlas.leaderboard.site.render import pieces
from refusalatlas.leaderboard.site.wording import interfaces, speak
from refusalatlas.leaderboard.storage import Submission, read_submission, run_folders
from refusalatlas.leaderboard.submission import submit_run

from refusalatlas.errors import AtlasError, DataError

DAY = datetime.date(2026, 11, 30)


@pytest.fixture(scope="module")
def atlas(two_languages: Path) -> Atlas:
    return gather(two_languages)


@pytest.fixture(scope="module")
def meridian(two_languages: Path) -> Submission:
    return read_submission(next(f for f in run_folders(two_languages) if f.parent.name.startswith("meridian")))


def test_every_record_has_a_row(meridian: Submission) -> None:
    made = dict(runs.pages(meridian))
    rows = sum(page.decode().count("<tr data-outcome=") for name, page in made.items() if name.count("/") == 3)
    assert rows == len(meridian.records)


def test_records_show_openings_of_refusals_and_of_nothing_else(meridian: Submission) -> None:
    page = dict(runs.pages(meridian))[f"runs/{meridian.slug}/{meridian.run.run_id}/en.html"].decode()
    refused = sum(r.decisions[0].label == "full_refusal" for r in meridian.records if r.language == "en")
    assert page.count("<bdi lang=") == refused
    assert page.count("not shown") == page.count("<tr data-outcome=") - refused


def test_pairs_of_models_are_compared_both_ways_round(atlas: Atlas, two_languages: Path) -> None:
    chosen = comparing.compared(atlas)
    rows = list(comparing.matrix(chosen, comparing.pairs(atlas, two_languages)))
    for i in range(len(chosen)):
        assert rows[i]["cells"][i] is None  # type: ignore[index]
        for j in range(i):
            here, there = rows[i]["cells"][j], rows[j]["cells"][i]  # type: ignore[index]
            assert here.href == there.href
            assert {here.shown[0], there.shown[0]} in ({"+", "−"}, {"0"})


def test_reference_policies_are_not_compared(atlas: Atlas) -> None:
    assert not any(entry.reference for entry in comparing.compared(atlas))


def test_norms_come_first_only_where_every_row_knows_them() -> None:
    headline = dict.fromkeys(("youden_j", "over_refusal"), 0)
    norms = {**headline, "awareness_rate": 0, "unaware_compliance": 0}
    assert shown_metrics([norms, norms])[:3] == ("awareness_rate", "unaware_compliance", "youden_j")
    assert shown_metrics([norms, {}])[0] == "awareness_rate"
    mixed = shown_metrics([norms, headline])
    assert mixed[0] == "youden_j"
    assert mixed[-2:] == ("awareness_rate", "unaware_compliance")


def test_words_side_by_side_are_translated_one_by_one() -> None:
    french = next(one for one in interfaces() if one.code == "fr")
    said = speak(pieces("Asian places, appropriateness · ko-KR"), french, "index.html")
    assert said == "Lieux d’Asie, convenance · ko-KR"
    assert speak(pieces("<b>, safety"), french, "index.html") == "&lt;b&gt;, sécurité"


def disguised(work: Path) -> Path:
    """A submissions folder with one model, and a policy under the model's name and under one of its own."""
    root = work / "submissions"
    submit_run(synthetic.write_run(work / "model", model="acme/acme-7b"), root)
    for number, name in enumerate(("acme/acme-7b", "acme/acme-70b")):
        run = synthetic.write_run(
            work / str(number),
            model="",
            backend="refusalatlas-reference",
            tracks=("pairs", "minos"),
            behaviour=synthetic.Behaviour(1, 0, 0, 0),
            model_args={"policy": "ideal"},
        )
        folder = submit_run(run, root, model_name=name)
        synthetic.raise_tier(folder, "reproduced")
    return root


def test_policy_is_a_reference_whatever_it_calls_itself(tmp_path: Path) -> None:
    atlas = gather(disguised(tmp_path))
    assert [entry.slug for entry in atlas.models] == ["acme__acme-7b"]
    (policy,) = atlas.references
    assert (policy.name, policy.alias) == ("refusalatlas-reference/ideal", "acme/acme-70b")
    shown = [row.cells["model"].text for row in views.overview_table(atlas, views.tie_groups(atlas)).rows]  # type: ignore[union-attr]
    assert shown == ["acme/acme-7b"]
    page = dict(build._model_page(policy, []))["models/acme__acme-70b.html"].decode()
    assert '<h1 class="name"><bdi>refusalatlas-reference' in page.replace("<wbr>", "")
    assert "reference policy</span>" in page
    assert "never ranked. Submitted as <bdi>acme" in page.replace("<wbr>", "")


def test_policy_in_a_model_s_name_does_not_speak_for_the_model(tmp_path: Path) -> None:
    """Not even where it is better trusted and holds more answers."""
    atlas = gather(disguised(tmp_path))
    (model,) = atlas.models
    assert model.run.backend == "refusalatlas-chat"
    assert [run.backend for run in model.others] == ["refusalatlas-reference"]
    page = dict(build._model_page(model, []))["models/acme__acme-7b.html"].decode()
    assert "</a> reference policy, <bdi>refusalatlas-reference</bdi>" in page


def test_pages_of_a_disguised_run_say_what_it_is(tmp_path: Path) -> None:
    folder = next(f for f in run_folders(disguised(tmp_path)) if f.parent.name == "acme__acme-70b")
    page = dict(runs.pages(read_submission(folder)))[f"runs/acme__acme-70b/{folder.name}.html"].decode()
    assert "reference policy</span>" in page
    assert "reproduced</span>" not in page


def test_categories_of_a_language_average_to_its_number(atlas: Atlas) -> None:
    entry = next(e for e in atlas.references if e.name.endswith("/ideal"))
    assert {estimate.value for estimate in entry.categories.values()} == {1.0}
    assert all(estimate.low is None for estimate in entry.categories.values())


def card(folder: Path, **changes: object) -> Path:
    numbers = {"n": 40, "coverage": 0.9, "refusal_recall": 0.8, "refusal_fpr": 0.1, "kappa": 0.7}
    data = {
        "panel": {"name": "offline", "sha256": "a" * 64},
        "what": "On the sealed third.",
        "quality": {"all": numbers, "languages": {"sw": numbers}},
        "minos": {"sw": {"essay": "right", "permit": "wrong"}},
        **changes,
    }
    (folder / "offline.json").write_text(json.dumps(data), encoding="utf-8")
    return folder


def test_card_of_a_panel_becomes_two_tables(tmp_path: Path) -> None:
    (found,) = judging.read_cards(card(tmp_path))
    assert [row.cells["n"] for row in found.quality.rows] == [40, 40]
    assert found.minos.rows[0].cells["right"] == 1


def test_panel_without_card_has_none(tmp_path: Path) -> None:
    assert judging.read_cards(tmp_path / "nowhere") == []


def test_broken_card_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"offline\.json"):
        judging.read_cards(card(tmp_path, quality=3))


def test_every_language_is_spoken_somewhere(atlas: Atlas) -> None:
    found = {one.code: one for one in places.locales(atlas)}
    assert found["ko-KR"].region == "South Korea"
    assert not [one.code for one in found.values() if one.region == one.code]


def test_snapshot_is_never_changed(atlas: Atlas, tmp_path: Path) -> None:
    snapshots.write_snapshot(atlas, tmp_path, DAY)
    with pytest.raises(AtlasError, match="never changed"):
        snapshots.write_snapshot(atlas, tmp_path, DAY)


def test_nothing_changed_since_a_fresh_snapshot(atlas: Atlas, tmp_path: Path) -> None:
    snapshots.write_snapshot(atlas, tmp_path, DAY)
    now, then = snapshots.steps(snapshots.read_snapshots(tmp_path), atlas, views.tie_groups(atlas))
    assert now.changes == ()
    assert {change.what for change in then.changes} == {"new"}


def test_changes_name_what_was_and_what_is(atlas: Atlas, tmp_path: Path) -> None:
    path = snapshots.write_snapshot(atlas, tmp_path, DAY)
    data = json.loads(path.read_text(encoding="utf-8"))
    data["models"]["kestrel__kestrel-mini"]["tier"] = "audited"
    del data["models"]["meridian__meridian-large"]
    path.write_text(json.dumps(data), encoding="utf-8")
    now, _ = snapshots.steps(snapshots.read_snapshots(tmp_path), atlas, views.tie_groups(atlas))
    assert snapshots.Change("kestrel/kestrel-mini", "Trust", "audited", "self-reported") in now.changes
    assert snapshots.Change("meridian/meridian-large", "new") in now.changes


def test_snapshot_under_another_date_is_found(atlas: Atlas, tmp_path: Path) -> None:
    snapshots.write_snapshot(atlas, tmp_path, DAY).rename(tmp_path / "2026-12-01.json")
    with pytest.raises(DataError, match="name it by its date"):
        snapshots.read_snapshots(tmp_path)


def test_workers_come_to_the_same_as_one(two_languages: Path, atlas: Atlas) -> None:
    assert len(atlas.entries) == len(synthetic.MODELS) + len(synthetic.POLICIES)
    shared = gather(two_languages, workers=2)
    assert [(e.slug, e.headline, e.outcomes) for e in shared.entries] == [
        (e.slug, e.headline, e.outcomes) for e in atlas.entries
    ]
