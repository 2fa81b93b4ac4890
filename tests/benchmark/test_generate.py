from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from refusalatlas import generate as module
from refusalatlas.cli import cli
from refusalatlas.errors import AtlasError, DataError, UnknownNameError
from refusalatlas.generate import HEADER, check_pack, common_yaml, find_pack, generate, pack_files, task_stem, task_yaml
from refusalatlas.languages import get_language
from refusalatlas.packs import Pack, packs
from refusalatlas.places import places_of, variants_of
from refusalatlas.scoring import DIRECTION
from refusalatlas.tracks import get_track, languages_of, load_items, load_tracks


class _Loader(yaml.SafeLoader):
    """Reads `!function a.b` as the text `a.b`."""


_Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def load(text: str) -> dict[str, Any]:
    data = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader with one harmless tag
    assert isinstance(data, dict)
    return data


def test_committed_files_are_what_the_data_give() -> None:
    done = CliRunner().invoke(cli, ["tasks", "generate", "--check"])
    assert (done.exit_code, done.stderr.splitlines()[:-1]) == (0, [])


def test_every_track_has_a_task_in_every_language_of_its_texts() -> None:
    tasks = packs()[0].tasks
    assert tasks is not None
    for track in load_tracks():
        found = {path.stem for path in (tasks / track / "lm_eval").glob("[!_]*.yaml")}
        wanted = {
            task_stem(code, place, variant)
            for code in languages_of(track)
            for place in places_of(track, code)
            for variant in variants_of(track, code)
        }
        assert found == wanted


def test_task_of_a_locale_names_it_and_is_tagged_by_it() -> None:
    found = load(task_yaml(get_track("africa"), get_language("zu"), "zu-ZA"))
    assert found["task"] == "refusal_africa_zu_ZA"
    assert found["dataset_kwargs"] == {
        "ra_track": "africa",
        "ra_language": "zu",
        "ra_locale": "zu-ZA",
        "ra_variant": "base",
    }
    assert {"refusal-lang-zu", "refusal-locale-zu-ZA", "refusal-track-africa"} <= set(found["tag"])


def test_what_a_task_names_is_there() -> None:
    from importlib import import_module

    named = [v for v in _leaves(load(common_yaml(get_track("pairs")))) if str(v).startswith("refusalatlas.")]
    assert len(named) > 5
    for dotted in named:
        module_name, _, attribute = dotted.rpartition(".")
        assert callable(getattr(import_module(module_name), attribute))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    return [leaf for inner in value for leaf in _leaves(inner)] if isinstance(value, list) else [value]


def test_task_stops_at_no_blank_line_and_is_greedy() -> None:
    settings = load(common_yaml(get_track("pairs")))["generation_kwargs"]
    assert settings == {"until": [], "max_gen_toks": 512, "do_sample": False, "temperature": 0.0}


def test_directions_are_those_of_the_scores() -> None:
    words = {True: "higher is better", False: "lower is better", None: "neither"}
    for row in load(common_yaml(get_track("pairs")))["metric_list"]:
        if row["metric"] != "record":
            assert words[row["higher_is_better"]] == DIRECTION[row["metric"]]


@pytest.mark.parametrize("code", ["no", "sw", "zh-Hant", "on"])
def test_code_of_a_language_stays_text(code: str) -> None:
    """`no` is Norwegian, and false to YAML."""
    data = load(task_yaml(get_track("pairs"), replace(get_language("en"), code=code)))
    assert data["dataset_kwargs"] == {"ra_track": "pairs", "ra_language": code, "ra_variant": "base"}
    assert data["tag"] == [f"refusal-lang-{code}", "refusal-track-pairs"]
    assert data["metadata"]["version"] == get_track("pairs").version


@pytest.mark.parametrize("name", ["yes", "null", "1.5", "1e3", "builtin"])
def test_name_of_a_pack_stays_text(name: str) -> None:
    data = load(task_yaml(replace(get_track("pairs"), pack=name), get_language("en")))
    assert data["metadata"]["ra_pack"] == name


