"""What a pull request may change: in real checkouts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import synthetic
from refusalatlas.leaderboard.against import changes
from refusalatlas.leaderboard.submission import submit_run
from refusalatlas.leaderboard.verify import verify_added

from refusalatlas.errors import AtlasError


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one submission on the branch `main`, and a branch beside it."""
    top = tmp_path / "checkout"
    submit_run(synthetic.write_run(tmp_path / "old"), top / "leaderboard" / "submissions")
    git(tmp_path, "init", "-q", "-b", "main", str(top))
    git(top, "add", ".")
    git(top, "commit", "-qm", "A run")
    git(top, "checkout", "-qb", "proposal")
    return top / "leaderboard" / "submissions"


def add_run(checkout: Path, tmp_path: Path, model: str = "new/model") -> Path:
    return submit_run(synthetic.write_run(tmp_path / model.replace("/", "-"), model=model), checkout)


def older(checkout: Path) -> Path:
    return next(checkout.glob("example__model-1/*"))


def found(checkout: Path, revision: str = "main") -> str:
    return "\n".join(map(str, verify_added(checkout, revision).findings))


def test_added_run_is_checked_and_clean(checkout: Path, tmp_path: Path) -> None:
    add_run(checkout, tmp_path)
    report = verify_added(checkout, "main")
    assert report.findings == ()
    assert report.runs == 1


def test_committed_run_counts_as_added_too(checkout: Path, tmp_path: Path) -> None:
    folder = add_run(checkout, tmp_path)
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "Another run")
    assert changes(checkout, "main").added == (folder,)


def test_nothing_added_is_nothing_checked(checkout: Path) -> None:
    assert verify_added(checkout, "main").runs == 0


def test_what_main_got_meanwhile_is_not_held_against_the_branch(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "checkout", "-q", "main")
    add_run(checkout, tmp_path, "later/model")
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "Meanwhile")
    git(checkout, "checkout", "-q", "proposal")
    assert verify_added(checkout, "main").findings == ()


def test_removed_run_of_somebody_else_is_found(checkout: Path) -> None:
    shutil.rmtree(older(checkout))
    assert "is removed, and belongs to somebody else" in found(checkout)


def test_replaced_run_of_somebody_else_is_found(checkout: Path) -> None:
    (older(checkout) / "run.json").write_text("{}")
    assert "is changed, and belongs to somebody else" in found(checkout)


def test_file_slipped_into_somebody_elses_run_is_found(checkout: Path) -> None:
    folder = older(checkout)
    (folder / "notes.txt").write_text("x")
    assert "is no part of a run" in found(checkout)


def test_link_beside_the_runs_is_found(checkout: Path, tmp_path: Path) -> None:
    (checkout / "outside").symlink_to(tmp_path)
    assert "outside: is no part of a run" in found(checkout)


def test_run_cannot_come_in_as_reproduced(checkout: Path, tmp_path: Path) -> None:
    synthetic.raise_tier(add_run(checkout, tmp_path), "reproduced")
    assert "comes in as reproduced" in found(checkout)


@pytest.mark.parametrize("revision", ["nowhere", "--output=/tmp/x", ""])
def test_revision_that_git_does_not_know_is_one_line(checkout: Path, revision: str) -> None:
    with pytest.raises(AtlasError, match="name a"):
        changes(checkout, revision)


def test_submissions_folder_that_is_a_link_is_refused(checkout: Path, tmp_path: Path) -> None:
    shutil.move(checkout, tmp_path / "elsewhere")
    checkout.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AtlasError, match="is a link"):
        changes(checkout, "main")
