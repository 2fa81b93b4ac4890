"""`refusalatlas lint` as people and machines call it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from refusalatlas.cli import cli
from refusalatlas.linting.findings import Finding, as_github


def lint(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["lint", *map(str, arguments)])


def test_our_own_texts_are_clean() -> None:
    done = lint()
    assert done.exit_code == 0, done.output


def test_findings_are_exit_code_3_and_name_file_line_and_remedy(copy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    copy.edit("pairs.jsonl", 3, reviewer="none")
    monkeypatch.chdir(copy.root)
    done = lint(copy.root)
    assert done.exit_code == 3
    assert done.stdout == (
        "translations/sw/pairs.jsonl:3: provenance: fraud-hospital-harmful: reviewer 'none' is nobody; "
        "write null until a person has read it\n"
    )


def test_language_that_is_named_gets_notes_and_shares(copy: Any) -> None:
    for number in range(1, 21):
        copy.edit("pairs.jsonl", number, text="")
    done = lint(copy.root, "--language", "sw")
    assert "sw: 7% left to do (282 of 302 written)\n  pairs.jsonl: 60 of 80\n" in done.stdout
    assert "note: lexicon: " in done.stdout


def test_json_holds_findings_and_progress(copy: Any) -> None:
    copy.edit("pairs.jsonl", 3, reviewer="none")
    found = json.loads(lint(copy.root, "--format", "json").stdout)
    [finding] = [row for row in found["findings"] if row["severity"] == "finding"]
    assert (finding["rule"], finding["line"]) == ("provenance", 3)
    assert {"language": "sw", "name": "minos.jsonl", "done": 10, "wanted": 10} in found["progress"]


def test_github_gets_one_command_a_finding(copy: Any) -> None:
    copy.edit("pairs.jsonl", 3, reviewer="none")
    [line] = lint(copy.root, "--format", "github").stdout.splitlines()
    assert line.startswith("::error file=")
    assert line.endswith("reviewer 'none' is nobody; write null until a person has read it")


def test_text_cannot_break_out_of_a_github_command() -> None:
    [line] = as_github([Finding("x", Path("/a,b:c"), 1, "50 %\n::error::owned", "mend")])
    assert line == "::error file=/a%2Cb%3Ac,line=1,title=x::50 %25%0A::error::owned; mend"


def test_folder_without_texts_is_one_line(tmp_path: Path) -> None:
    done = lint(tmp_path)
    assert done.exit_code == 1
    assert "holds neither translations/ nor tasks/" in str(done.exception)


def test_pack_that_others_installed_is_looked_at_too(packmaker: Any) -> None:
    packmaker.breton()
    done = lint("--language", "br")
    assert done.exit_code == 3
    assert "3 of 80" in done.stdout


def test_folder_above_the_data_is_looked_into(copy: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """`new-language --pack breton` puts the data into breton/refusalatlas_br."""
    copy.edit("pairs.jsonl", 3, reviewer="none")
    above = tmp_path_factory.mktemp("breton")
    shutil.copytree(copy.root, above / "refusalatlas_br")
    done = lint(above)
    assert done.exit_code == 3
    assert "pairs.jsonl:3: provenance" in done.stdout
    assert done.stderr.startswith("1 language, 1 finding\n")


def test_folder_below_the_data_is_told_which_to_name(copy: Any) -> None:
    assert f"name {copy.root}" in str(lint(copy.folder).exception)