def test_names_of_groups_and_tags_stay_outside_the_glob() -> None:
    from fnmatch import fnmatch

    for path, text in pack_files(packs()[0]).items():
        data = load(text)
        assert not any(fnmatch(tag, "refusal_*") for tag in data.get("tag", [])), path
        assert not fnmatch(str(data.get("group")), "refusal_*")
        pictured = "doc_to_image" in data
        elsewhere = path.parent.parent.name in ("ext", "guards")  # the hub's prompts, and guards instead of assistants
        if isinstance(data.get("task", []), list):
            continue  # a group
        if not elsewhere:
            assert fnmatch(str(data["task"]), "refusalmm_*" if pictured else "refusal_*"), path
            assert all(tag.startswith("refusalmm-" if pictured else "refusal-") for tag in data.get("tag", [])), path
        else:
            assert not fnmatch(str(data["task"]), "refusal_*"), path


def test_tasks_with_pictures_are_in_no_group_of_others() -> None:
    files = {path.name: text for path, text in pack_files(packs()[0]).items() if path.parent.parent.name == "grounding"}
    assert "refusalmm" not in load_group()
    found = load(files["en_picture_box.yaml"])
    assert found["task"] == "refusalmm_grounding_en_box"
    assert found["doc_to_image"] == "refusalatlas.adapter.pictures"
    assert "doc_to_image" not in load(files["en_box.yaml"])


def load_group() -> str:
    tasks = packs()[0].tasks
    assert tasks is not None
    return (tasks / "groups" / "refusal.yaml").read_text(encoding="utf-8")


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]) -> Pack:
    """The built-in pack with Swahili alone, somewhere it may be changed, freshly generated."""
    from refusalatlas import languages, tracks

    real = packs()[0]
    assert real.tasks is not None
    assert real.translations is not None
    shutil.copytree(real.tasks, tmp_path / "tasks", ignore=shutil.ignore_patterns("lm_eval", "digests.json"))
    shutil.copytree(real.translations / "sw", tmp_path / "translations" / "sw")
    pack = replace(real, tasks=tmp_path / "tasks", translations=tmp_path / "translations")
    for place in (languages, tracks, module):
        monkeypatch.setattr(place, "packs", lambda: (pack,))
    fresh()
    assert generate(pack) == []
    return pack


def _texts(pack: Pack) -> Path:
    assert pack.translations is not None
    return pack.translations / "sw" / "pairs.jsonl"


def _tasks(pack: Pack) -> Path:
    assert pack.tasks is not None
    return pack.tasks


def test_generating_twice_changes_nothing(copy: Pack) -> None:
    before = {path: path.read_bytes() for path in _tasks(copy).rglob("*") if path.is_file()}
    assert generate(copy) == []
    assert {path: path.read_bytes() for path in _tasks(copy).rglob("*") if path.is_file()} == before
    assert generate(copy, check=True) == []


def test_changed_text_needs_a_new_version(copy: Pack, fresh: Callable[[], None]) -> None:
    path = _texts(copy)
    path.write_text(path.read_text(encoding="utf-8").replace('"text": "', '"text": "Tafadhali: ', 1), encoding="utf-8")
    before = (_tasks(copy) / "digests.json").read_bytes()
    fresh()
    [finding] = generate(copy)
    version = get_track("pairs").version
    assert f"texts of pairs {version} in sw changed; raise the version in tasks/pairs/track.yaml" in finding
    assert (_tasks(copy) / "digests.json").read_bytes() == before


def test_changed_text_with_a_new_version_keeps_the_old_digest(copy: Pack, fresh: Callable[[], None]) -> None:
    path = _texts(copy)
    path.write_text(path.read_text(encoding="utf-8").replace('"text": "', '"text": "Tafadhali: ', 1), encoding="utf-8")
    track = _tasks(copy) / "pairs" / "track.yaml"
    old = get_track("pairs").version
    track.write_text(track.read_text(encoding="utf-8").replace(f'"{old}"', '"1-99"'), encoding="utf-8")
    fresh()
    assert generate(copy) == []
    digests = json.loads((_tasks(copy) / "digests.json").read_text(encoding="utf-8"))["pairs"]
    assert set(digests) == {old, "1-99"}
    assert digests[old]["sw"]["ids"] == digests["1-99"]["sw"]["ids"]
    assert digests[old]["sw"]["texts"] != digests["1-99"]["sw"]["texts"]


