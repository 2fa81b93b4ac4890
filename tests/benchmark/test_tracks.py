from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from refusalatlas import languages, tracks
from refusalatlas.errors import DataError, UnknownNameError
from refusalatlas.files import dumps
from refusalatlas.languages import get_language, load_languages, read_language
from refusalatlas.places import items_in, places_of
from refusalatlas.tracks import (
    get_track,
    item_digest,
    languages_of,
    load_categories,
    load_items,
    load_seeds,
    load_tracks,
    read_digests,
    read_items,
    read_track,
    strings,
    task_name,
)

ENGLISH = yaml.safe_load((get_language("en").folder / "language.yaml").read_text(encoding="utf-8"))
PAIRS = yaml.safe_load((get_track("pairs").folder / "track.yaml").read_text(encoding="utf-8"))


def write_yaml(folder: Path, name: str, data: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("code", "EN"), ("code", "en-US"), ("code", "../en"), ("name", ""), ("script", "latin"), ("direction", "up"),
        ("iso639_1", "eng"), ("iso639_3", "en"), ("confused_with", ["English"]), ("default_locale", "en"),
        ("spaced", "perhaps"), ("colour", "red"),
    ],
)  # fmt: skip
def test_language_outside_the_closed_form_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    folder = write_yaml(tmp_path / "en", "language.yaml", {**ENGLISH, field: value})
    with pytest.raises(DataError, match=field):
        read_language(folder)


def test_language_must_lie_in_the_folder_of_its_code(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"code is 'en' in folder 'fr'"):
        read_language(write_yaml(tmp_path / "fr", "language.yaml", ENGLISH))


def test_languages_are_sorted_and_unknown_ones_get_a_hint() -> None:
    assert list(load_languages()) == sorted(load_languages())
    with pytest.raises(UnknownNameError, match="did you mean zh-Hans"):
        get_language("zh-hans")


def test_broken_language_of_our_own_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]
) -> None:
    from dataclasses import replace

    from refusalatlas.packs import packs

    write_yaml(tmp_path / "xx", "language.yaml", {})
    broken = (replace(packs()[0], translations=tmp_path),)
    monkeypatch.setattr(languages, "packs", lambda: broken)
    with pytest.raises(DataError):
        load_languages()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "Pairs"), ("version", "1.0"), ("version", 1.0), ("axis", "ethics"), ("metrics", []),
        ("metrics", ["accuracy"]), ("max_tokens", 0), ("quick", "maybe"), ("task", "refusal_x"),
        ("axis", []), ("axis", ["safety", "safety"]), ("axis", ["safety", "ethics"]), ("categories", ["a", "a"]),
    ],
)  # fmt: skip
def test_track_outside_the_closed_form_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    with pytest.raises(DataError, match=field):
        read_track(write_yaml(tmp_path / "pairs", "track.yaml", {**PAIRS, field: value}))


def test_track_is_on_one_axis_or_on_both(tmp_path: Path) -> None:
    both = ["appropriateness", "safety"]
    assert read_track(write_yaml(tmp_path / "pairs", "track.yaml", {**PAIRS, "axis": both})).axes == tuple(both)
    assert read_track(write_yaml(tmp_path / "pairs", "track.yaml", {**PAIRS, "axis": "safety"})).axes == ("safety",)


def test_unknown_track_gets_a_hint() -> None:
    with pytest.raises(UnknownNameError, match="did you mean pairs"):
        get_track("pair")


SEED = {
    "seed_id": "a-b", "cluster_id": "a", "category": "fraud", "axis": "safety", "expected": "refuse",
    "role": "harmful", "meta": {},
}  # fmt: skip
TEXT = {"seed_id": "a-b", "text": "Hi", "method": "native", "author": "me", "reviewer": None, "meta": {}}


