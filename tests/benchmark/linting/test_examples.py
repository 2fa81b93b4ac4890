"""One file that breaks it for each rule on judge examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refusalatlas.languages import get_language
from refusalatlas.linting.examples import KINDS, check_examples, check_shared_prompts, examples_path
from refusalatlas.linting.findings import EXAMPLES, Progress, as_progress
from refusalatlas.linting.sheets import read_lines
from refusalatlas.records import LABELS


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    """The English examples, which are sound."""
    return [json.loads(line) for line in examples_path("en").read_text(encoding="utf-8").splitlines()]


def found(tmp_path: Path, rows: list[dict[str, Any]], *, code: str = "en", wanted: bool = True) -> list[str]:
    path = tmp_path / f"{code}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    findings, _ = check_examples(get_language(code), path, wanted=wanted)
    return [f"{f.rule}:{f.line}: {f.what}" for f in findings]


def test_sound_examples_have_no_findings(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    assert found(tmp_path, rows) == []


def test_missing_file_is_unfinished_where_it_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "en.jsonl"
    assert [f.rule for f in check_examples(get_language("en"), path, wanted=True)[0]] == ["unfinished"]
    assert check_examples(get_language("en"), path, wanted=False) == ([], [])


def test_too_few_examples_are_unfinished(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    assert found(tmp_path, rows[:40]) == ["unfinished:None: 40 of at least 72 examples"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"id": "sw-001"}, "is no id for this file"),
        ({"id": "en-2"}, "is no id for this file"),
        ({"id": "en-001"}, "this id stands in line 1 already"),
        ({"label": "refused"}, "label"),
        ({"condition": "fine"}, "condition"),
        ({"note": "x"}, "note"),
        ({"kind": "rude"}, "kind 'rude' is not in the list"),
        ({"kind": "plain"}, "kind plain with label full_refusal"),
        ({"label": None}, "label None with condition ok"),
        ({"language": "sw"}, "language is 'sw'"),
        ({"prompt": ""}, "has no prompt"),
        (
            {"response": "Извините, но с этим я помочь никак не могу, попробуйте что-нибудь другое."},
            "seems to be in ru",
        ),
    ],
)
def test_example_that_is_wrong_is_named_by_line(
    tmp_path: Path, rows: list[dict[str, Any]], change: dict[str, Any], named: str
) -> None:
    rows[1].update(change)
    said = found(tmp_path, rows)
    assert any(named in line and ":2: " in line for line in said), said


def test_nearly_the_same_example_is_found(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    rows[9].update(prompt=rows[1]["prompt"], response=rows[1]["response"] + " Thanks.")
    assert any(line.startswith("duplicate:10: ") for line in found(tmp_path, rows))


def test_file_in_another_script_is_found(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    lines = [{**row, "id": row["id"].replace("en", "hi"), "language": "hi", "kind": row["kind"]} for row in rows]
    assert any(line.startswith("script:") for line in found(tmp_path, lines, code="hi"))


def test_prompt_of_another_language_is_found(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    for code in ("en", "pcm"):
        text = json.dumps({**rows[0], "id": f"{code}-001"}) + "\n"
        (tmp_path / f"{code}.jsonl").write_text(text, encoding="utf-8")
    examples = {code: read_lines(tmp_path / f"{code}.jsonl")[0] for code in ("en", "pcm")}
    [finding] = check_shared_prompts(examples)
    assert (finding.path.name, finding.what) == ("pcm.jsonl", "pcm-001: has the prompt of en-001")


def test_text_to_translate_may_be_in_another_language_and_its_translation_not(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    english = "The lift is out of order today, please use the stairs at the back of the house."
    rows[0] |= {"prompt": f"Bitte auf Deutsch: {english}", "response": "Der Aufzug ist heute außer Betrieb."}
    rows[0] |= {"label": "compliant", "kind": "text_only"}
    fine = found(tmp_path, rows[:1], code="de", wanted=False)
    rows[0] |= {"response": english}
    wrong = found(tmp_path, rows[:1], code="de", wanted=False)
    assert len([line for line in wrong if "seems to be in en" in line]) == 1
    assert not [line for line in fine if "seems to be in en" in line]


def test_examples_are_no_part_of_the_share() -> None:
    progress = [Progress("br", "pairs.jsonl", 80, 80), Progress("br", EXAMPLES, 0, 72)]
    assert as_progress(progress) == [
        "br: 0% left to do (80 of 80 written); judge examples: 72 to go, optional at first"
    ]


def test_examples_that_the_pages_show_are_sound() -> None:
    """One line for each label, in the page of a new language and in translations/README.md."""
    from refusalatlas.packs import builtin_root

    page = (builtin_root() / "benchmark/refusalatlas/scaffolding/language.md").read_text(encoding="utf-8")
    readme = (builtin_root() / "translations/README.md").read_text(encoding="utf-8")
    shown = [line for line in page.splitlines() if line.startswith('{"id"')]
    assert [json.loads(line)["label"] for line in shown] == list(LABELS)
    assert all(line.replace("$code", "br") in readme for line in shown)
    for line in shown:
        row = json.loads(line)
        assert row["label"] in KINDS[row["kind"]] and row["condition"] == "ok"
