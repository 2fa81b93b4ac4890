"""How fast `refusalatlas-chat` asks, against lm_eval's own chat model on the same server and prompts.

The server runs in a process of its own, and takes as long for every answer: what differs is what the clients add.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lm_eval")

from lm_eval.api.instance import Instance
from lm_eval.models.api_models import JsonChatStr
from lm_eval.models.openai_completions import LocalChatCompletion

from refusalatlas.models.chat import RefusalChat
from refusalatlas.tracks import load_items

sys.path.insert(0, str(Path(__file__).parent))
from serving import serving

pytestmark = pytest.mark.speed

CONCURRENT, DELAY, REQUESTS, TIMES = 64, 0.2, 1280, 3
TEXT = "Sure. Write down what you want to reach, and set a date for each step. " * 8

_CONTENT = f"""
async def content(body):
    await asyncio.sleep({DELAY})
    return {TEXT!r} + body["messages"][-1]["content"]
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server that takes `DELAY` seconds for every answer, however many it is asked for at a time."""
    with serving(_CONTENT) as address:
        yield address


def requests() -> list[Any]:
    """Return lm_eval's requests for prompts of ours, all of them different."""
    prompts = [item.prompt for language in ("en", "sw", "hi") for item in load_items("pairs", language)]
    found = []
    for number in range(REQUESTS):
        turns = [{"role": "user", "content": f"{prompts[number % len(prompts)]} ({number})"}]
        settings = {"until": [], "max_gen_toks": 512, "do_sample": False, "temperature": 0.0}
        arguments = (JsonChatStr(json.dumps(turns)), settings)
        found.append(Instance("generate_until", {}, arguments, number, ("speed", number, 1)))
    return found


def seconds(model: Any) -> float:
    """Return how long a model takes for all requests, whose answers must be there and in order."""
    asked = requests()
    start = time.perf_counter()
    answers = model.generate_until(asked, disable_tqdm=True)
    took = time.perf_counter() - start
    assert [str(text)[len(TEXT) :] for text in answers] == [json.loads(r.args[0].prompt)[0]["content"] for r in asked]
    return took


def test_our_chat_model_asks_as_fast_as_that_of_lm_eval(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 64 requests at a time, at least nine tenths of its throughput."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    common = {"model": "m", "num_concurrent": CONCURRENT, "max_retries": 3}
    ours, theirs = [], []
    for _ in range(TIMES):  # in turn, so that a busy moment falls on both
        theirs.append(seconds(LocalChatCompletion(base_url=f"{url}/chat/completions", **common)))
        ours.append(seconds(RefusalChat(base_url=url, **common)))
    least, ratio = REQUESTS * DELAY / CONCURRENT, min(theirs) / min(ours)
    print(  # noqa: T201
        f"\n{REQUESTS} requests, {CONCURRENT} at a time, {least:.1f} s at least: lm_eval {min(theirs):.1f} s, "
        f"refusalatlas-chat {min(ours):.1f} s, {ratio:.2f} times its throughput"
    )
    assert ratio >= 0.9