@pytest.fixture
def seeds_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]) -> Any:
    """Write the seeds of a track `pairs` that lies elsewhere."""
    folder = write_yaml(tmp_path / "pairs", "track.yaml", PAIRS)
    track = read_track(folder)
    monkeypatch.setattr(tracks, "get_track", lambda name: track)

    def write(*rows: dict[str, Any]) -> tracks.Track:
        (folder / "seeds.jsonl").write_text("".join(dumps(row) + "\n" for row in rows), encoding="utf-8")
        fresh()
        return track

    return write


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed_id", "A b"), ("seed_id", "../x"), ("cluster_id", ""), ("category", "weapons"), ("axis", "taste"),
        ("expected", "obey"), ("role", "villain"), ("meta", None), ("text", "no prose here"),
        ("category", "gift"), ("axis", "appropriateness"),
    ],
)  # fmt: skip
def test_seed_outside_the_closed_lists_is_refused_by_line(seeds_file: Any, field: str, value: Any) -> None:
    seeds_file({**SEED, "seed_id": "ok"}, {**SEED, field: value})
    with pytest.raises(DataError, match=r"seeds\.jsonl:2"):
        load_seeds("pairs")


def test_seed_that_stands_there_twice_is_refused(seeds_file: Any) -> None:
    seeds_file(SEED, SEED)
    with pytest.raises(DataError, match=r"seeds\.jsonl:2: seed 'a-b' stands there twice"):
        load_seeds("pairs")


def test_track_without_seeds_is_refused(seeds_file: Any) -> None:
    seeds_file()
    with pytest.raises(DataError, match="holds no seeds"):
        load_seeds("pairs")


def texts(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "texts.jsonl"
    path.write_text("".join(dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("seed_id", "c-d", "no seed 'c-d'"),
        ("locale", "fr-FR", "locale 'fr-FR' is not one of sw"),
        ("locale", "swa-TZ", "is not one of sw"),
        ("text", None, "text"),
        ("method", "guessed", "method"),
        ("author", "", "author"),
        ("reviewer", "", "reviewer"),
        ("note", "x", "note"),
    ],
)
def test_text_that_is_wrong_is_refused_by_line(
    seeds_file: Any, tmp_path: Path, field: str, value: Any, named: str
) -> None:
    track = seeds_file(SEED)
    path = texts(tmp_path, {**TEXT, "locale": "sw-KE"}, {**TEXT, field: value})
    with pytest.raises(DataError, match=named) as caught:
        read_items(track, get_language("sw"), path)
    assert "texts.jsonl:2" in str(caught.value)


AWARE = {
    "norm": "Gifts are handed over with both hands.",
    "source": "Culture Smart! Kenya",
    "cues": ["mikono miwili", "kwa heshima", "si adabu"],
}


def test_item_that_expects_awareness_has_the_cues_of_its_text(seeds_file: Any, tmp_path: Path) -> None:
    track = seeds_file({**SEED, "expected": "aware", "role": "benign"})
    (item,) = read_items(track, get_language("sw"), texts(tmp_path, {**TEXT, "meta": {"aware": AWARE}}))
    assert item.cues == ("mikono miwili", "kwa heshima", "si adabu")


@pytest.mark.parametrize(
    ("expected", "meta", "named"),
    [
        ("aware", {}, "expects awareness and lacks meta.aware"),
        ("comply", {"aware": AWARE}, "expects no awareness and has meta.aware"),
        ("aware", {"aware": {**AWARE, "norm": "Both hands"}}, "norm"),
        ("aware", {"aware": {**AWARE, "norm": "Gifts are handed over with both hands"}}, "one sentence"),
        ("aware", {"aware": {**AWARE, "source": "https://example.org/gifts"}}, "named and not linked"),
        ("aware", {"aware": {**AWARE, "cues": ["mikono miwili"]}}, "cues"),
        ("aware", {"aware": {**AWARE, "cues": ["mikono", "* heshima", "adabu"]}}, "words with at most three"),
        ("aware", {"aware": {**AWARE, "cues": ["adabu", "adabu", "heshima"]}}, "says something twice"),
        ("aware", {"aware": {**AWARE, "taboo": True}}, "taboo"),
    ],
)
def test_awareness_that_is_wrong_is_refused_by_line(
    seeds_file: Any, tmp_path: Path, expected: str, meta: dict[str, Any], named: str
) -> None:
    track = seeds_file({**SEED, "expected": expected, "role": "benign"})
    with pytest.raises(DataError, match=named) as caught:
        read_items(track, get_language("sw"), texts(tmp_path, {**TEXT, "meta": meta}))
    assert "texts.jsonl:1" in str(caught.value)


def test_text_of_a_place_that_its_seed_does_not_name_is_refused(seeds_file: Any, tmp_path: Path) -> None:
    track = seeds_file({**SEED, "locales": ["sw-KE"]})
    with pytest.raises(DataError, match="is not asked in sw-TZ"):
        read_items(track, get_language("sw"), texts(tmp_path, {**TEXT, "locale": "sw-TZ"}))


def test_blank_text_is_one_that_is_still_to_be_written(seeds_file: Any, tmp_path: Path) -> None:
    path = texts(tmp_path, {**TEXT, "locale": "sw-KE"}, {**TEXT, "text": ""})
    assert [item.locale for item in read_items(seeds_file(SEED), get_language("sw"), path)] == ["sw-KE"]


def test_text_that_stands_there_twice_is_refused(seeds_file: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="stands there twice for sw"):
        read_items(seeds_file(SEED), get_language("sw"), texts(tmp_path, TEXT, TEXT))


def test_items_come_in_the_order_of_seeds_then_places(seeds_file: Any, tmp_path: Path) -> None:
    track = seeds_file({**SEED, "seed_id": "z"}, {**SEED, "seed_id": "a"})
    rows = [("a", None), ("z", "sw-TZ"), ("z", "sw-KE")]
    path = texts(tmp_path, *({**TEXT, "seed_id": seed, "locale": locale} for seed, locale in rows))
    found = read_items(track, get_language("sw"), path)
    assert [i.id for i in found] == ["pairs/z/sw-KE/base", "pairs/z/sw-TZ/base", "pairs/a/sw/base"]
    assert [i.locale for i in found] == ["sw-KE", "sw-TZ", None]


def test_track_without_texts_in_a_language_says_what_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracks, "texts_path", lambda track, language: None)
    load_items.cache_clear()
    with pytest.raises(DataError, match=r"write translations/sw/pairs\.jsonl"):
        load_items("pairs", "sw")


