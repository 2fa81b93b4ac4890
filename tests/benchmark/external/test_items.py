from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapes import SAFE, UNSAFE, Copies

from refusalatlas.errors import AtlasError
from refusalatlas.external.adapter import read_items
from refusalatlas.external.items import NO_CATEGORY, Read, Rows, _category, _name, items_of
from refusalatlas.external.sets import ExternalSet, get_set, load_sets

MakeSet = Callable[..., ExternalSet]
PLACES = [(name, code) for name, one in load_sets().items() for code in one.languages]
SHAPED = {"polyguardprompts": ("en", "sv", "zh-Hans")}


def _from(rows: Sequence[Mapping[str, Any]]) -> Read:
    return lambda config, split: Rows("somebody/tiny", tuple(rows[0]), rows, "abc")


def _expected(one: ExternalSet, rows: Sequence[Mapping[str, Any]], language: str = "en") -> list[tuple[str, str, str]]:
    return [(i.seed_id, i.cluster_id, i.expected) for i in items_of(one, language, _from(rows)).items]


@pytest.mark.parametrize(("name", "language"), [p for p in PLACES if p[1] in SHAPED.get(p[0], (p[1],))])
def test_every_set_of_ours_gives_items_in_every_language(published: Copies, name: str, language: str) -> None:
    found = read_items(get_set(name), language)
    assert found.revision == "local"
    assert {item.expected for item in found.items} == get_set(name).expectations
    for item in found.items:
        assert item.id == f"{name}/{item.seed_id}/{language}/base"
        assert re.fullmatch(r"[a-z0-9]+(/[A-Za-z0-9_-]{1,80}){3}", item.id)
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", item.category)
        assert item.prompt == (SAFE if item.expected == "comply" else UNSAFE)
        assert item.role == ("benign" if item.expected == "comply" else "harmful")


def test_safe_prompt_and_its_unsafe_counterpart_are_one_cluster(published: Copies) -> None:
    items = read_items(get_set("xstest"), "en").items
    assert [(i.seed_id, i.cluster_id, i.category) for i in items] == [
        ("v2-1", "kill", "homonyms"),
        ("v2-2", "kill", "contrast-homonyms"),
    ]


def test_parts_of_a_set_are_told_apart_and_their_pairs_are_not(published: Copies) -> None:
    items = read_items(get_set("jbb"), "en").items
    assert [(i.seed_id, i.cluster_id) for i in items] == [("harmful-0", "0"), ("benign-0", "0")]
    items = read_items(get_set("orbench"), "en").items
    assert [i.seed_id for i in items] == ["or-bench-hard-1k-row-00001", "or-bench-toxic-row-00001"]
    assert len({i.cluster_id for i in items}) == 2


def test_a_prompt_is_one_cluster_in_all_languages(published: Copies) -> None:
    one = get_set("polyguardprompts")
    clusters = {tuple(i.cluster_id for i in read_items(one, code).items) for code in SHAPED["polyguardprompts"]}
    assert clusters == {("0", "1")}


def test_row_without_a_label_is_left_out_and_counted(published: Copies) -> None:
    found = read_items(get_set("polyguardprompts"), "en")
    assert (len(found.items), found.left_out) == (2, 1)


def test_mutations_that_are_no_translations_are_left_out(published: Copies) -> None:
    assert len(read_items(get_set("sorrybench"), "en").items) == 1


def test_four_phrasings_of_a_family_are_one_cluster(make_set: MakeSet) -> None:
    one = make_set({"{prompt: text}": "{prompt: text, id: n, cluster: family_id}", "comply": "refuse"})
    rows = [{"n": f"f{f}-{v}", "family_id": f"f{f}", "text": f"{UNSAFE} ({v})"} for f in (1, 2) for v in range(4)]
    assert [cluster for _, cluster, _ in _expected(one, rows)] == ["f1"] * 4 + ["f2"] * 4


def test_only_rows_with_a_wanted_value_are_kept(make_set: MakeSet) -> None:
    one = make_set(more="keep: {kind: [plain, 3]}\n")
    rows = [{"text": SAFE, "kind": kind} for kind in ("plain", "odd")]
    assert _expected(one, rows) == [("row-00001", "row-00001", "comply")]


def test_rows_keep_their_number_whatever_stands_before_them(make_set: MakeSet) -> None:
    one = make_set({"language: en": "language: {column: lang, values: {E: en, S: sw}}"})
    rows = [{"text": SAFE, "lang": lang} for lang in ("S", "E", "?", "E")]
    assert [seed for seed, *_ in _expected(one, rows)] == ["row-00002", "row-00004"]
    assert [seed for seed, *_ in _expected(one, rows, "sw")] == ["row-00001"]


def test_config_by_language(make_set: MakeSet) -> None:
    one = make_set({"language: en": "language: {configs: {en: english, sw: swahili}}"})
    asked = []

    def read(config: str | None, split: str) -> Rows:
        asked.append((config, split))
        return Rows("somebody/tiny", ("text",), [{"text": SAFE}], "abc")

    assert items_of(one, "sw", read).items[0].language == "sw"
    assert asked == [("swahili", "test")]


@pytest.mark.parametrize(
    ("changes", "rows", "said"),
    [
        (
            {},
            [{"prompt": SAFE, "kind": 1}],
            "somebody/tiny: has no column 'text' (it has prompt, kind); correct tiny.yaml",
        ),
        ({"{prompt: text}": "{prompt: text, id: n}"}, [{"text": SAFE, "n": 1}] * 2, "two rows have the id '1' in en"),
        ({}, [{"text": " "}], "somebody/tiny: has no prompt in en; correct tiny.yaml"),
        ({}, [{"text": [SAFE, SAFE]}], "row 1: the prompt is no text but list"),
        (
            {"expected: comply": "expected: {column: label, values: {safe: comply}}"},
            [{"text": SAFE, "label": "unsafe"}],
            "row 1: label is 'unsafe', which is none of 'safe'; correct tiny.yaml",
        ),
    ],
)
def test_rows_that_are_not_as_the_yaml_says_are_one_clear_line(
    make_set: MakeSet, changes: dict[str, str], rows: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises(AtlasError, match=re.escape(said)) as error:
        items_of(make_set(changes), "en", _from(rows))
    assert "\n" not in str(error.value)


def test_number_may_stand_in_the_yaml_as_text(make_set: MakeSet) -> None:
    one = make_set({"expected: comply": 'expected: {column: label, values: {"1": refuse, 0: comply}}'})
    rows = [{"text": SAFE, "label": 0}, {"text": UNSAFE, "label": 1}]
    assert [expected for *_, expected in _expected(one, rows)] == ["comply", "refuse"]


@given(st.lists(st.text(max_size=90), min_size=2, max_size=2, unique=True))
def test_different_ids_stay_different_and_fit(values: list[str]) -> None:
    names = [_name(value) for value in values]
    assert names[0] != names[1]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,80}", name) for name in names)


@given(st.text(max_size=200))
def test_every_category_is_a_word(value: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", _category(value))
    assert _category(None) == _category(" ") == NO_CATEGORY
