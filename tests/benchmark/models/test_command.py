"""A stand-in for an assistant on the command line: a real script, run as a real process, that does what it is told."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lm_eval.api.model import CachingLM

from refusalatlas.errors import AtlasError
from refusalatlas.models.command import RefusalCommand
from refusalatlas.models.command_settings import MINIMAL_SYSTEM, PRESETS
from refusalatlas.records import Answer

GREEDY = {"until": [], "max_gen_toks": 32, "do_sample": False}

STAND_IN = r"""
import json, os, sys, time
if len(sys.argv) > 1 and "--prompt" in sys.argv[1]:
    prompt = sys.argv[1].partition("=")[2]
else:
    prompt = sys.stdin.buffer.read().decode()
what, _, rest = prompt.partition(" ")
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps([prompt, sys.argv[1:], os.getcwd(), os.listdir("."), os.getpid()]) + "\n")
out = sys.stdout.buffer
if what == "say": out.write(rest.encode())
elif what == "hang": time.sleep(600)
elif what in ("hang-child", "leave-child"):  # a child that holds the pipes
    child = os.fork()
    if child == 0 or what == "hang-child":
        if child:
            with open(os.environ["CALLS"] + ".child", "w") as note: note.write(str(child))
        time.sleep(600)
    with open(os.environ["CALLS"] + ".child", "w") as note: note.write(str(child))
    out.write(b"Done.")
elif what == "meet":  # answers how many run at this moment, once so many have come together
    here = os.environ["CALLS"] + ".here"
    os.makedirs(here, exist_ok=True)
    open(os.path.join(here, str(os.getpid())), "w").close()
    while len(os.listdir(here)) < int(rest): time.sleep(0.01)
    out.write(str(len(os.listdir(here))).encode())
elif what == "fail":
    sys.stderr.write("Traceback\n  cannot reach the model " + rest); sys.exit(1)
elif what == "code": sys.stderr.write("policy"); sys.exit(int(rest))
elif what == "once":
    if not os.path.exists(os.environ["CALLS"] + ".once"):
        open(os.environ["CALLS"] + ".once", "w").close(); sys.exit(75)
    out.write(b"At last.")
elif what == "nothing": sys.stderr.write("no credit")
elif what == "bytes": out.write(b"caf\xe9 \xff\xfe ok")
elif what == "colours": out.write(b"\x1b[1;31mSure\x1b[0m, \x1b]8;;http://h\x07here\x1b]8;;\x07.\n")
elif what == "megabyte":
    sys.stderr.write("e" * 1_000_000); out.write(b"x" * 1_000_000); sys.stderr.write("e" * 1_000_000)
elif what == "endless":
    while True: out.write(b"y" * 65536)
