"""How the site grows with its submissions: 52 languages, models that do not exist. `make bench` prints the figures."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "leaderboard"))

FEW, MANY = 5, 20


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Submissions folders of a few and of four times as many models."""
    import crowd

    from refusalatlas.languages import load_languages

    work = tmp_path_factory.mktemp("boards")
    languages = tuple(sorted(load_languages()))
    return {n: crowd.write_board(work / str(n) / "submissions", work / f"run-{n}", n, languages) for n in (FEW, MANY)}


def gathering(board: Path, folder: Path) -> float:
    """Return the CPU seconds of all that is done for each submission: reading, scoring, pages of its records."""
    import functools

    from refusalatlas.leaderboard.site.gather import gather
    from refusalatlas.leaderboard.site.runs import write_pages

    start = time.process_time()
    gather(board, visit=functools.partial(write_pages, folder))
    return time.process_time() - start


def rendering(board: Path) -> float:
    """Return the CPU seconds of the pages of models and languages, without comparisons: those have a fixed number."""
    from refusalatlas.leaderboard.site import build
    from refusalatlas.leaderboard.site.gather import gather

    atlas = gather(board)
    start = time.process_time()
    made = 0
    for entry in atlas.entries:
        made += sum(len(data) for _, data in build._model_page(entry, []))
    for code in atlas.languages:
        made += sum(len(data) for _, data in build._language_page(atlas, code))
    assert made > 0
    return time.process_time() - start


@pytest.mark.speed
def test_four_times_the_submissions_cost_less_than_six_times_the_time(boards: dict[int, Path], tmp_path: Path) -> None:
    gathering(boards[FEW], tmp_path / "warm")
    few, many = (gathering(boards[n], tmp_path / str(n)) for n in (FEW, MANY))
    print(f"\n{FEW} submissions x 52 languages: {few:.1f} CPU s, {MANY}: {many:.1f} s, ratio {many / few:.1f}")  # noqa: T201
    assert many / few < 6


@pytest.mark.speed
def test_pages_of_four_times_the_models_cost_less_than_six_times_the_time(boards: dict[int, Path]) -> None:
    few, many = (rendering(boards[n]) for n in (FEW, MANY))
    print(f"\npages of {FEW} models: {few:.1f} CPU s, of {MANY}: {many:.1f} s, ratio {many / few:.1f}")  # noqa: T201
    assert many / few < 6


BUILD = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from peak import peak_mb
from refusalatlas.leaderboard.site.build import build_site
built = build_site(Path(sys.argv[1]), Path(sys.argv[2]), workers=2, strict=True)
own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
seconds = sum(used.ru_utime + used.ru_stime for used in (own, children))
print(built.files, round(seconds, 1), peak_mb(), children.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 2**20)
"""


@pytest.mark.slow
def test_two_hundred_models_in_fifty_two_languages(tmp_path: Path) -> None:
    """All of it fits in a gigabyte and the overview in 1.5 MB; every model has its page."""
    import crowd

    from refusalatlas.languages import load_languages

    board = crowd.write_board(tmp_path / "submissions", tmp_path / "run", 200, tuple(sorted(load_languages())))
    command = [sys.executable, "-c", BUILD, str(board), str(tmp_path / "site"), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    files, seconds, own, largest_child = done.stdout.split()
    page = (tmp_path / "site" / "index.html").stat().st_size
    memory = float(own) + 2 * float(largest_child)
    print(f"\n{files} files in {seconds} CPU s, {memory:.0f} MiB at most, overview {page / 1e6:.2f} MB")  # noqa: T201
    assert len(list((tmp_path / "site" / "models").glob("*.html"))) == 200
    assert page < 1_500_000
    assert memory < 1024
