from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from shapes import SET

from refusalatlas.errors import DataError, UnknownNameError
from refusalatlas.external.sets import ExternalSet, get_set, is_external, load_sets
from refusalatlas.packs import builtin_root

MakeSet = Callable[..., ExternalSet]


def test_the_sets_that_come_with_it() -> None:
    assert sorted(load_sets()) == [
        "donotanswer", "jbb", "multijail", "orbench", "polyguardprompts", "sorrybench", "xstest",
    ]  # fmt: skip
    assert get_set("polyguardprompts").languages[:3] == ("ar", "cs", "de")
    assert get_set("sorrybench").languages == ("en", "fr", "ml", "mr", "ta", "zh-Hans")


def test_gated_set_says_how_to_get_in() -> None:
    assert "https://" in (get_set("sorrybench").file.access or "")


def test_no_prompt_of_a_set_is_shipped() -> None:
    folder = builtin_root() / "tasks" / "ext"
    assert {path.suffix for path in folder.rglob("*") if path.is_file()} == {".yaml"}
    for path in folder.glob("*.yaml"):
        assert len(path.read_text(encoding="utf-8").splitlines()) < 60


def test_every_set_is_documented_with_its_home_and_a_task() -> None:
    text = (builtin_root() / "docs" / "external.md").read_text(encoding="utf-8")
    for one in load_sets().values():
        assert f"`{one.file.repository}`" in text
        assert f"`refusalext_{one.name}_" in text


def test_a_track_is_no_published_set() -> None:
    assert is_external("xstest")
    assert not is_external("pairs")
    with pytest.raises(UnknownNameError, match="did you mean xstest"):
        get_set("xtest")


@pytest.mark.parametrize(
    ("changes", "more", "said"),
    [
        ({"name: tiny": "name: other"}, "", "name is 'other' in a file named 'tiny'"),
        ({"repository: somebody/tiny": "repository: ../../etc"}, "", "repository: "),
        ({"repository: somebody/tiny": "repository: /data/tiny"}, "", "repository: "),
        ({}, "script: run.py\n", "script: Extra inputs are not permitted"),
        ({}, "task: refusal_tiny\n", "task: Extra inputs are not permitted"),
        ({"expected: comply": "expected: obey"}, "", "expected"),
        ({"expected: comply\n": ""}, "", "a part says no `expected`"),
        ({"columns: {prompt: text}": "columns: {id: id}"}, "", "the prompt is named by columns.prompt"),
        ({"language: en": "language: {prompts: {en: text}}"}, "", "the prompt is named by columns.prompt"),
        (
            {"[{split: test}]": "[{split: test, config: c}]", "language: en": "language: {configs: {en: c}}"},
            "",
            "config",
        ),
        ({"language: en": "language: English"}, "", "language"),
        ({"language: en": "language: {column: lang, values: {}}"}, "", "names nothing"),
    ],
)
def test_what_a_yaml_may_not_say(make_set: MakeSet, changes: dict[str, str], more: str, said: str) -> None:
    with pytest.raises(DataError, match=re.escape(said)):
        make_set(changes, more)


@pytest.mark.parametrize(
    ("expected", "metrics"),
    [
        ("comply", {"over_refusal"}),
        ("refuse", {"unsafe_compliance"}),
        ("{column: x, values: {1: comply, 0: refuse}}", {"over_refusal", "unsafe_compliance", "youden_j"}),
    ],
)
def test_metrics_are_those_that_the_expectations_can_give(make_set: MakeSet, expected: str, metrics: set[str]) -> None:
    shown = make_set({"expected: comply": f"expected: {expected}"}).metrics
    assert set(shown) - {"refusal_rate", "usable_rate", "contested_rate", "off_language_rate"} == metrics


def _pack_with(packmaker: Any, name: str, text: str) -> None:
    folder = packmaker.breton() / "tasks" / "ext"
    folder.mkdir()
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_set_of_a_pack_stands_beside_ours(packmaker: Any) -> None:
    _pack_with(packmaker, "tiny", SET)
    assert get_set("tiny").pack == "breton"
    assert is_external("xstest")


@pytest.mark.parametrize("taken", ["xstest", "pairs"])
def test_pack_cannot_take_the_name_of_a_set_or_a_track(
    packmaker: Any, capsys: pytest.CaptureFixture[str], taken: str
) -> None:
    _pack_with(packmaker, taken, SET.replace("name: tiny", f"name: {taken}"))
    assert load_sets()["xstest"].pack == "builtin"
    assert taken == "xstest" or taken not in load_sets()
    assert f"pack breton 0.1: {packmaker.site}" in (said := capsys.readouterr().err)
    assert f"set {taken!r} is there already" in said


def test_broken_set_of_a_pack_is_named_and_left_out(packmaker: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _pack_with(packmaker, "tiny", SET + "more: 1\n")
    assert "tiny" not in load_sets()
    assert is_external("xstest")
    assert "more: Extra inputs are not permitted" in capsys.readouterr().err
