from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from refusalatlas.judges.examples import Example, is_sealed, load_examples, read_labelled
from refusalatlas.judges.features import BUCKETS, hashed, scores, softmax, zones
from refusalatlas.judges.fitting import Settings, fit_temperature, fit_threshold
from refusalatlas.judges.ngram import NgramJudge, load_ngram, verdict
from refusalatlas.judges.normalise import view
from refusalatlas.judges.tables import RulesFile, make_table, shrink
from refusalatlas.judges.training import count_patterns, fold_number, gather, npz, train

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.files import dumps
from refusalatlas.records import LABELS, Exchange

QUICK = Settings(iterations=8)
ANSWERS = [
    ("I'm sorry, but I can't help with {}.", "full_refusal"),
    ("Sure. For {} you need flour, water and an hour.", "compliant"),
]


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    topics = ["bread", "soup", "cake", "rice", "beans", "pasta", "salad", "stew", "pie", "jam", "tea", "juice"]
    rows = [
        {
            "id": f"en-{topic}-{label}",
            "language": "en",
            "prompt": f"About {topic}",
            "response": text.format(topic),
            "label": label,
        }
        for topic in topics
        for text, label in ANSWERS
    ]
    (folder / "en.jsonl").write_text("".join(dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def weights(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    train(folder, examples=examples, settings=QUICK)
    return folder


def test_training_twice_gives_the_same_bytes(examples: Path, weights: Path, tmp_path: Path) -> None:
    train(tmp_path, examples=examples, settings=QUICK)
    for name in ("ngram.npz", "ngram.json", "rules.json"):
        assert (tmp_path / name).read_bytes() == (weights / name).read_bytes()


def test_a_trained_judge_knows_what_it_was_taught(weights: Path) -> None:
    judge = NgramJudge(str(weights))
    found = judge.judge(
        [Exchange("1", "", ANSWERS[0][0].format("bread"), "en"), Exchange("2", "", ANSWERS[1][0].format("pie"), "en")]
    )
    assert [v.label for v in found] == ["full_refusal", "compliant"]


def test_the_sealed_third_is_not_trained_on(examples: Path) -> None:
    ids = {example.id for example in gather(folder=examples).own}
    assert ids
    assert not any(is_sealed(example_id) for example_id in ids)


def test_minos_is_not_trained_on() -> None:
    texts = {example.response for example in gather().rows}
    assert "Sorry, but I can't help with that." not in {e.response for e in gather().strings}
    assert not any("The town office can tell you how to apply" in text for text in texts)


def test_about_a_third_is_sealed() -> None:
    assert 0.3 < np.mean([is_sealed(f"xx-{n:03d}") for n in range(3000)]) < 0.37


def test_the_sealed_and_the_open_examples_are_all_of_them() -> None:
    everything = {example.id for example in load_examples(sealed=None)}
    opened, sealed = ({e.id for e in load_examples(sealed=flag)} for flag in (False, True))
    assert opened | sealed == everything
    assert not opened & sealed


def test_nothing_to_train_on_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no labelled examples"):
        gather(folder=tmp_path)


def test_answers_to_one_prompt_share_a_fold() -> None:
    assert fold_number("How?") == fold_number(" How?\n")


@pytest.mark.parametrize(
    "row", [{"id": "a"}, {"id": "a", "language": "en", "prompt": "", "response": "", "label": "maybe"}]
)
def test_a_broken_example_is_named_by_line(tmp_path: Path, row: dict[str, str]) -> None:
    (tmp_path / "en.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"en\.jsonl:1"):
        load_examples(tmp_path, sealed=None)


def test_rows_from_elsewhere_with_other_labels_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "extra.jsonl"
    rows = [
        {"prompt": "p", "response": "r", "language": "zh", "label": label, "source": "s"}
        for label in ("other", "evasion")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = list(read_labelled([path]))
    assert [(e.label, e.language, e.origin) for e in found] == [("evasion", "zh-Hans", "s")]


def test_an_array_file_depends_on_nothing_but_its_arrays() -> None:
    assert npz(a=np.arange(3)) == npz(a=np.arange(3))


def test_weights_that_are_not_there_are_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match="judges train"):
        load_ngram(tmp_path)


def test_weights_that_were_tampered_with_are_refused(weights: Path, tmp_path: Path) -> None:
    for name in ("ngram.npz", "ngram.json"):
        (tmp_path / name).write_bytes((weights / name).read_bytes())
    (tmp_path / "ngram.npz").write_bytes((weights / "ngram.npz").read_bytes() + b"\0")
    with pytest.raises(DataError, match=r"ngram\.npz"):
        load_ngram(tmp_path)


def test_the_hash_is_the_same_in_another_process() -> None:
    code = (
        "from refusalatlas.judges.features import hashed; r, b = hashed([('I can', 'ɗaya 가', '', 'x')]); "
        "print(int(b.sum()), len(b))"
    )
    rows, buckets = hashed([("I can", "ɗaya 가", "", "x")])
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert out == [str(int(buckets.sum())), str(len(buckets))]
    assert len(rows) == len(buckets)


def test_an_answer_is_scored_alike_alone_and_among_others() -> None:
    rng = np.random.default_rng(0)
    weights, bias = rng.normal(size=(BUCKETS, 6)).astype(np.float32), np.zeros(6, dtype=np.float32)
    parts = [zones(view(text)) for text in ("No.", "", "Sure, here it is: flour.\n- water", "가나다")]
    together = scores(parts, weights, bias)
    for row, part in zip(together, parts, strict=True):
        assert np.allclose(scores([part], weights, bias)[0], row)


def test_the_side_is_decided_before_the_label() -> None:
    row = np.array([0.3, 0.0, 0.4, 0.0, 0.0, 0.3])
    found = verdict("ngram", "1", row, 0.5)
    assert found.label in ("full_refusal", "evasion")
    assert found.confidence == pytest.approx(0.6)


def test_under_the_threshold_the_judge_abstains() -> None:
    row = np.array([0.45, 0.0, 0.55, 0.0, 0.0, 0.0])
    assert (verdict("ngram", "1", row, 0.6).label, verdict("ngram", "1", row, 0.6).confidence) == (None, 0.0)


def test_overconfident_scores_are_cooled() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 6, 600)
    logits = rng.normal(size=(600, 6)) * 3
    logits[np.arange(600), y] += 2.0
    assert fit_temperature(logits, y, np.ones(600)) > 1.5


def test_the_threshold_rises_until_the_precision_is_reached() -> None:
    y = np.array([LABELS.index("full_refusal"), LABELS.index("compliant")] * 100)
    sure = np.where(np.arange(200) < 100, 0.55, 0.85)
    refused = np.where((y == 0) | (np.arange(200) < 100), sure, 1 - sure)
    shares = np.zeros((200, 6))
    shares[:, 0], shares[:, 2] = refused, 1 - refused
    assert 0.55 < fit_threshold(shares, y, np.ones(200), 0.95) <= 0.85


def test_counts_are_shrunk_towards_the_level_above() -> None:
    flat = {label: 1 / 6 for label in LABELS}
    shares = shrink({"compliant": 6.0}, flat, 6.0)
    assert shares["compliant"] == pytest.approx(0.5 + 1 / 12)
    assert sum(shares.values()) == pytest.approx(1.0)


def test_a_pattern_that_misled_is_believed_less() -> None:
    before = make_table(RulesFile()).shares("refuses", "refuses/short", "en")["full_refusal"]
    counts = RulesFile(patterns={"refuses": {"compliant": 20}}, leaves={"refuses/short": {"compliant": 20}})
    assert make_table(counts).shares("refuses", "refuses/short", "en")["full_refusal"] < before / 2


def test_patterns_are_counted_by_language() -> None:
    example = Example(
        id="x",
        language="en",
        prompt="",
        response="I'm sorry, but I can't help with that.",
        label="full_refusal",
        origin="machine",
    )
    counts = count_patterns([example])
    assert counts.languages["en"]["refuses_twice/short"]["full_refusal"] > 0


def test_softmax_of_huge_scores_is_finite() -> None:
    assert np.isfinite(softmax(np.array([[1e9, -1e9]]))).all()
