"""The track `apacpictures`: one text beside two pictures of one thing each, of which one breaks a norm of the place."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from dataclasses import replace
from types import SimpleNamespace

import pytest
from refusalatlas.judges.forms.awareness import find_cues
from refusalatlas.judges.forms.shown import thing_named

from refusalatlas.adapter import doc_of
from refusalatlas.generate import common_yaml
from refusalatlas.models.reference import POLICIES, ReferenceModel
from refusalatlas.packs import builtin_root
from refusalatlas.places import items_in, places_of, variants_of
from refusalatlas.scenes import object_names
from refusalatlas.shown import shown_of, shown_seeds, things_in
from refusalatlas.strings import SHOWN_OBJECTS
from refusalatlas.table_rows import table_rows
from refusalatlas.tracks import (
    Item,
    get_track,
    item_digest,
    languages_of,
    load_seeds,
    read_digests,
    task_name,
)

TRACK = "apacpictures"
LOCALES = sorted(place for code in languages_of(TRACK) for place in places_of(TRACK, code) if place)
AXES = ("safety", "appropriateness")


def items(locale: str) -> tuple[Item, ...]:
    return items_in(TRACK, locale.rpartition("-")[0], locale, "picture")


def said(policy: str, item: Item) -> str:
    request = SimpleNamespace(args=("prompt", {}), doc=doc_of(item), task_name="refusalmm_apac")
    (answer,) = ReferenceModel(policy=policy).generate_until([request])
    return str(answer)


def test_it_is_in_the_places_of_apac() -> None:
    assert {"zh-Hant-TW", "ja-JP", "en-SG"} <= set(LOCALES)
    assert set(LOCALES) <= {place for code in languages_of("apac") for place in places_of("apac", code)}


@pytest.mark.parametrize("locale", LOCALES)
def test_each_place_has_six_clusters_and_both_axes(locale: str) -> None:
    found = items(locale)
    assert len({item.cluster_id for item in found}) >= 6
    aware = Counter(item.axis for item in found if item.expected == "aware")
    assert min(aware[axis] for axis in AXES) >= 2, aware


@pytest.mark.parametrize("locale", LOCALES)
def test_the_two_of_a_cluster_differ_in_the_picture_alone(locale: str) -> None:
    clusters: dict[str, list[Item]] = defaultdict(list)
    for item in items(locale):
        clusters[item.cluster_id].append(item)
    seeds = shown_seeds(TRACK)
    for found in clusters.values():
        assert sorted((item.expected, item.role) for item in found) == [("aware", "benign"), ("comply", "control")]
        assert len({(item.prompt, item.axis, item.category) for item in found}) == 1
        assert len({seeds[item.seed_id].emoji for item in found}) == 2
        assert all(item.seed_id.removeprefix(f"{item.cluster_id}-") in ("aware", "fine") for item in found)


@pytest.mark.parametrize("locale", LOCALES)
def test_texts_are_short_and_name_nothing_that_the_picture_shows(locale: str) -> None:
    for item in items(locale):
        assert item.prompt.startswith("<image>") and item.prompt.count("<image>") == 1
        assert len(item.prompt) <= 400 and unicodedata.is_normalized("NFC", item.prompt)
        shown = shown_of(TRACK, item.seed_id, item.language)
        assert shown is not None
        assert thing_named(item.prompt, shown) in ("none", "other"), item.id


@pytest.mark.parametrize("locale", LOCALES)
def test_cues_tell_those_who_know_the_norm_from_those_who_name_the_thing(locale: str) -> None:
    for item in items(locale):
        assert bool(item.cues) == (item.expected == "aware"), item.id
        assert find_cues(item.prompt, item.language, item.cues) == (), item.id
        shown = shown_of(TRACK, item.seed_id, item.language)
        assert shown is not None
        assert find_cues("\n".join(shown.names), item.language, item.cues) == (), item.id


@pytest.mark.parametrize("locale", LOCALES)
def test_every_thing_has_names_of_its_own(locale: str) -> None:
    language = locale.rpartition("-")[0]
    names = object_names(language, SHOWN_OBJECTS)
    assert set(names) == set(things_in(TRACK, language))
    assert max(Counter(way.casefold() for ways in names.values() for way in ways).values()) == 1


@pytest.mark.parametrize("locale", LOCALES)
def test_policies_answer_ideal_knows_every_norm_and_none_names_another_thing(locale: str) -> None:
    for item in items(locale):
        shown = shown_of(TRACK, item.seed_id, item.language)
        assert shown is not None
        answers = {policy: said(policy, item) for policy in POLICIES}
        for policy in ("ideal", "always-refuse", "always-comply"):
            knows = bool(find_cues(answers[policy], item.language, item.cues))
            assert knows == (policy == "ideal" and item.expected == "aware"), (item.id, policy)
            assert knows or thing_named(answers[policy], shown) == "none", (item.id, policy)


def test_tasks_bear_the_name_of_apac_and_stay_outside_the_glob() -> None:
    assert task_name(TRACK, "zh-Hant", "zh-Hant-TW", "picture") == "refusalmm_apac_zh_Hant_TW"
    assert task_name("grounding", "sw", None, "picture") == "refusalmm_grounding_sw"
    assert {variants_of(TRACK, code) for code in languages_of(TRACK)} == {("picture",)}


def test_table_has_a_row_for_each_axis_and_none_for_both() -> None:
    rows = table_rows(get_track(TRACK))
    assert {row.axis for row in rows} == set(AXES)
    assert {row.metric for row in rows} == set(get_track(TRACK).metrics)
    assert "metric: misnamed_rate_appropriateness\n" in common_yaml(get_track(TRACK))


def test_categories_are_those_of_apac_and_each_axis_has_its_own() -> None:
    assert get_track(TRACK).categories == get_track("apac").categories
    used = {axis: {s.category for s in load_seeds(TRACK).values() if s.axis == axis} for axis in AXES}
    assert used["safety"] <= {"law", "hazard"}
    assert not used["appropriateness"] & {"law", "hazard"}


def test_each_sign_has_one_name_and_is_drawn() -> None:
    signs = {(seed.key, seed.emoji) for seed in shown_seeds(TRACK).values()}
    assert len({key for key, _ in signs}) == len({emoji for _, emoji in signs}) == len(signs)
    icons = builtin_root() / "tasks" / TRACK / "icons"
    assert {path.stem for path in icons.glob("*.png")} == {emoji for _, emoji in signs}
    assert sum(path.stat().st_size for path in icons.iterdir()) < 4_000_000
    notice = (icons / "NOTICE").read_text(encoding="utf-8")
    assert "Apache License, Version 2.0" in notice and "SIL Open Font License" in notice


def test_digests_pin_cues_pictures_and_names(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = read_digests()[TRACK][get_track(TRACK).version]
    assert sorted(kept) == LOCALES
    plain = list(items_in(TRACK, "ja", "ja-JP"))
    assert kept["ja-JP"] == item_digest(plain)
    monkeypatch.setattr("refusalatlas.shown.shown_of", lambda *about: replace(shown_of(*about), emoji="1F600"))
    assert item_digest(plain)["texts"] != kept["ja-JP"]["texts"]
