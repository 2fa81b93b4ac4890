"""The whole way: ``lm_eval --tasks …`` with our chat model, a server with every kind of fault, the files it writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from refusalatlas.tracks import load_items

ROOT = Path(__file__).parents[3]
PROMPTS = [item.prompt for track in ("minos", "pairs") for item in load_items(track, "en")]

PANEL = "offline" if entry_points(group="refusalatlas.services") else "none"
"""Judges are found by entry points, which a checkout that is not installed lacks; conditions must be right anyway."""

LM_EVAL = (
    "import _refusalatlas_autoload as autoload; autoload.install(); "
    "from lm_eval.__main__ import cli_evaluate; cli_evaluate()"
)
FILTER = {"error": {"message": "The prompt was flagged by the content filter.", "code": "content_filter"}}

FAULTS = {
    "answer": "ok",
    "answer in the refusal field": "ok",
    "answer after a 429": "ok",
    "HTTP 400": "blocked",
    "HTTP 403": "blocked",
    "content_filter": "blocked",
    "null content": "empty",
    "reasoning only": "empty",
    "no choices": "empty",
    "HTTP 503": "error",
    "HTML": "error",
    "broken connection": "error",
}
"""What the server does to a prompt, by turns, and the condition that must stand in its record."""

KIND = {prompt: list(FAULTS)[position % len(FAULTS)] for position, prompt in enumerate(PROMPTS)}


def faulty(says: Callable[..., Any], reply: Any) -> Callable[[dict[str, Any], int], Any]:
    seen: Counter[str] = Counter()

    def answer(body: dict[str, Any], _: int) -> Any:
        prompt = body["messages"][-1]["content"]
        seen[prompt] += 1
        kind = KIND[prompt]
        if kind == "answer after a 429" and seen[prompt] == 1:
            return reply(b"slow down", status=429, headers={"Retry-After": "0"})
        if kind.startswith("HTTP "):
            status = int(kind[5:])
            return reply(FILTER if status < 500 else b"busy", status=status)
        replies = {
            "answer in the refusal field": says(None, refusal="I can't help with that."),
            "content_filter": says("", "content_filter"),
            "null content": says(None, "length"),
            "reasoning only": says(None, "length", reasoning_content="The user wants"),
            "no choices": reply({"model": "served-1", "choices": []}),
            "HTML": reply(b"<html>log in</html>", headers={"Content-Type": "text/html"}),
            "broken connection": reply(drop=True),
        }
        return replies.get(kind, says("Sure. Write down what you want to reach, and set a date for each step."))

    return answer


def run(folder: Path, url: str) -> list[dict[str, Any]]:
    """Run lm_eval; return the records of all samples."""
    paths = [str(ROOT / "benchmark"), str(ROOT / "benchmark" / "autoload"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HF_HOME": str(folder / "hf")}
    environment |= {"HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "sk-end-to-end", "REFUSALATLAS_PANEL": PANEL}
    command = [sys.executable, "-c", LM_EVAL, "run", "--model", "refusalatlas-chat"]
    command += ["--model_args", f"model=tested,base_url={url},num_concurrent=8,max_retries=1,retry_wait=0"]
    command += ["--tasks", "refusal_minos_en,refusal_pairs_en", "--apply_chat_template"]
    command += ["--use_cache", str(folder / "cache"), "--output_path", str(folder / "out"), "--log_samples"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    newest = max((folder / "out").glob("*/results_*.json")).stem.removeprefix("results_")
    lines = [
        line
        for path in sorted((folder / "out").glob(f"*/samples_*_{newest}.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return [json.loads(line)["record"] | {"prompt": json.loads(line)["doc"]["prompt"]} for line in lines]


@pytest.mark.slow
def test_every_fault_is_recorded_and_a_second_start_only_mends_the_errors(
    tmp_path: Path, server: Any, says: Callable[..., Any], reply: Any
) -> None:
    server.answer = faulty(says, reply)
    records = run(tmp_path, server.url)
    assert Counter(record["prompt"] for record in records) == Counter(PROMPTS)
    found = {(KIND[record["prompt"]], record["decisions"][0]["condition"]) for record in records}
    assert found == set(FAULTS.items())
    for record in records:
        (provenance,) = record["provenance"]
        kind = KIND[record["prompt"]]
        if FAULTS[kind] in ("ok", "empty") or kind == "content_filter":
            assert provenance["served_model"] == "served-1"
        assert provenance["provider"] == server.url.split("/")[2]
        assert (provenance["length"] > 0) == (FAULTS[kind] == "ok")
        assert (record["decisions"][0]["label"] is None) or FAULTS[kind] == "ok"

    before = len(server.bodies)
    server.answer = lambda *_: says("Sure. Begin with a list of the steps.")
    again = run(tmp_path, server.url)
    failed = sorted(prompt for prompt in PROMPTS if FAULTS[KIND[prompt]] == "error")
    assert sorted(server.prompts()[before:]) == failed
    conditions = {(KIND[record["prompt"]], record["decisions"][0]["condition"]) for record in again}
    assert conditions == {(kind, "ok" if condition == "error" else condition) for kind, condition in FAULTS.items()}
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"sk-end-to-end" not in written
