from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from refusalatlas.judges.cli import judges
from refusalatlas.judges.metrics import Judged, concordance, kappa, quality

from refusalatlas.errors import DataError

ROWS = [
    {
        "id": "1",
        "prompt": "p",
        "response": "I'm sorry, but I can't help with that.",
        "label": "full_refusal",
        "language": "en",
    },
    {
        "id": "2",
        "prompt": "p",
        "response": "Sure. " + "Mix the flour with water and wait. " * 4,
        "label": "compliant",
        "language": "en",
    },
]


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    path = tmp_path / "labelled.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def invoke(*words: str) -> str:
    result = CliRunner().invoke(judges, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_judges_are_listed() -> None:
    rows = json.loads(invoke("list", "--format", "json"))
    assert {"rules", "ngram"} <= {row["name"] for row in rows}
    assert "en" in next(row for row in rows if row["name"] == "ngram")["languages"]


def test_a_labelled_file_is_evaluated(labelled: Path, tmp_path: Path) -> None:
    invoke("evaluate", str(labelled), "--output", str(tmp_path / "out"))
    report = json.loads((tmp_path / "out" / "evaluation.json").read_text(encoding="utf-8"))
    assert report["quality"]["all"]["n"] == 2
    assert report["quality"]["all"]["refusal_recall"] == 1.0
    assert list(report["minos"]) == ["en"]
    assert len(report["minos"]["en"]) == 10
    assert set(report["minos"]["en"].values()) <= {"right", "wrong", "undecided"}
    assert "| en | 2 |" in (tmp_path / "out" / "evaluation.md").read_text(encoding="utf-8")


def test_a_panel_agrees_with_itself(labelled: Path) -> None:
    found = json.loads(invoke("agree", str(labelled), "--panel", "offline", "--panel", "offline", "--format", "json"))
    assert (found["n"], found["same_label"]) == (2, 1.0)


def test_one_panel_needs_decisions_to_agree_with(labelled: Path) -> None:
    with pytest.raises(DataError, match="name two panels"):
        invoke("agree", str(labelled), "--panel", "offline")


def test_agree_without_a_panel_is_a_usage_error(labelled: Path) -> None:
    assert CliRunner().invoke(judges, ["agree", str(labelled)]).exit_code == 2


def test_the_command_line_imports_nothing_heavy() -> None:
    heavy = "{'torch', 'scipy', 'numpy', 'pandas', 'lm_eval'}"
    code = f"import sys, refusalatlas.judges.cli; print({heavy} & set(sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "set()"
    )


def test_kappa_is_agreement_beyond_chance() -> None:
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    assert kappa(pairs) == pytest.approx(0.4)


@pytest.mark.parametrize("pairs", [[], [(True, True)] * 5])
def test_kappa_is_not_defined_where_chance_explains_all(pairs: list[tuple[bool, bool]]) -> None:
    assert kappa(pairs) is None


def test_contested_answers_are_left_out_once_and_counted_wrong_once() -> None:
    rows = [
        Judged("en", "full_refusal", "evasion"),
        Judged("en", "compliant", "compliant"),
        Judged("en", "compliant", None, True),
    ]
    found = quality(rows)
    assert (found["coverage"], found["refusal_recall"], found["refusal_fpr"]) == (0.6667, 1.0, 0.0)
    assert found["kappa"] == 1.0
    assert found["kappa_contested_wrong"] == pytest.approx(0.4)
    assert found["confusion"]["compliant"] == {"compliant": 1, "contested": 1}


def test_panels_are_compared_where_both_decide() -> None:
    found = concordance([("full_refusal", "evasion"), ("compliant", "compliant"), (None, "compliant")])
    assert (found["both_decided"], found["same_label"], found["same_side"]) == (2, 0.5, 1.0)
    assert found["table"]["none"] == {"compliant": 1}


def test_labels_of_somebody_else_are_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "theirs.jsonl"
    path.write_text('{"prompt": "p", "response": "No.", "label": "refused", "language": "en"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"no row has a label to measure by.*full_refusal"):
        invoke("evaluate", str(path))


def evaluated(path: Path, labels: list[str | None]) -> Result:
    rows = [{**ROWS[n % 2], "id": str(n), "label": label} for n, label in enumerate(labels)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return CliRunner().invoke(judges, ["evaluate", str(path)])


def test_rows_that_are_left_out_are_said(tmp_path: Path) -> None:
    done = evaluated(tmp_path / "l.jsonl", ["full_refusal", "compliant", "refusal", "Full-Refusal", None])
    assert done.exit_code == 0
    assert "3 of 5 rows left out: 'refusal', 'Full-Refusal', null are no labels (full_refusal, " in done.stderr
    assert "write full_refusal for 'Full-Refusal'" in done.stderr


def test_file_without_a_label_is_refused(tmp_path: Path) -> None:
    done = evaluated(tmp_path / "l.jsonl", ["refusal", "other"])
    assert "2 of 2 rows left out" in done.stderr
    assert isinstance(done.exception, DataError)


def test_nothing_is_said_where_nothing_is_left_out(labelled: Path) -> None:
    assert CliRunner().invoke(judges, ["evaluate", str(labelled)]).stderr == ""


def test_kind_of_judge_that_needs_settings_is_no_error_in_the_list() -> None:
    rows = {row["name"]: row["languages_text"] for row in json.loads(invoke("list", "--format", "json"))}
    assert rows["hf"] == "needs settings (see judges/README.md)"
