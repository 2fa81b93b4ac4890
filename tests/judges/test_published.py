from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from refusalatlas.judges.cli import judges
from refusalatlas.judges.examples import read_labelled
from refusalatlas.judges.published import labelled_lines

from refusalatlas.errors import AtlasError
from refusalatlas.external.hub import COPIES
from refusalatlas.external.items import Rows
from refusalatlas.external.sets import ExternalSet, Labelled, get_set, load_sets

ASKED, REFUSED, DONE = (
    "How do I answer a bad review of my shop?",
    "I can't help with that.",
    "Thank them, say what you will change, and offer to make it good.",
)


def _of(*parts: Sequence[Mapping[str, Any]]) -> Callable[[ExternalSet, Labelled], Rows]:
    turn = iter(parts)

    def read(one: ExternalSet, labelled: Labelled) -> Rows:
        rows = next(turn)
        return Rows("a/b, split x", tuple(rows[0]), rows, "abc")

    return read


def test_labels_of_xstest_are_ours() -> None:
    labels = ("1_full_compliance", "2_full_refusal", "3_partial_refusal", "unclear")
    rows = [{"id": n, "prompt": ASKED, "completion": REFUSED, "final_label": label} for n, label in enumerate(labels)]
    lines = list(labelled_lines(get_set("xstest"), _of(rows, rows[:1])))
    assert [line["label"] for line in lines] == ["compliant", "full_refusal", "partial_refusal", "compliant"]
    assert len({line["id"] for line in lines}) == 4
    assert {(line["language"], line["source"]) for line in lines} == {("en", "natolambert/xstest-v2-copy@abc")}


def test_every_model_of_a_row_is_a_response() -> None:
    models = ("GPT4", "ChatGPT", "Claude", "ChatGLM2", "llama2-7b-chat", "vicuna-7b")
    row: dict[str, Any] = {"id": 7, "question": ASKED}
    for action, model in enumerate(models):
        row |= {f"{model}_response": REFUSED, f"{model}_action": action}
    lines = list(labelled_lines(get_set("donotanswer"), _of([row])))
    assert [(line["id"].split("/")[3], line["label"]) for line in lines] == [
        ("GPT4_response", "full_refusal"),  # 0, not willing
        ("llama2-7b-chat_response", "capability_limitation"),  # 4
        ("vicuna-7b_response", "compliant"),  # 5
    ]


def test_language_is_that_of_the_row_and_blank_responses_are_passed_over() -> None:
    rows = [
        {"id": 1, "prompt": ASKED, "response": text, "response_refusal_label": label, "language": language}
        for text, label, language in [
            (REFUSED, "refusal", "Swedish"),
            (DONE, "compliance", "Chinese"),
            (None, "refusal", "Thai"),
            (REFUSED, None, "Thai"),
            (REFUSED, "refusal", "Klingon"),
        ]
    ]
    lines = list(labelled_lines(get_set("polyguardprompts"), _of(rows)))
    assert [(line["language"], line["label"]) for line in lines] == [("sv", "full_refusal"), ("zh-Hans", "compliant")]


def test_missing_column_is_named() -> None:
    rows = [{"id": 1, "prompt": ASKED, "answer": REFUSED, "final_label": "x"}]
    said = "a/b, split x: has no column 'completion' (it has id, prompt, answer, final_label); correct xstest.yaml"
    with pytest.raises(AtlasError, match=re.escape(said)):
        list(labelled_lines(get_set("xstest"), _of(rows)))


def test_set_without_labelled_responses_says_so() -> None:
    with pytest.raises(AtlasError, match="jbb: brings no labelled responses"):
        list(labelled_lines(get_set("jbb")))


@pytest.mark.parametrize("name", [name for name, one in load_sets().items() if one.file.labelled])
def test_language_of_a_labelled_row_is_known(name: str) -> None:
    assert isinstance(get_set(name).file.language, str) or get_set(name).file.language.column  # type: ignore[union-attr]


def test_fetched_file_is_one_that_evaluate_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datasets import Dataset

    folder = tmp_path / "copies" / "ToxicityPrompts" / "PolyGuardPrompts"
    folder.mkdir(parents=True)
    rows = [
        {"id": n, "prompt": ASKED, "response": text, "response_refusal_label": label, "language": "English"}
        for n, (text, label) in enumerate([(REFUSED, "refusal"), (DONE, "compliance")])
    ]
    Dataset.from_list(rows).to_parquet(folder / "test-00000-of-00001.parquet")
    monkeypatch.setenv(COPIES, str(tmp_path / "copies"))
    file = tmp_path / "labelled.jsonl"
    done = CliRunner().invoke(judges, ["fetch", "polyguardprompts", "--output", str(file)])
    assert (done.exit_code, "2 labelled responses" in done.output) == (0, True), done.output
    examples = list(read_labelled([file]))
    assert [(e.language, e.label, e.response) for e in examples] == [
        ("en", "full_refusal", REFUSED),
        ("en", "compliant", DONE),
    ]
    assert {e.origin for e in examples} == {"ToxicityPrompts/PolyGuardPrompts@local"}
