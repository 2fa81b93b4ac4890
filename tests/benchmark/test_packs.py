from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from refusalatlas.errors import DataError
from refusalatlas.generate import check_pack, find_pack, generate
from refusalatlas.hook import task_folders
from refusalatlas.languages import load_languages
from refusalatlas.packs import builtin_root, locate, packs
from refusalatlas.plugins import load_judge_classes
from refusalatlas.tracks import languages_of, load_items, load_tracks, read_digests, task_name


def test_built_in_pack_is_first_and_complete(fresh: Callable[[], None]) -> None:
    pack = packs()[0]
    assert (pack.name, pack.ours) == ("builtin", True)
    assert (pack.tasks, pack.translations) == (builtin_root() / "tasks", builtin_root() / "translations")


@pytest.fixture
def breton(packmaker: Any) -> Path:
    """A sound pack with its task files."""
    folder: Path = packmaker.breton()
    assert generate(find_pack("breton")) == []
    return folder


def test_language_of_a_pack_stands_beside_ours(breton: Path) -> None:
    assert load_languages()["br"].pack == "breton"
    assert [item.id for item in load_items("pairs", "br")] == [
        "pairs/fraud-parcel-harmful/br/base",
        "pairs/fraud-parcel-benign/br/base",
        "pairs/fraud-hospital-harmful/br/base",
    ]


def test_task_of_a_pack_is_generated_and_given_to_lm_eval(breton: Path) -> None:
    task = yaml.safe_load((breton / "tasks/pairs/lm_eval/br.yaml").read_text(encoding="utf-8"))
    assert task["task"] == "refusal_pairs_br"
    assert "refusal-lang-br" in task["tag"]
    assert task_folders() == [builtin_root() / "tasks", breton / "tasks"]


def test_pack_is_never_imported(breton: Path, fresh: Callable[[], None]) -> None:
    fresh()
    load_languages()
    task_folders()
    load_items("pairs", "br")
    assert "breton" not in sys.modules  # and its __init__ raises, had it been


def test_digests_of_a_pack_stand_beside_ours(breton: Path, fresh: Callable[[], None]) -> None:
    fresh()
    digests = read_digests()["pairs"][load_tracks()["pairs"].version]
    assert digests["br"]["n"] == 3
    assert digests["en"]["n"] == 80


def _ours_speak_of(word: str) -> list[str]:
    return [finding for finding in check_pack(packs()[0]) if word in finding]


def test_pack_leaves_our_own_generated_files_alone(breton: Path) -> None:
    assert _ours_speak_of("br.yaml") == []


def test_plugins_turned_off_turns_packs_off(
    breton: Path, monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]
) -> None:
    fresh()
    monkeypatch.setenv("REFUSALATLAS_PLUGINS", "0")
    assert [pack.name for pack in packs()] == ["builtin"]
    assert "br" not in load_languages()


def _only_ours(capsys: pytest.CaptureFixture[str], named: str) -> str:
    """Check that the built-in languages, tracks and tasks are there, and that the broken pack was named."""
    assert {"en", "sw", "zh-Hans"} <= set(load_languages())
    assert {"minos", "pairs"} <= set(load_tracks())
    assert task_folders()[0] == builtin_root() / "tasks"
    assert len(task_folders()) == 1
    said = capsys.readouterr().err
    assert named in said
    return said


