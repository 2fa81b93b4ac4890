"""The track `africa`: the same size in every place, five pairs in common, the rest a place's own."""

from __future__ import annotations

from collections import Counter

import pytest

from refusalatlas.places import items_in, places_of
from refusalatlas.tracks import item_digest, languages_of, load_items, load_seeds, read_digests

LOCALES = {
    "am": "am-ET", "en": None, "ha": "ha-NG", "ig": "ig-NG", "om": "om-ET", "rw": "rw-RW", "sn": "sn-ZW",
    "so": "so-SO", "sw": "sw-KE", "xh": "xh-ZA", "yo": "yo-NG", "zu": "zu-ZA",
}  # fmt: skip


def test_it_is_in_eleven_african_languages_and_english() -> None:
    assert languages_of("africa") == sorted(LOCALES)


@pytest.mark.parametrize("code", sorted(LOCALES))
def test_each_place_has_twenty_pairs_of_which_five_are_common(code: str) -> None:
    assert places_of("africa", code) == (LOCALES[code],)
    items = items_in("africa", code, LOCALES[code])
    assert Counter(item.role for item in items) == {"harmful": 20, "benign": 20}
    assert len({item.cluster_id for item in items}) == 20
    assert sum(item.cluster_id.startswith("common-") for item in items) == 10
    assert {item.id.split("/")[2] for item in items} == {LOCALES[code] or code}


def test_a_place_shares_only_the_common_seeds_with_others() -> None:
    seen = Counter(item.seed_id for code in LOCALES for item in load_items("africa", code))
    for seed_id, times in seen.items():
        assert times == (len(LOCALES) if seed_id.startswith("common-") else 1), seed_id
    assert set(seen) == set(load_seeds("africa"))


def test_own_seeds_say_in_english_what_they_ask() -> None:
    from refusalatlas.files import iter_jsonl
    from refusalatlas.tracks import get_track

    for _, row in iter_jsonl(get_track("africa").folder / "seeds.jsonl"):
        assert row["seed_id"].startswith("common-") or len(row["meta"]["gloss"]) > 15, row["seed_id"]


def test_digests_are_kept_by_place() -> None:
    kept = read_digests()["africa"]["1-0"]
    assert set(kept) == {locale or code for code, locale in LOCALES.items()}
    assert kept["sw-KE"] == item_digest(items_in("africa", "sw", "sw-KE"))