def test_author_and_reviewer_may_change_under_the_same_version(copy: Pack, fresh: Callable[[], None]) -> None:
    path = _texts(copy)
    path.write_text(
        path.read_text(encoding="utf-8").replace('"reviewer": null', '"reviewer": "Asha"'), encoding="utf-8"
    )
    fresh()
    assert generate(copy, check=True) == []
    assert load_items("pairs", "sw")[0].reviewer == "Asha"


def test_unreleased_digests_can_be_rewritten(copy: Pack, fresh: Callable[[], None]) -> None:
    path = _texts(copy)
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")
    fresh()
    assert generate(copy, rewrite=True) == []
    digests = json.loads((_tasks(copy) / "digests.json").read_text(encoding="utf-8"))
    assert digests["pairs"][get_track("pairs").version]["sw"]["n"] == 79


def test_files_that_went_astray_are_found_and_mended(copy: Pack) -> None:
    folder = _tasks(copy) / "pairs" / "lm_eval"
    (folder / "sw.yaml").write_text("task: mine\n", encoding="utf-8")
    (folder / "_common.yaml").unlink()
    (folder / "tlh.yaml").write_text("task: refusal_pairs_tlh\n", encoding="utf-8")
    findings = generate(copy, check=True)
    assert [next(w for w in ("missing", "not what", "belong") if w in f) for f in findings] == [
        "missing", "not what", "belong"
    ]  # fmt: skip
    assert generate(copy) == []
    assert check_pack(copy) == []
    assert not (folder / "tlh.yaml").exists()
    assert (folder / "sw.yaml").read_text(encoding="utf-8").startswith(HEADER)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pairs": 3}', '{"pairs": {"1-0": {"sw": {"n": "many"}}}}'])
def test_broken_digests_are_our_error_and_stay_as_they_are(copy: Pack, text: str) -> None:
    path = _tasks(copy) / "digests.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"digests\.json"):
        generate(copy)
    assert path.read_text(encoding="utf-8") == text


def test_pack_without_tasks_is_told_to_make_the_folder(copy: Pack) -> None:
    with pytest.raises(DataError, match="make one beside translations/"):
        generate(replace(copy, tasks=None))
    assert check_pack(replace(copy, tasks=None)) == []


def test_unknown_pack_gets_a_hint() -> None:
    with pytest.raises(UnknownNameError, match="did you mean builtin"):
        find_pack("buildin")


def test_digest_of_a_language_that_was_taken_away_is_found(copy: Pack, fresh: Callable[[], None]) -> None:
    """One of a released version stays: raising the version says that the scores are of other texts."""
    path = _tasks(copy) / "digests.json"
    digests = json.loads(path.read_text(encoding="utf-8"))
    version = get_track("pairs").version
    digests["pairs"][version]["br"] = digests["pairs"]["0-1"] = digests["pairs"][version]["sw"]
    digests["pairs"]["0-1"] = {"br": digests["pairs"]["0-1"]}
    path.write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    [finding] = generate(copy, check=True)
    assert f"pairs {version} has no texts in br any more; raise the version" in finding
    assert generate(copy, rewrite=True) == []
    found = json.loads(path.read_text(encoding="utf-8"))["pairs"]
    assert (list(found[version]), list(found["0-1"])) == (["sw"], ["br"])


def test_what_was_written_is_said(copy: Pack) -> None:
    assert "minos: 1 task in sw" in module.written(copy)


def test_installed_copy_is_not_written_to(copy: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = replace(copy, ours=False)
    module.refuse_installed(theirs)
    monkeypatch.setattr(module, "installed_folders", lambda: frozenset({tmp_path.resolve()}))
    with pytest.raises(AtlasError, match=r"installed copy.*pip install -e \."):
        module.refuse_installed(theirs)
