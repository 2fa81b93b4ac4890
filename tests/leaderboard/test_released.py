"""Released panels: a closed list, one command that adds to it, and gates that stay as they were."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from refusalatlas.judges.gate import read_panel
from refusalatlas.leaderboard import default_submissions, released
from refusalatlas.leaderboard.schema import PanelId
from refusalatlas.leaderboard.storage import RUN_FILE, run_folders

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.plugins import load_service

DAY = datetime.date(2026, 12, 1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty list of released panels in place of ours."""
    monkeypatch.setattr(released, "FOLDER", tmp_path / "panels")
    monkeypatch.setenv("REFUSALATLAS_PLUGINS", "0")
    return tmp_path / "panels"


def test_present_panel_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = load_service("load_panel")("offline")
    present = PanelId(name="offline", sha256=panel.sha256)
    assert released.is_released(present), "the panel has changed: `make panel` adds the present one, then commit it"


def test_panels_of_all_committed_submissions_are_released() -> None:
    folders = run_folders(default_submissions())
    assert folders
    for run in folders:
        facts = json.loads((run / RUN_FILE).read_text(encoding="utf-8"))
        assert released.complaint(PanelId(**facts["panel"])) is None, run


def test_every_released_panel_has_its_gate_and_stands_there_once() -> None:
    known = released.released_panels()
    assert len({(one.name, one.sha256) for one in known}) == len(known)
    for one in known:
        panel = read_panel(one.name, released.gate_folder(PanelId(name=one.name, sha256=one.sha256)))
        assert panel.judges


def test_file_of_the_present_panel_is_kept_as_it_is(folder: Path) -> None:
    new = released.add("offline", DAY, folder)
    assert new is not None
    kept = read_panel("offline", released.gate_folder(PanelId(name="offline", sha256=new.sha256)))
    assert kept == read_panel("offline")
    assert released.is_released(PanelId(name="offline", sha256=new.sha256))
    assert not released.is_released(PanelId(name="minos", sha256=new.sha256))


def test_adding_twice_changes_nothing(folder: Path) -> None:
    assert released.add("offline", DAY, folder) is not None
    before = (folder / released.LIST).read_bytes()
    assert released.add("offline", datetime.date(2027, 1, 1), folder) is None
    assert (folder / released.LIST).read_bytes() == before


def test_plug_ins_may_not_be_part_of_a_released_panel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFUSALATLAS_PLUGINS")
    with pytest.raises(AtlasError, match="REFUSALATLAS_PLUGINS=0"):
        released.add("offline", DAY, folder)
    assert not folder.exists()


def test_command_says_what_it_did(folder: Path) -> None:
    unknown = CliRunner().invoke(released.main, ["homemade"])
    assert unknown.exit_code == 1
    assert "homemade" in unknown.output
    assert not folder.exists()


def test_broken_list_is_one_line(folder: Path) -> None:
    folder.mkdir()
    (folder / released.LIST).write_text('[{"name": "offline"}]')
    with pytest.raises(DataError, match=r"released\.json: 0\.sha256: Field required"):
        released.released_panels(folder)


def test_labels_follow_from_the_gate_of_their_own_release(folder: Path) -> None:
    """A panel that moves on does not turn the labels of older submissions into lies."""
    votes = [{"judge": "rules", "version": "1", "label": "compliant", "confidence": 0.97}]
    gate = load_service("gate")
    new = released.add("offline", DAY, folder)
    assert new is not None
    older = released.gate_folder(PanelId(name="offline", sha256="a" * 64))
    older.mkdir()
    text = (released.gate_folder(PanelId(name="offline", sha256=new.sha256)) / "offline.yaml").read_text()
    (older / "offline.yaml").write_text(text.replace("single_family: 0.95", "single_family: 1.0"))
    assert gate("offline", votes).label == "compliant"
    assert gate("offline", votes, folder=older).label is None
