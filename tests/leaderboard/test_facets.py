"""What the list of models can be narrowed down by."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic
from refusalatlas.leaderboard.site.facets import LOCAL, REMOTE, UNNAMED, facets_of, options, size_of
from refusalatlas.leaderboard.site.gather import Entry, gather
from refusalatlas.leaderboard.submission import submit_run


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("org/llama-3.2-1B-Instruct", "< 4 B"),
        ("org/smol-135m", "< 4 B"),
        ("org/model-4b", "4–15 B"),
        ("org/model_8b_chat", "4–15 B"),
        ("org/mixtral-8x7b", "15–80 B"),
        ("org/model-80b", "≥ 80 B"),
        ("org/model-405B", "≥ 80 B"),
        ("70b-lab/model", UNNAMED),
        ("org/gpt4b2", UNNAMED),
        ("org/large", UNNAMED),
    ],
)
def test_size_is_what_the_name_says(name: str, size: str) -> None:
    assert size_of(name) == size


def entry(folder: Path, **options: str) -> Entry:
    submit_run(synthetic.write_run(folder / "run", **options), folder / "submissions")  # type: ignore[arg-type]
    (found,) = gather(folder / "submissions").entries
    return found


@pytest.mark.parametrize(("backend", "access"), [("hf", LOCAL), ("vllm", LOCAL), ("refusalatlas-chat", REMOTE)])
def test_backend_tells_weights_from_an_interface(tmp_path: Path, backend: str, access: str) -> None:
    assert facets_of(entry(tmp_path, backend=backend, model="some/model"))["access"] == access


def test_organisation_is_the_first_half_of_the_name(tmp_path: Path) -> None:
    assert facets_of(entry(tmp_path / "a", model="some/model"))["org"] == "some"
    assert facets_of(entry(tmp_path / "b", model="model"))["org"] == "—"


def test_options_go_from_small_to_large() -> None:
    rows = [{"size": size} for size in ("≥ 80 B", UNNAMED, "4–15 B", "< 4 B", "4–15 B")]
    assert options(rows, "size") == ["< 4 B", "4–15 B", "≥ 80 B", UNNAMED]
    assert options([{"org": "b"}, {"org": "a"}, {}], "org") == ["a", "b"]
