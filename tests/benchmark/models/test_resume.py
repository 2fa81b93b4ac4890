"""Runs lm_eval itself, kills it, and starts it again; and sees what reaches the server and the files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

N = 60

RUN = """
import json, sys
from refusalatlas.models import register
register()
from lm_eval.evaluator import simple_evaluate
from lm_eval.tasks import TaskManager
url, cache, template = sys.argv[1], sys.argv[2], sys.argv[3] == "1"
results = simple_evaluate(
    model="refusalatlas-chat",
    model_args=f"model=m,base_url={url},num_concurrent=4,max_retries=0",
    tasks=["tiny"],
    use_cache=cache,
    apply_chat_template=template,
    system_instruction="Be brief." if template else None,
    bootstrap_iters=0,
    task_manager=TaskManager(include_path=".", include_defaults=False),
)
answers = [answer for sample in results["samples"]["tiny"] for answer in sample["resps"][0]]
print("RESULT " + json.dumps([[answer, answer.condition] for answer in answers]))
"""

TASK = """
task: tiny
custom_dataset: !function tinydata.load
test_split: test
output_type: generate_until
doc_to_text: prompt
doc_to_target: ""
num_fewshot: 0
repeats: REPEATS
generation_kwargs: {until: [], max_gen_toks: 16, do_sample: false, temperature: 0.0}
filter_list:
  - name: all
    filter:
      - function: take_first_k
        k: REPEATS
process_results: !function tinydata.results
metric_list:
  - {metric: seen, aggregation: mean, higher_is_better: true}
"""

DATA = f"""
import datasets

def load(**_):
    return {{"test": datasets.Dataset.from_list([{{"prompt": f"q{{n}}"}} for n in range({N})])}}

def results(doc, answers):
    return {{"seen": 1.0}}
"""


class Run:
    """A run of lm_eval in a process of its own."""

    def __init__(self, folder: Path, url: str, repeats: int = 1, template: bool = False) -> None:
        (folder / "tiny.yaml").write_text(TASK.replace("REPEATS", str(repeats)))
        (folder / "tinydata.py").write_text(DATA)
        paths = [str(folder), *(p for p in sys.path if p)]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, url, str(folder / "cache"), str(int(template))],
            cwd=folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def result(self) -> list[tuple[str, str | None]]:
        out, err = self.process.communicate(timeout=600)
        lines = [line for line in out.splitlines() if line.startswith("RESULT ")]
        assert lines, err[-3000:]
        return [tuple(pair) for pair in json.loads(lines[0].removeprefix("RESULT "))]


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_run_that_was_killed_asks_again_only_for_what_is_missing(tmp_path: Path, server: Any, says: Any) -> None:
    slow = says()
    slow.delay = 0.02
    server.answer = lambda *_: slow
    first = Run(tmp_path, server.url)
    wait_for(lambda: len(server.bodies) >= 25)
    first.kill()
    asked = Counter(server.prompts())
    server.answer = lambda *_: says()
    answers = Run(tmp_path, server.url).result()
    again = Counter(server.prompts())
    again.subtract(asked)
    assert len(answers) == N
    assert set(again) == {f"q{n}" for n in range(N)}
    twice = [prompt for prompt in asked if again[prompt]]
    assert len(twice) <= 8  # at most those that were in flight, and those whose answer had just been sent
    assert all(again[f"q{n}"] == 1 for n in range(N) if f"q{n}" not in asked)


def test_a_second_start_asks_again_for_what_failed_and_nothing_else(
    tmp_path: Path, server: Any, says: Any, reply: Any
) -> None:
    failing = {f"q{n}" for n in range(0, N, 7)}
    server.answer = lambda body, _: reply(status=500) if body["messages"][-1]["content"] in failing else says()
    first = Run(tmp_path, server.url).result()
    assert Counter(condition for _, condition in first) == {None: N - len(failing), "error": len(failing)}
    before = len(server.bodies)
    server.answer = lambda *_: says()
    second = Run(tmp_path, server.url).result()
    assert {condition for _, condition in second} == {None}
    assert set(server.prompts()[before:]) == failing
    assert len(server.bodies) == before + len(failing)


def test_repeats_reach_the_samples_with_seeds_of_their_own(tmp_path: Path, server: Any, says: Any) -> None:
    server.answer = lambda body, _: says(f"{body['messages'][-1]['content']} {body['seed']}")
    answers = Run(tmp_path, server.url, repeats=2, template=True).result()
    assert answers == [(f"q{n} {seed}", None) for n in range(N) for seed in (1234, 1235)]
    assert server.bodies[0]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert Run(tmp_path, server.url, repeats=2, template=True).result() == answers
    assert len(server.bodies) == 2 * N


def test_the_cache_of_another_model_ends_the_second_start(tmp_path: Path, server: Any) -> None:
    Run(tmp_path, server.url).result()
    other = Run(tmp_path, server.url + "/other")
    _, err = other.process.communicate(timeout=600)
    assert other.process.returncode == 1
    assert "use another --use_cache path" in err.splitlines()[-1]
    assert len(server.bodies) == N
