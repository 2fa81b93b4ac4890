"""Submissions with published sets: taken as they are, said to be so, and kept apart on the pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from click.testing import CliRunner
from refusalatlas.leaderboard.cli import verify as verify_command
from refusalatlas.leaderboard.site import views
from refusalatlas.leaderboard.site.build import build_site
from refusalatlas.leaderboard.site.gather import Place, gather
from refusalatlas.leaderboard.storage import RUN_FILE
from refusalatlas.leaderboard.submission import submit_run
from refusalatlas.leaderboard.verify import verify_paths

from refusalatlas.errors import AtlasError
from refusalatlas.tracks import Item, load_items

COMMIT = "ab" * 20
SOURCE = f"Paul/XSTest@{COMMIT}"
Submit = Callable[..., Path]


def _items() -> tuple[Item, ...]:
    """Our own smoke test in the dress of a published set: nobody needs the real one to try what becomes of it."""
    return tuple(
        replace(item, id=f"xstest/{item.seed_id}/en/base", track="xstest", version="1-0", category="homonyms")
        for item in load_items("minos", "en")
    )


@pytest.fixture
def submit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Submit:
    """Submit a run of `xstest` and `pairs` in English and return its folder."""

    def make(
        model: str = "example/model-1", items: Sequence[Item] | None = None, sources: Sequence[str] = (SOURCE,)
    ) -> Path:
        asked = items or _items()
        monkeypatch.setattr(
            synthetic, "load_items", lambda track, code: asked if track == "xstest" else load_items(track, code)
        )
        folder = synthetic.write_run(tmp_path / model, model=model, tracks=("xstest", "pairs"))
        turn = iter(range(10_000))

        def say_where(row: dict[str, Any]) -> dict[str, Any]:
            if row["record"]["track"] == "xstest" and any(sources):
                row["doc"]["source"] = sources[next(turn) % len(sources)]
            return row

        synthetic.rewrite(folder, say_where)
        return submit_run(folder, tmp_path / "submissions", submitter="Somebody")

    return make


def _facts(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    return facts


def _suite(folder: Path) -> dict[str, Any]:
    (suite,) = [suite for suite in _facts(folder)["suites"] if suite["track"] == "xstest"]
    return dict(suite)


def _change(folder: Path, track: str, **fields: Any) -> Path:
    facts = _facts(folder)
    for suite in facts["suites"]:
        if suite["track"] == track:
            suite.update(fields)
    (folder / RUN_FILE).write_text(json.dumps(facts), encoding="utf-8")
    return folder


def _found(*folders: Path) -> str:
    return "\n".join(map(str, verify_paths(folders).findings))


def test_submission_says_where_the_items_were_read_and_pins_them(submit: Submit) -> None:
    suite = _suite(submit())
    assert suite["external"] == {"repository": "Paul/XSTest", "revision": COMMIT}
    assert suite["n"] == len(_items())
    others = _suite(submit("example/model-2", [replace(item, prompt=f"{item.prompt}!") for item in _items()]))
    assert (others["ids"], others["texts"] == suite["texts"]) == (suite["ids"], False)


def test_verify_finds_nothing_and_says_what_it_could_not_verify(submit: Submit) -> None:
    report = verify_paths([submit()])
    assert report.findings == ()
    (note,) = report.notes
    assert note.endswith(f"xstest in en: external, items not verifiable offline ({SOURCE})")


def test_notes_stand_on_stderr_and_cost_no_exit_code(submit: Submit) -> None:
    folder = str(submit())
    done = CliRunner().invoke(verify_command, [folder])
    assert (done.exit_code, "items not verifiable offline" in done.stderr) == (0, True)
    assert "verifiable" not in done.stdout
    assert len(json.loads(CliRunner().invoke(verify_command, [folder, "--format", "json"]).stdout)["notes"]) == 1


def test_submission_of_our_own_tracks_has_no_notes(submission: Path) -> None:
    assert verify_paths([submission]).notes == ()


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ((SOURCE, "Paul/XSTest@" + "cd" * 20), "the items of xstest 1-0 in en were read from "),
        (("",), "were read from ''"),
    ],
)
def test_run_that_does_not_say_one_place_is_not_submitted(submit: Submit, sources: tuple[str, ...], said: str) -> None:
    with pytest.raises(AtlasError, match=said):
        submit(sources=sources)


def test_version_that_the_set_does_not_have_is_not_submitted(submit: Submit) -> None:
    with pytest.raises(AtlasError, match="xstest 0-9 in en is another version of the published set than 1-0"):
        submit(items=[replace(item, version="0-9") for item in _items()])


@pytest.mark.parametrize(
    ("track", "fields", "said"),
    [
        ("xstest", {"external": None}, "does not say where the items of xstest 1-0 in en were read"),
        ("xstest", {"external": {"repository": "some/other", "revision": COMMIT}}, "are from some/other"),
        ("xstest", {"ids": "0" * 64}, "the digests of xstest 1-0 in en are not those of its records"),
        ("xstest", {"n": 3}, "the digests of xstest 1-0 in en are not those of its records"),
        ("pairs", {"external": {"repository": "a/b", "revision": COMMIT}}, "is a published set, which it is not"),
        ("xstest", {"external": {"repository": "../..", "revision": COMMIT}}, "external.repository"),
    ],
)
def test_what_does_not_hold_of_a_published_set_is_found(
    submit: Submit, track: str, fields: dict[str, Any], said: str
) -> None:
    assert said in _found(_change(submit(), track, **fields))


def test_other_texts_from_the_same_commit_are_found(submit: Submit) -> None:
    first, same = submit(), submit("example/model-2")
    assert _found(first, same) == ""
    other = submit("example/model-3", [replace(item, prompt=f"{item.prompt}!") for item in _items()])
    assert "read other items of xstest in en than example__model-1/" in _found(first, same, other)


def test_label_that_the_votes_do_not_give_is_found_there_too(submit: Submit) -> None:
    folder = submit()
    facts = _facts(folder)
    for score in facts["scores"]:
        if score["track"] == "xstest" and score["metric"] == "refusal_rate":
            score["value"] = 0.123
    (folder / RUN_FILE).write_text(json.dumps(facts), encoding="utf-8")
    assert "scores do not follow from the records, first xstest" in _found(folder)


def test_pages_call_it_a_published_set(submit: Submit) -> None:
    atlas = gather(submit().parent.parent)
    titles = [row.cells["track"].text for row in views.language_table(atlas, "en").rows]  # type: ignore[union-attr]
    assert titles == ["Contrast pairs", "XSTest (published set)"]


def test_its_answers_are_not_among_those_of_our_own_tracks(submit: Submit) -> None:
    (entry,) = gather(submit().parent.parent).models
    ours = entry.outcomes[Place("pairs", "base", "en", "", "safety")]
    assert dict(views.axis_rows(views.model_text(entry, ""), entry.outcomes, "en")).popitem()[1] == dict(ours)


def test_run_page_says_where_the_items_were_read(submit: Submit, tmp_path: Path) -> None:
    folder = submit()
    build_site(folder.parent.parent, tmp_path / "site")
    page = (tmp_path / "site" / "runs" / folder.parent.name / f"{folder.name}.html").read_text(encoding="utf-8")
    assert f"Paul/XSTest@{COMMIT[:12]}" in page