elif what == "killed": os.kill(os.getpid(), 11)
elif what == "key": out.write(os.environ["OPENAI_API_KEY"].encode())
elif what == "key-error": sys.exit("wrong key " + os.environ["OPENAI_API_KEY"] + ", see sk-abcdefghijklmnopqrstuv")
else: out.write(prompt.encode())
"""


def asks(*prompts: Any) -> list[Any]:
    return [SimpleNamespace(args=(prompt, dict(GREEDY))) for prompt in prompts]


class StandIn:
    """The command, and what its calls have seen."""

    def __init__(self, folder: Path) -> None:
        self.script = folder / "stand-in.py"
        self.script.write_text(STAND_IN)
        self.log = folder / "calls.jsonl"

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-I", "-S", str(self.script)]

    def calls(self) -> list[Any]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def child(self) -> int:
        return int(Path(f"{self.log}.child").read_text())

    def model(self, **arguments: Any) -> RefusalCommand:
        given = {"model": "tool-1", "command": self.command, "max_retries": 0, "retry_wait": 0.01, "timeout": 60}
        return RefusalCommand(**{**given, **arguments})


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path)
    monkeypatch.setenv("CALLS", str(made.log))
    return made


def one(model: RefusalCommand, prompt: str) -> Answer:
    (answer,) = model.generate_until(asks(prompt))
    return answer


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has buried yet has."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


# --- what is asked ---


def test_answers_come_in_the_order_of_the_requests(tool: StandIn) -> None:
    prompts = ["say Ça va", "say नमस्ते", "say 3"]
    answers = tool.model(num_concurrent=3).generate_until(asks(*prompts))
    assert answers == ["Ça va", "नमस्ते", "3"]
    assert {(a.condition, a.provider, a.served_model) for a in answers} == {(None, Path(sys.executable).name, None)}


def test_the_prompt_goes_to_standard_input_or_into_an_argument_and_never_through_a_shell(tool: StandIn) -> None:
    prompt = "$(touch x); `id` \"a\" 'b' {system} \\ | cat\nsecond line"
    assert one(tool.model(), prompt) == prompt
    assert one(tool.model(command=[*tool.command, "--prompt={prompt}", "-s", "{system}"]), prompt) == prompt
    (_, first, *_), (_, second, *_) = tool.calls()
    assert first == []
    assert second == [f"--prompt={prompt}", "-s", MINIMAL_SYSTEM]


def test_a_command_in_one_text_is_split_as_a_shell_would(tool: StandIn) -> None:
    model = tool.model(command=f"{sys.executable} -I -S '{tool.script}' --quiet ''", arguments="--model big")
    assert one(model, "say yes") == "yes"
    assert tool.calls()[0][1] == ["--quiet", "", "--model", "big"]


def test_each_call_runs_in_an_empty_folder_of_its_own_that_is_removed(tool: StandIn) -> None:
    tool.model().generate_until(asks("say a", "say b"))
    folders = [folder for _, _, folder, _, _ in tool.calls()]
    assert [held for _, _, _, held, _ in tool.calls()] == [[], []]
    assert len(set(folders)) == 2
    assert not any(Path(folder).exists() for folder in folders)


def test_the_system_prompt_of_the_run_replaces_the_minimal_one(tool: StandIn) -> None:
    model = tool.model(command=[*tool.command, "{system}"])
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "say a"}]
    assert one(model, model.apply_chat_template(turns)) == "a"
    assert tool.calls()[0][1] == ["Be brief."]


@pytest.mark.parametrize(
    ("turns", "what"),
    [
        (["system", "user"], "no place for the run's system prompt"),
        (["user", "assistant", "user"], "one turn"),
        (["user", "assistant"], "one turn"),
    ],
)
def test_what_cannot_be_passed_on_is_said_before_anything_is_asked(
    tool: StandIn, turns: Sequence[str], what: str
) -> None:
    model = tool.model()
    odd = model.apply_chat_template([{"role": role, "content": "say x"} for role in turns])
    with pytest.raises(AtlasError, match=what):
        model.generate_until(asks("say a", odd))
    assert tool.calls() == []


def test_pictures_are_refused(tool: StandIn) -> None:
    with pytest.raises(AtlasError, match="one turn of text"):
        tool.model().generate_until([SimpleNamespace(args=("say a", GREEDY, {"visual": [object()]}))])


def test_a_prompt_never_becomes_an_option(tool: StandIn) -> None:
    answer = one(tool.model(command=[*tool.command, "{prompt}"]), "--dangerous")
    assert (answer.condition, tool.calls()) == ("error", [])
    assert "put -- before {prompt}" in str(answer.detail)
    assert one(tool.model(command=[*tool.command, "--", "{prompt}"]), "--dangerous") == ""
    assert tool.calls()[0][1] == ["--", "--dangerous"]


def test_as_many_run_at_a_time_as_was_asked_for(tool: StandIn) -> None:
    model = tool.model(num_concurrent=3)
    assert model.generate_until(asks(*["meet 3"] * 3)) == ["3", "3", "3"]
    (late,) = tool.model(num_concurrent=3, timeout=3).generate_until(asks("meet 5"))
    assert late.condition == "error"


def test_stop_sequences_are_cut_here(tool: StandIn) -> None:
    (answer,) = tool.model().generate_until(
        [SimpleNamespace(args=("say Sure.END of it", {**GREEDY, "until": ["END"]}))]
    )
    assert answer == "Sure."


# --- what comes back ---


def test_a_failed_command_is_an_error_that_says_why(tool: StandIn) -> None:
    answer = one(tool.model(max_retries=2), "fail today")
    assert (answer, answer.condition) == ("", "error")
    assert answer.detail == "exit code 1: Traceback cannot reach the model today (3 attempts)"
    assert len(tool.calls()) == 3


def test_a_failure_that_passes_leaves_no_trace(tool: StandIn) -> None:
    answer = one(tool.model(max_retries=1), "once")
    assert (answer, answer.condition, answer.detail) == ("At last.", None, None)


def test_a_command_that_hangs_is_killed_in_time(tool: StandIn) -> None:
    started = time.monotonic()
    answer = one(tool.model(timeout=5), "hang")
    assert (answer.condition, answer.detail) == ("error", "no answer within 5 s")
    assert time.monotonic() - started < 60
    assert gone(tool.calls()[0][4])


@pytest.mark.parametrize(("prompt", "text"), [("hang-child", ""), ("leave-child", "Done.")])
def test_the_children_of_a_command_end_with_it(tool: StandIn, prompt: str, text: str) -> None:
    answer = one(tool.model(timeout=60 if text else 8), prompt)
    assert (answer, answer.condition) == (text, None if text else "error")
    assert gone(tool.child())


def test_nothing_printed_is_an_empty_answer(tool: StandIn) -> None:
    answer = one(tool.model(), "nothing")
    assert (answer.condition, answer.detail) == ("empty", "nothing was printed; no credit")


def test_bytes_that_are_no_utf8_are_replaced(tool: StandIn) -> None:
    answer = one(tool.model(), "bytes")
    assert (answer, answer.condition) == ("caf� �� ok", None)


def test_colours_and_links_are_no_part_of_an_answer(tool: StandIn) -> None:
    assert one(tool.model(), "colours") == "Sure, here."


def test_a_megabyte_comes_whole_however_much_stands_on_stderr(tool: StandIn) -> None:
    answer = one(tool.model(), "megabyte")
    assert (len(answer), answer.condition, answer.finish_reason) == (1_000_000, None, None)


def test_an_output_without_end_is_cut_off_and_said_to_be(tool: StandIn) -> None:
    answer = one(tool.model(max_output=200_000), "endless")
    assert (len(answer), answer.finish_reason, answer.condition) == (200_000, "length", None)
    assert gone(tool.calls()[0][4])


def test_an_output_beyond_the_limit_counts_as_cut_off_even_where_it_has_ended(tool: StandIn) -> None:
    answer = one(tool.model(max_output=5), "say 123456789")
    assert (answer, answer.finish_reason) == ("12345", "length")


def test_a_signal_is_named(tool: StandIn) -> None:
    assert one(tool.model(), "killed").detail == "killed by SIGSEGV"


@pytest.mark.parametrize(
    ("prompt", "arguments", "condition"),
    [
        ("code 3", {"blocked_codes": [3]}, "blocked"),
        ("code 4", {"blocked_codes": 3}, "error"),
        ("code 1", {"blocked_text": "policy"}, "blocked"),
        ("say policy: not this", {"blocked_text": ["policy"]}, "blocked"),
        ("say A policy is a rule.", {"blocked_text": ["policy"]}, None),
    ],
)
def test_a_filter_is_told_by_code_or_text(
    tool: StandIn, prompt: str, arguments: dict[str, Any], condition: str | None
) -> None:
    assert one(tool.model(**arguments), prompt).condition == condition


JSON: list[tuple[Any, str, str | None]] = [
    ({"result": "Sure.", "is_error": False}, "Sure.", None),
    ({"result": "", "is_error": False}, "", "empty"),
    ({"result": None}, "", "empty"),
    ({"result": "API Error: Rate limit reached", "is_error": True}, "", "error"),
    ({"result": "API Error: this appears to violate our Usage Policy", "is_error": True}, "", "blocked"),
    (["odd"], "", "error"),
]


@pytest.mark.parametrize(("row", "text", "condition"), JSON)
def test_json_tells_an_error_from_an_answer(tool: StandIn, row: Any, text: str, condition: str | None) -> None:
    preset = {key: value for key, value in PRESETS["claude-code"].items() if key != "command"}
    answer = one(tool.model(**preset), f"say {json.dumps(row)}")
    assert (answer, answer.condition) == (text, condition)


def test_what_is_no_json_is_an_error(tool: StandIn) -> None:
    answer = one(tool.model(answer_field="result"), "say Sure.")
    assert (answer.condition, answer.detail) == ("error", "its output is no JSON object: Sure.")


# --- when a run ends early ---


def test_a_command_that_only_fails_ends_the_run_in_one_line(tool: StandIn) -> None:
    with pytest.raises(AtlasError, match=r"10 calls and no answer.*exit code 1.*by hand") as caught:
        tool.model(num_concurrent=1).generate_until(asks(*(f"fail {n}" for n in range(40))))
    assert "\n" not in str(caught.value)
    assert len(tool.calls()) <= 12


def test_one_answer_is_enough_to_go_on(tool: StandIn) -> None:
    answers = tool.model(num_concurrent=1).generate_until(asks("say a", *(f"fail {n}" for n in range(12))))
    assert [a.condition for a in answers] == [None] + ["error"] * 12


def test_commands_do_not_outlive_a_run_that_is_interrupted(tool: StandIn) -> None:
    code = (
        "import signal, sys, json; from types import SimpleNamespace\n"
        "from refusalatlas.models.command import RefusalCommand\n"
        # A shell that starts the tests in the background leaves SIGINT ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "model = RefusalCommand(model='m', command=json.loads(sys.argv[1]), timeout=600)\n"
        "model.generate_until([SimpleNamespace(args=('hang-child', {'until': []}))])"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code, json.dumps(tool.command)], stderr=subprocess.PIPE, env={**os.environ}
    )
    deadline = time.monotonic() + 120
    while not Path(f"{tool.log}.child").exists() or not Path(f"{tool.log}.child").read_text():
        assert time.monotonic() < deadline
        assert run.poll() is None, run.stderr.read() if run.stderr else ""
        time.sleep(0.05)
    run.send_signal(2)  # Ctrl-C
    _, err = run.communicate(timeout=60)
    assert b"KeyboardInterrupt" in err
    assert gone(tool.calls()[0][4])
    assert gone(tool.child())


# --- cache ---


def test_a_second_start_asks_only_for_what_is_missing_or_failed(tool: StandIn, tmp_path: Path) -> None:
    def start(**arguments: Any) -> Any:
        return CachingLM(tool.model(**arguments), str(tmp_path / "cache.db"))

    first = start().generate_until(asks("say a", "once", "nothing"))
    assert [a.condition for a in first] == [None, "error", "empty"]
    second = start(timeout=9, num_concurrent=1).generate_until(asks("say a", "once", "nothing", "say b"))
    assert second == ["a", "At last.", "", "b"]
    assert [call[0] for call in tool.calls()[3:]] == ["once", "say b"]
    for other in ({"model": "tool-2"}, {"arguments": "--model big"}, {"system": "Be rude."}):
        with pytest.raises(AtlasError, match="use another --use_cache path"):
            start(**other)


# --- secrets ---


def test_a_key_from_the_environment_reaches_the_command_and_no_record(
    tool: StandIn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cr3t-value")
    with caplog.at_level(logging.DEBUG):
        cached = CachingLM(tool.model(), str(tmp_path / "cache.db"))
        said, failed = cached.generate_until(asks("key", "key-error"))
    assert said == "[hidden]"
    assert failed.detail == "exit code 1: wrong key [hidden], see [hidden]"
    assert "s3cr3t" not in caplog.text
    assert b"s3cr3t" not in (tmp_path / "cache.db").read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        {"api_key": "s3cr3t"},
        {"command": [sys.executable, "--api-key", "s3cr3t"]},
        {"command": f"{sys.executable} --auth-token=s3cr3t"},
        {"command": [sys.executable, "-H", "Authorization: Bearer s3cr3ts3cr3t"]},
        {"arguments": "--opaque=s3cr3t-value"},
        {"system": "Your key is sk-abcdefghijklmnops3cr3t"},
    ],
)
def test_a_key_in_the_command_is_refused_and_not_repeated(
    tool: StandIn, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any]
) -> None:
    monkeypatch.setenv("TOOL_SECRET", "s3cr3t-value")
    with pytest.raises(AtlasError, match="written into the results") as caught:
        tool.model(**arguments)
    assert "s3cr3t" not in str(caught.value)


# --- settings ---


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"command": "no-such-tool-anywhere"}, "no such command"),
        ({"command": ""}, "command: "),
        ({"command": "tool 'open"}, "command: "),
        ({"preset": "claude"}, "did you mean claude-code"),
        ({"commnd": "x"}, "did you mean command"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_a_wrong_argument_is_one_clear_line(tool: StandIn, arguments: dict[str, Any], what: str) -> None:
    with pytest.raises(AtlasError, match=what) as caught:
        tool.model(**arguments)
    assert "\n" not in str(caught.value)


def test_a_script_by_a_path_from_here_is_refused(tool: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tool.script.parent)
    with pytest.raises(AtlasError, match="path in full"):
        tool.model(command=f"{sys.executable} stand-in.py")


def test_a_command_that_vanishes_ends_the_run(tool: StandIn, tmp_path: Path) -> None:
    link = tmp_path / "tool"
    link.symlink_to(sys.executable)
    model = tool.model(command=[str(link), str(tool.script)])
    link.unlink()
    with pytest.raises(AtlasError, match="cannot be started"):
        model.generate_until(asks("say a"))


def test_the_preset_takes_tools_away_and_the_long_instructions_too(
    tool: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = tmp_path / "bin" / "claude"
    claude.parent.mkdir()
    claude.write_text(f"#!{sys.executable} -IS\n" + STAND_IN)
    claude.chmod(0o755)
    monkeypatch.setenv("PATH", str(claude.parent), prepend=os.pathsep)
    model = RefusalCommand(model="claude", preset="claude-code", arguments="--model sonnet")
    assert one(model, 'say {"result": "Sure.", "is_error": false}') == "Sure."
    ((_, given, *_),) = tool.calls()
    assert given[given.index("--tools") + 1] == ""
    assert given[given.index("--system-prompt") + 1] == MINIMAL_SYSTEM
    assert given[-2:] == ["--model", "sonnet"]


def test_threads_do_not_pile_up(tool: StandIn) -> None:
    before = threading.active_count()
    tool.model(num_concurrent=2).generate_until(asks(*(f"say {n}" for n in range(6))))
    assert threading.active_count() <= before


def test_a_run_of_lm_eval_records_what_became_of_each_call(
    tool: StandIn, evaluate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from refusalatlas.runs import load_run

    monkeypatch.setenv("REFUSALATLAS_PANEL", "none")
    monkeypatch.setenv("TOOL_API_KEY", "s3cr3t-value")
    command = [*tool.command, "--name", "{system}"]
    arguments = {"model": "tool-1", "command": command, "num_concurrent": 2}
    evaluate("refusalatlas-command", ["refusal_minos_en"], tmp_path / "out", model_args=arguments)
    run = load_run(tmp_path / "out")
    assert len(run.records) == len(tool.calls()) == 10
    assert {record.decisions[0].condition for record in run.records} == {"ok"}
    assert {record.provenance[0].provider for record in run.records} == {Path(sys.executable).name}
    for record in run.records:  # the stand-in repeats what it is told
        assert list(run.responses[record.id]) == [run.prompts[record.id].strip()]
    (results,) = (tmp_path / "out").rglob("results_*.json")
    assert json.loads(results.read_text())["config"]["model_args"]["command"] == command
    written = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert b"s3cr3t" not in written


def test_a_mark_of_byte_order_is_no_part_of_the_answer(tool: StandIn) -> None:
    assert one(tool.model(), "say \ufeffSure.") == "Sure."
