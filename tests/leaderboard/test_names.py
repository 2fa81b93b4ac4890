"""Names of models and submitters: none that shows nothing, passes for another or leads elsewhere; all real ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refusalatlas.leaderboard.naming import blank, name_complaint
from refusalatlas.leaderboard.verify import verify_paths

from refusalatlas.cli import main

MISLEADING = {
    "\u2800\u2800": "shows nothing",
    "acme\u3164/m": "shows nothing",
    "\u115f\u1160": "shows nothing",
    "acme\uffa0": "shows nothing",
    "acme/m\ufe00": "shows nothing",
    "a" + "\u0301" * 3: "more marks",
    "ก" + "\u0e47" * 20: "more marks",
    "Мeta/llama": "mixes letters",
    "meta/llаma": "mixes letters",
    "ｍeta/llama": "passes for",
    "𝐦eta/llama": "passes for",
    "../../etc": "looks like a path",
    "a/../b": "looks like a path",
    "/etc/passwd": "looks like a path",
    "~/model": "looks like a path",
    "a\\b": "looks like a path",
    "acme\u2215m": "looks like a path",
    " acme/m": "a space",
    "acme/m ": "a space",
    "--": "neither letter nor digit",
}
REAL = (
    "meta-llama/Llama-3.1-8B", "Đặng Thị Huyền", "ميتا/لاما", "通义千问（测试）", "Мета/Лама", "Ελληνικά", "서울대학교",
    "ภาษาไทยที่นี่", "हिन्दी मॉडल", "བོད་སྐད་བསྒྲུབས", "ქართული", "עִבְרִית", "mistral/Codestral-22B-v0.1", "O'Brien & Søn",
    "Llama™ 4", "ভাষা", "tiiuae/falcon-7b (fine-tuned)", "Ọmọ Yorùbá", "ẹ̀kọ́",
)  # fmt: skip


@pytest.mark.parametrize("name", MISLEADING)
def test_misleading_name_is_told(name: str) -> None:
    assert MISLEADING[name] in (name_complaint(name) or "")


@pytest.mark.parametrize("name", REAL)
def test_real_name_is_fine(name: str) -> None:
    assert name_complaint(name) is None


def test_text_that_shows_nothing_is_blank() -> None:
    assert blank(" \u3164 ")
    assert not blank(" a ")


@pytest.mark.parametrize("field", ["model", "submitter"])
def test_misleading_name_is_found(submission: Path, change_run: Callable[..., Path], field: str) -> None:
    def rename(facts: dict[str, Any]) -> None:
        facts.update({"model": {"name": "Мeta/llama"}} if field == "model" else {"submitter": "Мeta"})

    change_run(rename)
    text = json.dumps([str(finding) for finding in verify_paths([submission]).findings], ensure_ascii=False)
    assert "mixes letters of scripts that look alike in 'Мeta'" in text


@pytest.mark.parametrize("option", ["--model-name", "--submitter"])
def test_misleading_name_is_not_submitted(
    run: Path, tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "elsewhere"
    with pytest.raises(SystemExit) as left:
        main(["submit", str(run), "--output", str(output), option, "../up"])
    assert left.value.code == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "looks like a path" in line
    assert not output.exists()
