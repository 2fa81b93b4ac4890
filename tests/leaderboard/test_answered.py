"""Answers in a letter each: what a browser needs to compare any two models, growing with the models alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import synthetic
from refusalatlas.leaderboard.site.answered import answered, draw
from refusalatlas.leaderboard.site.build import build_site
from refusalatlas.leaderboard.site.comparing import pairs
from refusalatlas.leaderboard.site.gather import gather
from refusalatlas.leaderboard.storage import read_submission, run_folders
from refusalatlas.leaderboard.submission import submit_run

from refusalatlas.comparison import outcomes_of
from refusalatlas.records import Record
from refusalatlas.stats.bootstrap import SEED


@pytest.fixture(scope="module")
def records(two_languages: Path) -> list[Record]:
    folder = next(f for f in run_folders(two_languages) if f.parent.name.startswith("meridian"))
    return [r for r in read_submission(folder).records if r.track == "pairs" and r.variant == "base"]


def test_letters_give_the_outcomes_of_the_comparison(records: list[Record]) -> None:
    data = json.loads(answered(records))
    found = {}
    for place, line in data["places"].items():
        for (seed, _, expected), letters in zip(data["seeds"], line.split(" "), strict=True):
            if expected == "comply" and letters:
                found[seed, place, "base"] = letters.count("r") / len(letters)
    assert found == {key: value for key, (value, _) in outcomes_of("over_refusal", records).items()}
    assert set(data["places"]) == {"en", "ar"}


def test_undecided_answers_have_no_letter(records: list[Record]) -> None:
    undecided = sum(d.label is None for r in records for d in r.decisions)
    letters = "".join(json.loads(answered(records))["places"].values()).replace(" ", "")
    assert undecided > 0
    assert len(letters) == sum(len(r.decisions) for r in records) - undecided


def test_model_without_decided_answers_has_no_file() -> None:
    assert answered([]) == ""


def test_draw_is_the_state_of_the_generator_that_the_intervals_come_from() -> None:
    found = json.loads(draw())
    generator = np.random.default_rng(found["seed"])
    assert found["seed"] == SEED
    assert generator.bit_generator.state["state"] == {"state": int(found["state"]), "inc": int(found["increment"])}


def test_every_model_and_policy_has_a_file_and_stands_in_the_menus(two_languages: Path, tmp_path: Path) -> None:
    build_site(two_languages, tmp_path / "site", workers=1)
    files = {path.stem for path in (tmp_path / "site" / "data" / "answers").glob("*.json")}
    assert files == {entry.slug for entry in gather(two_languages).entries}
    page = (tmp_path / "site" / "compare.html").read_text(encoding="utf-8")
    assert all(page.count(f'<option value="{slug}">') == 2 for slug in files)


def test_file_of_a_model_does_not_grow_with_the_others(two_languages: Path) -> None:
    sizes = [len(entry.answered) for entry in gather(two_languages).entries if len(entry.languages) == 2]
    assert max(sizes) < 6_000
    assert max(sizes) - min(sizes) < 100


def test_versions_that_cannot_be_compared_are_no_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one/a", "two/b"):
        submit_run(synthetic.write_run(tmp_path / name, model=name), tmp_path / "submissions")
    atlas = gather(tmp_path / "submissions")
    assert len(pairs(atlas, tmp_path / "submissions")) == 1
    from dataclasses import replace

    from refusalatlas.leaderboard.site import comparing

    whole = comparing._records

    def newer(entry, submissions):  # type: ignore[no-untyped-def]
        found = whole(entry, submissions)
        return [replace(r, version="2-0") for r in found] if entry.slug == "two__b" else found

    monkeypatch.setattr(comparing, "_records", newer)
    assert pairs(atlas, tmp_path / "submissions") == []