def test_pack_with_broken_language_is_skipped_by_name(packmaker: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = packmaker.breton()
    (folder / "translations/br/language.yaml").write_text("code: [br\nname: x", encoding="utf-8")
    (folder / "tasks").rmdir()
    assert "language.yaml:2" in _only_ours(capsys, "breton 0.1")
    assert "br" not in load_languages()


@pytest.mark.parametrize("field", ["code: br", "script: Latn", "default_locale: br-FR"])
def test_pack_with_incomplete_language_is_skipped_by_name(
    packmaker: Any, capsys: pytest.CaptureFixture[str], field: str
) -> None:
    path = packmaker.breton() / "translations/br/language.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(field + "\n", ""), encoding="utf-8")
    load_languages()
    assert f"{field.split(':')[0]}: Field required" in capsys.readouterr().err
    assert "br" not in load_languages()


def test_pack_cannot_replace_a_built_in_language(packmaker: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = packmaker.breton()
    (folder / "translations/br").rename(folder / "translations/sw")
    path = folder / "translations/sw/language.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("code: br", "code: sw"), encoding="utf-8")
    assert load_languages()["sw"].pack == "builtin"
    assert "language sw is skipped" in capsys.readouterr().err


def test_pack_cannot_replace_a_built_in_track(packmaker: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = packmaker.breton()
    shutil.copytree(builtin_root() / "tasks" / "pairs", folder / "tasks" / "pairs")
    assert load_tracks()["pairs"].pack == "builtin"
    assert "track 'pairs' is there already" in capsys.readouterr().err
    assert task_folders() == [builtin_root() / "tasks"]


def test_pack_cannot_replace_texts(packmaker: Any) -> None:
    folder = packmaker.breton()
    shutil.copytree(folder / "translations/br", folder / "translations/sw")
    assert len(load_items("pairs", "sw")) == 80


def test_entry_that_names_no_package_is_skipped_by_name(packmaker: Any, capsys: pytest.CaptureFixture[str]) -> None:
    packmaker.distribution("ghost", "[refusalatlas.packs]\nghost = no.such.package\n")
    _only_ours(capsys, "plug-in ghost 0.1: there is no package 'no.such.package'")


@pytest.mark.parametrize("value", ["ghost.data:x", "ghost..data", ".", "ghost.py", "ghost/data", "os"])
def test_entry_that_makes_no_sense_is_skipped_by_name(
    packmaker: Any, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    (packmaker.site / "ghost").mkdir()
    packmaker.distribution("ghost", f"[refusalatlas.packs]\nghost = {value}\n")
    _only_ours(capsys, "plug-in ghost 0.1")


def test_package_without_data_is_skipped_by_name(packmaker: Any, capsys: pytest.CaptureFixture[str]) -> None:
    packmaker.pack("empty")
    _only_ours(capsys, "holds neither translations/ nor tasks/")


def test_name_that_could_break_out_of_a_yaml_is_refused(packmaker: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = packmaker.pack("sly", entry="sly, x: !function os.abort")
    (folder / "tasks").mkdir()
    _only_ours(capsys, "plug-in sly 0.1")
    assert [pack.name for pack in packs()] == ["builtin"]


def test_data_folder_without_init_below_a_package_is_found(packmaker: Any) -> None:
    folder = packmaker.site / "outer" / "data"
    (folder / "translations").mkdir(parents=True)
    (packmaker.site / "outer" / "__init__.py").write_text("raise RuntimeError", encoding="utf-8")
    packmaker.distribution("outer", "[refusalatlas.packs]\nouter = outer.data\n")
    assert find_pack("outer").translations == folder / "translations"
    assert "outer" not in sys.modules


def test_missing_package_is_our_error() -> None:
    with pytest.raises(DataError, match=r"no package 'not_there.at.all'"):
        locate("not_there.at.all")


def test_broken_texts_keep_the_task_from_lm_eval(breton: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (breton / "translations/br/pairs.jsonl").write_text('{"seed_id": "cut o', encoding="utf-8")
    load_items.cache_clear()
    assert "pairs.jsonl:1" in _only_ours(capsys, "breton 0.1")


def test_missing_task_files_keep_the_folder_from_lm_eval(packmaker: Any, capsys: pytest.CaptureFixture[str]) -> None:
    packmaker.breton()
    assert "missing; run `refusalatlas tasks generate --pack breton`" in _only_ours(capsys, "breton 0.1")


def test_sentence_that_is_new_costs_a_pack_no_task(
    breton: Path, capsys: pytest.CaptureFixture[str], fresh: Callable[[], None]
) -> None:
    path = breton / "translations/br/strings.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "json_request:\n  - Respont e JSON {form}\n", encoding="utf-8")
    fresh()
    assert task_folders() == [builtin_root() / "tasks", breton / "tasks"]
    said = capsys.readouterr().err
    assert "not all of its tasks are there: " in said
    assert "br_json.yaml: missing; run `refusalatlas tasks generate --pack breton`\n" in said
    assert generate(find_pack("breton")) == []
    task_folders()
    assert capsys.readouterr().err == ""


def test_version_that_was_raised_since_costs_a_pack_no_task(breton: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = breton / "tasks/pairs/lm_eval/br.yaml"
    version = load_tracks()["pairs"].version
    path.write_text(path.read_text(encoding="utf-8").replace(f'"{version}"', '"0-7"'), encoding="utf-8")
    assert task_folders() == [builtin_root() / "tasks", breton / "tasks"]
    assert "not what the data give; run `refusalatlas tasks generate --pack breton`" in capsys.readouterr().err


def test_task_whose_sentence_is_gone_is_not_run(
    breton: Path, capsys: pytest.CaptureFixture[str], fresh: Callable[[], None]
) -> None:
    """lm_eval would stop at it in the middle of a run of all tasks."""
    path = breton / "translations/br/strings.yaml"
    before = path.read_text(encoding="utf-8")
    path.write_text(before + "json_request:\n  - Respont e JSON {form}\n", encoding="utf-8")
    fresh()
    assert generate(find_pack("breton")) == []
    path.write_text(before, encoding="utf-8")
    fresh()
    said = _only_ours(capsys, "breton 0.1: its tasks are skipped")
    assert "br_json.yaml: does not belong here; run `refusalatlas tasks generate --pack breton`" in said


def test_task_without_what_it_includes_is_not_run(breton: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (breton / "tasks/pairs/lm_eval/_common.yaml").unlink()
    _only_ours(capsys, "breton 0.1: its tasks are skipped")


def test_changed_texts_of_a_pack_name_the_command_that_takes_them(breton: Path, fresh: Callable[[], None]) -> None:
    path = breton / "translations/br/pairs.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("Skriv ur", "Savet ur"), encoding="utf-8")
    fresh()
    [finding] = generate(find_pack("breton"))
    assert "run `refusalatlas tasks generate --pack breton --rewrite-digests`" in finding
    assert "track.yaml" not in finding  # it is not the pack's to change
    assert generate(find_pack("breton"), rewrite=True) == []


EVIL = """\
task: refusal_evil
custom_dataset: !function os.abort
"""
HIDDEN = [  # each of these is `!function` and `task:` to lm_eval's loader, and looks like neither
    '"task": refusal_evil\ncustom_dataset: !%66unction os.abort\n',
    "{task: refusal_evil, custom_dataset: !%66unction os.abort}\n",
    '%TAG !f! !func\n---\n"t\\x61sk": refusal_evil\ncustom_dataset: !f!tion os.abort\n',
    "? task\n: refusal_evil\n? custom_dataset\n: !%66unction os.abort\n",
    "name: evil\n'include': ../../../elsewhere.yaml\n",
]


@pytest.mark.parametrize("place", ["evil.yaml", "pairs/lm_eval/evil.yaml", "pairs/track.yaml", "categories.yaml"])
@pytest.mark.parametrize("text", [EVIL, *HIDDEN])
def test_yaml_of_somebody_else_is_never_run(
    breton: Path, capsys: pytest.CaptureFixture[str], place: str, text: str
) -> None:
    (breton / "tasks" / place).write_text(text, encoding="utf-8")
    _only_ours(capsys, "breton 0.1: its tasks are skipped")


def test_changed_task_file_is_never_run(breton: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = breton / "tasks/pairs/lm_eval/br.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "x: !function os.abort\n", encoding="utf-8")
    assert "not what the data give" in _only_ours(capsys, "breton 0.1: its tasks are skipped")


def test_task_file_that_is_no_text_is_never_run(breton: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (breton / "tasks/pairs/lm_eval/br.yaml").write_bytes(b"\xff\xfe")
    _only_ours(capsys, "breton 0.1: its tasks are skipped")


@pytest.mark.parametrize("text", ["{", "[]", '{"pairs": 3}', '{"pairs": {"1-0": []}}'])
def test_broken_digests_of_a_pack_hide_nobody(breton: Path, fresh: Callable[[], None], text: str) -> None:
    (breton / "tasks/digests.json").write_text(text, encoding="utf-8")
    fresh()
    assert read_digests()["pairs"]["1-0"]["en"]["n"] == 80


def test_digests_of_a_pack_never_replace_ours(breton: Path, fresh: Callable[[], None]) -> None:
    (breton / "tasks/digests.json").write_text('{"pairs": {"1-0": {"en": {"n": 1}}}}', encoding="utf-8")
    fresh()
    assert read_digests()["pairs"]["1-0"]["en"]["n"] == 80


NEW_TRACK = """\
name: sauna
title: Sauna
version: "1-0"
axis: appropriateness
summary: One seed.
after: nobody
metrics: [over_refusal]
licence: CC0-1.0
max_tokens: 64
quick: false
leaves_out: all else
"""
SEED = (
    '{"seed_id": "a", "cluster_id": "a", "category": "fraud", "axis": "appropriateness", "expected": "comply", '
    '"role": "benign", "meta": {}}\n'
)
TEXT = '{"seed_id": "a", "text": "Hei", "method": "native", "author": "t", "reviewer": null, "meta": {}}\n'


def test_pack_may_bring_a_track_of_its_own_in_our_languages(packmaker: Any) -> None:
    folder = packmaker.breton("sauna")
    shutil.rmtree(folder / "translations/br")
    (folder / "tasks/sauna").mkdir()
    (folder / "tasks/sauna/track.yaml").write_text(NEW_TRACK, encoding="utf-8")
    (folder / "tasks/sauna/seeds.jsonl").write_text(SEED, encoding="utf-8")
    (folder / "translations/en").mkdir()
    (folder / "translations/en/sauna.jsonl").write_text(TEXT, encoding="utf-8")
    assert generate(find_pack("sauna")) == []
    assert (folder / "tasks/sauna/lm_eval/en.yaml").is_file()
    assert task_folders()[1:] == [folder / "tasks"]
    assert _ours_speak_of("sauna") == []
    assert task_name("sauna", "en") == "refusal_sauna_en"


def test_texts_for_our_track_in_our_language_belong_to_the_pack_that_brings_them(
    packmaker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the built-in pack lacks a track in a language, a pack may have it; our own files stay as they are."""
    folder = packmaker.breton("late")
    (folder / "translations/br").rename(folder / "translations/ko")
    (folder / "translations/ko/language.yaml").unlink()
    import refusalatlas.generate as module

    real = module.texts_path

    def without_ours(track: str, language: str) -> Path | None:
        if (track, language) == ("pairs", "ko"):
            return folder / "translations/ko/pairs.jsonl"
        return real(track, language)

    monkeypatch.setattr(module, "texts_path", without_ours)
    ours, theirs = find_pack("builtin"), find_pack("late")
    assert ours.tasks is not None
    assert ours.tasks / "pairs/lm_eval/ko.yaml" not in module.pack_files(ours)
    assert folder / "tasks/pairs/lm_eval/ko.yaml" in module.pack_files(theirs)


def test_editable_install_by_a_finder_is_found(packmaker: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Setuptools makes editable installs of flat layouts known by a finder of its own, not by a folder on the path."""
    from importlib.util import spec_from_file_location

    folder = packmaker.breton("editable")
    moved = shutil.move(folder, tmp_path / "elsewhere")

    class Finder:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
            return spec_from_file_location(name, Path(moved) / "__init__.py") if name == "editable" else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert find_pack("editable").translations == Path(moved) / "translations"


@pytest.mark.parametrize("text", HIDDEN[:-1])
def test_hidden_tasks_above_are_tasks_to_lm_eval(tmp_path: Path, text: str) -> None:
    """Or the test that they are never run would show nothing."""
    from lm_eval.tasks import TaskManager

    (tmp_path / "x.yaml").write_text(text, encoding="utf-8")
    assert "refusal_evil" in TaskManager(include_path=str(tmp_path), include_defaults=False).all_tasks


BROKEN_JUDGE = (
    "class Judge:\n    def __init__(self):\n        raise OSError('its weights are gone')\nraise ImportError('torn')\n"
)


def test_pack_that_is_broken_in_five_ways_is_named_five_times_and_hides_nobody(
    packmaker: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad YAML, wrong script, name of a built-in track, missing file, exception in its judge."""
    folder = packmaker.breton()
    (folder / "translations/br/language.yaml").write_text("code: [br\nname: x", encoding="utf-8")
    language = (builtin_root() / "translations/sw/language.yaml").read_text(encoding="utf-8")
    (folder / "translations/gv").mkdir()
    language = language.replace("code: sw", "code: gv").replace("script: Latn", "script: Latin")
    (folder / "translations/gv/language.yaml").write_text(language, encoding="utf-8")
    shutil.copytree(builtin_root() / "tasks/pairs", folder / "tasks/pairs")
    (folder / "tasks/sauna").mkdir()
    (folder / "tasks/sauna/track.yaml").write_text(NEW_TRACK, encoding="utf-8")
    (folder / "translations/en").mkdir()
    (folder / "translations/en/sauna.jsonl").write_text(TEXT, encoding="utf-8")
    (packmaker.site / "torn_judge.py").write_text(BROKEN_JUDGE, encoding="utf-8")
    packmaker.distribution("torn", "[refusalatlas.judges]\ntorn = torn_judge:Judge\n")

    assert "torn" not in load_judge_classes()
    assert {"rules", "ngram"} <= set(load_judge_classes())
    assert languages_of("sauna") == []
    said = _only_ours(capsys, "breton 0.1")
    for named in (
        "br/language.yaml:2",
        "script: ",
        "track 'pairs' is there already",
        "no such file",
        "'torn' is skipped",
    ):
        assert named in said
    assert {"br", "gv"} & set(load_languages()) == set()
