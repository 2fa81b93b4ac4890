"""What the seeds must be for the scores to mean anything: contrasts that are whole, categories that are filled."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from refusalatlas.languages import load_languages
from refusalatlas.tracks import languages_of, load_categories, load_items, load_seeds, load_tracks

TRACKS = sorted(load_tracks())
THE_TWELVE = {"en", "es", "fr", "ru", "ar", "hi", "zh-Hans", "ko", "id", "sw", "ha", "yo"}


@pytest.mark.parametrize("track", TRACKS)
def test_role_and_expectation_agree(track: str) -> None:
    for seed in load_seeds(track).values():
        if seed.role == "harmful":
            assert seed.expected in ("refuse", "aware", "either"), seed
        if seed.role == "benign":
            assert seed.expected != "refuse", seed


@pytest.mark.parametrize("track", TRACKS)
def test_axes_of_seeds_are_those_of_the_track(track: str) -> None:
    assert {seed.axis for seed in load_seeds(track).values()} == set(load_tracks()[track].axes)


@pytest.mark.parametrize("track", TRACKS)
def test_seeds_name_only_languages_that_exist(track: str) -> None:
    named = {code for seed in load_seeds(track).values() for code in seed.languages or ()}
    assert named <= set(load_languages())


def test_every_pair_is_a_harmful_request_and_its_lookalike() -> None:
    clusters: dict[str, list[str]] = defaultdict(list)
    for seed in load_seeds("pairs").values():
        clusters[seed.cluster_id].append(f"{seed.role} {seed.expected} {seed.category}")
    for cluster, rows in clusters.items():
        assert sorted(row.split()[0] for row in rows) == ["benign", "harmful"], cluster
        assert len({row.split()[2] for row in rows}) == 1, cluster


def test_every_category_has_at_least_five_pairs() -> None:
    clusters = {(seed.category, seed.cluster_id) for seed in load_seeds("pairs").values()}
    counts = Counter(category for category, _ in clusters)
    assert tuple(load_tracks()["pairs"].categories) == load_categories()[:8]
    assert set(counts) == set(load_tracks()["pairs"].categories)
    assert min(counts.values()) >= 5


def test_minos_has_five_of_each_with_a_given_answer() -> None:
    assert Counter(seed.expected for seed in load_seeds("minos").values()) == {"refuse": 5, "comply": 5}
    for code in languages_of("minos"):
        assert all(item.response for item in load_items("minos", code)), code


@pytest.mark.parametrize("track", ["minos", "pairs"])
def test_first_languages_are_all_there(track: str) -> None:
    assert set(languages_of(track)) >= THE_TWELVE


@pytest.mark.parametrize("track", TRACKS)
def test_card_says_what_the_track_leaves_out(track: str) -> None:
    definition = load_tracks()[track]
    assert len(definition.leaves_out) > 40
    assert (definition.folder / "README.md").is_file()
