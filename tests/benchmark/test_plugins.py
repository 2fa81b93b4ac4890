from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from refusalatlas.errors import AtlasError, UnknownNameError
from refusalatlas.plugins import load_all, load_judge_classes, load_service, plugins


def _module(packmaker: Any, name: str, source: str) -> None:
    (packmaker.site / f"{name}.py").write_text(source, encoding="utf-8")


GOOD = "class Judge:\n    name = 'good'\n"


def test_ours_are_there_and_first(packmaker: Any) -> None:
    packmaker.distribution("aaa", "[refusalatlas.judges]\nzebra = aaa:Judge\n")
    names = [plugin.name for plugin in plugins("judges")]
    assert {"rules", "ngram"} <= set(names)
    assert names[-1] == "zebra"


def test_third_party_judge_is_loaded_by_the_same_door(packmaker: Any) -> None:
    packmaker.distribution("goodjudge", "[refusalatlas.judges]\ngood = goodjudge:Judge\n")
    _module(packmaker, "goodjudge", GOOD)
    assert load_judge_classes()["good"].name == "good"


@pytest.mark.parametrize(
    "source", ["raise RuntimeError('boom')", "import not_installed_at_all", "def Judge(:", "x = 1"]
)
def test_broken_judge_is_named_and_never_hides_the_others(
    packmaker: Any, capsys: pytest.CaptureFixture[str], source: str
) -> None:
    packmaker.distribution("badjudge", "[refusalatlas.judges]\nbad = badjudge:Judge\n")
    packmaker.distribution("goodjudge", "[refusalatlas.judges]\ngood = goodjudge:Judge\n")
    _module(packmaker, "badjudge", source)
    _module(packmaker, "goodjudge", GOOD)
    found = load_judge_classes()
    assert "bad" not in found
    assert {"good", "rules", "ngram"} <= set(found)
    said = capsys.readouterr().err
    assert said.startswith("refusalatlas: plug-in badjudge 0.1: judge 'bad' is skipped")
    assert said.count("\n") == 1


def test_what_is_wrong_is_said_once_a_process(packmaker: Any, capsys: pytest.CaptureFixture[str]) -> None:
    packmaker.distribution("badjudge", "[refusalatlas.judges]\nbad = badjudge:Judge\n")
    load_judge_classes()
    load_judge_classes()
    assert capsys.readouterr().err.count("badjudge") == 2  # its name, and the module that is missing
    assert capsys.readouterr().err == ""


def test_built_in_cannot_be_replaced(packmaker: Any, capsys: pytest.CaptureFixture[str]) -> None:
    packmaker.distribution("aaa", "[refusalatlas.judges]\nrules = aaa:Judge\n")
    _module(packmaker, "aaa", GOOD)
    assert load_judge_classes()["rules"].__module__ == "refusalatlas.judges.rules"
    assert "refusalatlas has that name already" in capsys.readouterr().err


def test_of_two_strangers_with_one_name_the_first_by_distribution_stays(
    packmaker: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("bbb", "aaa"):
        packmaker.distribution(name, f"[refusalatlas.judges]\nsame = {name}:Judge\n")
    assert [p.distribution for p in plugins("judges") if p.name == "same"] == ["aaa"]
    assert "plug-in bbb 0.1" in capsys.readouterr().err


def test_installation_without_metadata_hides_nobody(packmaker: Any) -> None:
    packmaker.distribution("torn", "[refusalatlas.judges]\ntorn = torn:Judge\n", metadata=False)
    packmaker.distribution("goodjudge", "[refusalatlas.judges]\ngood = goodjudge:Judge\n")
    assert {"rules", "good"} <= {plugin.name for plugin in plugins("judges")}


def test_plugins_can_be_turned_off_but_not_ours(packmaker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    packmaker.distribution("goodjudge", "[refusalatlas.judges]\ngood = goodjudge:Judge\n")
    _module(packmaker, "goodjudge", GOOD)
    monkeypatch.setenv("REFUSALATLAS_PLUGINS", "0")
    found = load_judge_classes()
    assert "good" not in found
    assert "rules" in found


def test_fault_of_our_own_is_not_hidden(monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], None]) -> None:
    import refusalatlas.plugins as module

    entry = module.EntryPoint("x", "refusalatlas.not_there:x", "refusalatlas.judges")
    monkeypatch.setattr(module, "plugins", lambda group: [module.Plugin("x", entry.value, "refusalatlas", "0", entry)])
    with pytest.raises(ImportError):
        load_all("judges")


def test_unknown_service_is_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean load_panel"):
        load_service("load_panels")


def test_installation_without_entry_points_says_how_to_mend_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refusalatlas.plugins.entry_points", lambda group: ())
    with pytest.raises(AtlasError, match="pip install"):
        load_service("load_panel")