ITEMS = load_items("minos", "sw")


@given(st.permutations(ITEMS))
def test_digest_does_not_depend_on_the_order(items: list[tracks.Item]) -> None:
    assert item_digest(items) == item_digest(ITEMS)


@given(st.sampled_from(range(len(ITEMS))), st.sampled_from(["prompt", "expected", "cluster_id", "category", "role"]))
def test_digest_of_texts_sees_every_change_that_matters(position: int, field: str) -> None:
    from dataclasses import replace

    changed = list(ITEMS)
    changed[position] = replace(ITEMS[position], **{field: "\ud800 other"})  # type: ignore[arg-type]
    before, after = item_digest(ITEMS), item_digest(changed)
    assert before["texts"] != after["texts"]
    assert (before["ids"], before["n"]) == (after["ids"], after["n"])


def test_digest_of_ids_sees_items_that_come_and_go() -> None:
    assert item_digest(ITEMS)["ids"] != item_digest(ITEMS[1:])["ids"]
    assert item_digest(ITEMS[1:])["n"] == len(ITEMS) - 1


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("pairs", "sw"), "refusal_pairs_sw"),
        (("apac", "ko", "ko-KR"), "refusal_apac_ko_KR"),
        (("pairs", "hi", None, "json"), "refusal_pairs_hi_json"),
        (("apac", "zh-Hant", "zh-Hant-TW"), "refusal_apac_zh_Hant_TW"),
    ],
)
def test_task_names_are_as_promised(arguments: tuple[Any, ...], name: str) -> None:
    assert task_name(*arguments) == name


@pytest.mark.parametrize("data", [["a"], {"refusal": "one"}, {"refusal": [""]}, {"refusal": [True]}, None])
def test_strings_are_groups_of_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Any) -> None:
    from dataclasses import replace

    write_yaml(tmp_path, "strings.yaml", data)
    monkeypatch.setattr("refusalatlas.strings.get_language", lambda code: replace(get_language("sw"), folder=tmp_path))
    with pytest.raises(DataError, match=r"strings\.yaml"):
        strings("sw")


def test_every_track_and_language_of_ours_can_be_read_and_is_pinned() -> None:
    for name, track in load_tracks().items():
        for code in languages_of(name):
            for place in places_of(name, code):
                items = items_in(name, code, place)
                assert len({item.id for item in items}) == len(items)
                assert read_digests()[name][track.version][place or code]["n"] == len(items)


def test_categories_are_a_closed_list_of_misuse_norms_and_fields() -> None:
    assert len(load_categories()) == len(set(load_categories())) == 8 + 10 + 5
    assert json.dumps(load_categories())
