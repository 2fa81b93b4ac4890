"""Pages of a snapshot: what stood on a day stays, whatever happens to models and numbers afterwards."""

from __future__ import annotations

import csv
import datetime
import io
import json
import shutil
from pathlib import Path

import pytest
from refusalatlas.leaderboard.site.build import build_site, take_snapshot
from refusalatlas.leaderboard.site.dated import dated_pages
from refusalatlas.leaderboard.site.gather import Atlas, gather
from refusalatlas.leaderboard.site.metrics import HEADLINE
from refusalatlas.leaderboard.site.snapshots import Change, SnapshotFile, read_snapshots, snapshot, steps
from refusalatlas.leaderboard.site.views import overview_table, reference_table, tie_groups

from refusalatlas.errors import DataError

DAY = datetime.date(2026, 11, 30)
PAGE = "v/2026-11-30/index.html"


@pytest.fixture(scope="module")
def atlas(two_languages: Path) -> Atlas:
    return gather(two_languages)


@pytest.fixture(scope="module")
def taken(atlas: Atlas) -> SnapshotFile:
    return snapshot(atlas, tie_groups(atlas), DAY)


@pytest.fixture(scope="module")
def files(taken: SnapshotFile, atlas: Atlas) -> dict[str, bytes]:
    return dict(dated_pages(taken, atlas))


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


def test_tables_of_the_day_are_those_of_the_overview(files: dict[str, bytes], atlas: Atlas) -> None:
    for name, table in (
        ("overview", overview_table(atlas, tie_groups(atlas))),
        ("references", reference_table(atlas)),
    ):
        kept = json.loads(files[f"data/v/2026-11-30/{name}.json"])["rows"]
        assert [row["model"] for row in kept] == [row.cells["model"].text for row in table.rows]  # type: ignore[union-attr]
        for row, now in zip(kept, table.rows, strict=True):
            assert row["languages"] == now.cells["languages"]
            for key in HEADLINE:
                estimate = now.cells[key]
                assert row[key]["n"] == estimate.n  # type: ignore[union-attr]
                assert row[key]["value"] == pytest.approx(estimate.value, abs=1e-6)  # type: ignore[union-attr]


def test_groups_and_reasons_are_kept(files: dict[str, bytes], taken: SnapshotFile) -> None:
    groups = {row["model"]: row["group"] for row in rows_of(files["data/v/2026-11-30/overview.csv"])}
    expected = {m.name: "—" if m.group is None else str(m.group) for m in taken.models.values() if not m.reference}
    assert groups == expected
    assert all((m.group is None) == (m.unranked is not None) for m in taken.models.values() if not m.reference)


def test_page_is_there_in_every_language_and_says_its_day(files: dict[str, bytes]) -> None:
    assert "<title>As it stood on 2026-11-30 · Refusal Atlas</title>" in files[PAGE].decode()
    assert "État au 2026-11-30" in files[f"fr/{PAGE}"].decode()
    arabic = files[f"ar/{PAGE}"].decode()
    assert 'dir="rtl"' in arabic
    assert '<h1>كما كانت في <bdi dir="ltr">2026-11-30</bdi></h1>' in arabic


def test_names_lead_to_models_that_are_still_there(files: dict[str, bytes], taken: SnapshotFile, atlas: Atlas) -> None:
    assert "../../models/kestrel__kestrel-mini.html" in files[PAGE].decode()
    gone = taken.model_copy(update={"models": {"gone": taken.models["kestrel__kestrel-mini"]}})
    page = dict(dated_pages(gone, atlas))[PAGE].decode()
    assert "kestrel" in page
    assert "models/gone.html" not in page


def test_what_was_kept_outlives_its_submissions(two_languages: Path, tmp_path: Path) -> None:
    submissions = tmp_path / "submissions"
    shutil.copytree(two_languages, submissions)
    take_snapshot(submissions, DAY)
    build_site(submissions, tmp_path / "before")
    shutil.rmtree(submissions / "kestrel__kestrel-mini")
    build_site(submissions, tmp_path / "after")
    tables = ("data/v/2026-11-30/overview.csv", "data/v/2026-11-30/references.json", "snapshots/2026-11-30.json")
    for name in tables:
        assert (tmp_path / "after" / name).read_bytes() == (tmp_path / "before" / name).read_bytes()
    changes = (tmp_path / "after" / "changelog.html").read_text(encoding="utf-8")
    assert f'href="{PAGE}"' in changes
    assert "kestrel/kestrel-mini" in changes


def test_model_that_changes_its_group_is_named(taken: SnapshotFile, atlas: Atlas) -> None:
    slug = "kestrel__kestrel-mini"
    other = taken.models[slug].model_copy(update={"group": 7})
    before = taken.model_copy(update={"models": {**taken.models, slug: other}})
    now, _ = steps([before], atlas, tie_groups(atlas))
    assert now.changes == (Change("kestrel/kestrel-mini", "Group", "7", "—"),)


@pytest.mark.parametrize("damage", ["NaN", '"much"', "1e999"])
def test_number_that_is_none_is_named(taken: SnapshotFile, tmp_path: Path, damage: str) -> None:
    text = taken.model_dump_json().replace('"value":1.0', f'"value":{damage}', 1)
    assert damage in text
    (tmp_path / "2026-11-30.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"2026-11-30\.json"):
        read_snapshots(tmp_path)
