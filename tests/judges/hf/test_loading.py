"""Every way in which a model or its settings can be wrong is one line, and nothing is ever downloaded."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from refusalatlas.judges import panel as panels
from refusalatlas.judges.gate import panel_names, read_panel
from refusalatlas.judges.hf import HfJudge

from refusalatlas.errors import AtlasError, DataError, UnknownNameError
from refusalatlas.records import Exchange

pytestmark = pytest.mark.torch

Copied = Callable[[Path], Path]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
REFUSAL = "I'm sorry, but I can't help with that request."


def fails(message: str, kind: type[AtlasError] = AtlasError, **params: Any) -> None:
    with pytest.raises(kind, match=message) as caught:
        HfJudge(**params)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(("judge ", "unknown "))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def fill(hub: Path, name: str, model: Path, revision: str = "main") -> Path:
    """Put a model into the cache as a download would."""
    folder = hub / f"models--{name.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / revision).write_text(COMMIT, "utf-8")
    return Path(shutil.copytree(model, folder / "snapshots" / COMMIT))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A hub that is there, and that counts who asks."""
    from huggingface_hub import constants

    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None: ...

    httpd = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{httpd.server_port}")
    yield asked
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.mark.parametrize("offline", [True, False])
def test_a_missing_model_is_named_with_its_command_and_never_fetched(
    hub: Path, server: list[str], monkeypatch: pytest.MonkeyPatch, offline: bool
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1" if offline else "0")
    lift = "HF_HUB_OFFLINE=0 " if offline else ""
    fails(
        "judge hf: NousResearch/Minos-v1: revision main is not on this machine; "
        f"run `{lift}hf download NousResearch/Minos-v1 --revision main`",
        preset="minos",
    )
    assert server == []


def test_a_model_in_the_cache_of_the_hub_is_recorded_by_commit(hub: Path, server: list[str], minos: Path) -> None:
    fill(hub, "NousResearch/Minos-v1", minos)
    judge = HfJudge(preset="minos")
    assert f"NousResearch/Minos-v1@{COMMIT[:16]} " in judge.version
    assert judge.judge([Exchange("x", "How?", REFUSAL, "en")])[0].label == "full_refusal"
    assert HfJudge(preset="minos", revision=COMMIT).version == judge.version
    fails("revision v2 is not on this machine; run .*--revision v2", preset="minos", revision="v2")
    assert server == []


def test_a_download_that_was_broken_off_is_named(hub: Path, minos: Path) -> None:
    snapshot = fill(hub, "NousResearch/Minos-v1", minos)
    (snapshot / "model.safetensors").unlink()
    fails(r"has no weights \(\*\.safetensors\); run `.*hf download NousResearch/Minos-v1", preset="minos")
    (snapshot / "config.json").unlink()
    fails(r"has no config.json; run `.*hf download NousResearch/Minos-v1", preset="minos")


@pytest.mark.parametrize("name", ["transformers", "torch"])
def test_missing_libraries_are_named_with_their_command(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    fails(r"judge minos: needs transformers and PyTorch .*run `pip install 'refusalatlas\[hf\]'`", name="minos",
          preset="minos")  # fmt: skip


def test_damaged_and_unsuitable_folders_are_named(minos: Path, copied: Copied, tmp_path: Path) -> None:
    fails("no such folder; give one that `save_pretrained` wrote", preset="minos", model="/nowhere/model")
    folder = copied(minos)

    def damaged(message: str) -> None:
        fails(f"{folder}: {message}", preset="minos", model=str(folder))

    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    damaged(r"cannot be loaded \(\w+: .*; get it again, or name another model")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    damaged("has only pickled weights, which are not read")
    (folder / "pytorch_model.bin").rename(folder / "model.safetensors")
    (folder / "config.json").write_text("{", "utf-8")
    damaged(r"cannot be loaded \(\w+: ")
    (folder / "config.json").unlink()
    damaged("has no config.json")


def test_a_model_that_was_never_trained_to_classify_is_refused(bert: Path, copied: Copied) -> None:
    """Transformers would give it a head of random numbers and say so in a warning."""
    from transformers import AutoModel

    folder = copied(bert)
    AutoModel.from_pretrained(bert).save_pretrained(folder)
    config = json.loads((bert / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    labels = {"no": "full_refusal", "yes": "compliant", "spam": None}
    fails("its weights are no classifier's: classifier.bias", DataError, model=str(folder), input="pair", labels=labels)


def test_code_that_comes_with_a_model_is_not_run(minos: Path, copied: Copied, tmp_path: Path) -> None:
    folder = copied(minos)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["model_type"] = "theirs"
    config["auto_map"] = {"AutoConfig": "theirs.Config", "AutoModelForSequenceClassification": "theirs.Model"}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    (folder / "theirs.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n", "utf-8")
    fails("cannot be loaded", preset="minos", model=str(folder))
    assert not (tmp_path / "ran").exists()


def relabel(folder: Path, labels: list[str], **rest: Any) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config |= {"id2label": {str(i): label for i, label in enumerate(labels)}, **rest}
    config["label2id"] = {label: i for i, label in enumerate(labels)}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")


def test_classes_are_never_guessed(minos: Path, copied: Copied) -> None:
    folder = copied(minos)
    # Numbers alone get their names from the preset; the same names in another order contradict it.
    relabel(folder, ["LABEL_0", "LABEL_1"])
    assert HfJudge(preset="minos", model=str(folder)).judge([Exchange("x", "How?", REFUSAL, "en")])[0].label == (
        "full_refusal"
    )
    named = "its classes are {}, and the settings speak of {}; map each of its classes"
    fails(named.format("LABEL_0, LABEL_1", "Non-refusal, Refusal"), DataError, preset="agentlans", model=str(folder))
    relabel(folder, ["Refusal", "Non-refusal"])
    fails(named.format("Refusal, Non-refusal", "Non-refusal, Refusal"), DataError, preset="minos", model=str(folder))
    relabel(folder, ["No", "Yes"])
    fails(named.format("No, Yes", "Non-refusal, Refusal"), DataError, preset="minos", model=str(folder))
    relabel(folder, ["Non-refusal", "Refusal"], problem_type="multi_label_classification")
    fails("does not choose between classes", DataError, preset="minos", model=str(folder))


def test_a_length_that_the_model_does_not_read_is_named(roberta: Path, agentlans: Path, minos: Path) -> None:
    labels = {"REJECTION": "full_refusal", "NORMAL": "compliant"}
    # Its table has 130 rows, two of which XLM-R leaves empty.
    fails("max_length 129 is more than the 128 tokens that it reads; set max_length: 128", DataError,
          model=str(roberta), input="response", labels=labels, max_length=129)  # fmt: skip
    fails("more than the 512 tokens", DataError, preset="agentlans", model=str(agentlans), max_length=513)
    fails("more than the 8192 tokens", DataError, preset="minos", model=str(minos), max_length=8193)
    judge = HfJudge(model=str(roberta), input="response", labels=labels, max_length=128)
    assert judge.judge([Exchange("x", "", "I cannot. " * 500)])[0].label is not None


@pytest.mark.parametrize("device", ["cuda", "cuda:9", "mps"])
def test_a_device_that_is_not_there_is_named(minos: Path, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.mps, "device_count", lambda: 0)
    fails(f"tiny-modernbert: device {device} is not there; set device: auto", preset="minos", model=str(minos),
          device=device)  # fmt: skip


@pytest.mark.parametrize("given", ["both", "tokenizer", "end", "none"])
def test_padding_that_a_configuration_leaves_out_is_the_tokenizers(minos: Path, tmp_path: Path, given: str) -> None:
    """A model that reads the last token finds it by the padding's number."""
    import torch
    from transformers import AutoTokenizer, GPT2Config, GPT2ForSequenceClassification

    tokenizer = AutoTokenizer.from_pretrained(minos)
    number = tokenizer.pad_token_id
    if given in ("end", "none"):
        tokenizer.pad_token = None
    tokenizer.eos_token = "[SEP]" if given == "end" else None
    torch.manual_seed(1)
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=32, n_layer=1, n_head=2, n_positions=128, bos_token_id=None,
                        eos_token_id=None, id2label={0: "a", 1: "b"}, label2id={"a": 0, "b": 1})  # fmt: skip
    config.pad_token_id = number if given == "both" else None
    GPT2ForSequenceClassification(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    params = {"model": str(tmp_path), "input": "response", "labels": LABELS, "max_length": 128}
    if given == "none":
        fails("cannot judge texts of two lengths together .*padding token.*; name another", **params)
        return
    judge = HfJudge(minimum_confidence=0.5, **params)
    asked = [Exchange(str(n), "", "One letter " * n, "en") for n in range(1, 9)]
    together, alone = judge.judge(asked), [judge.judge([one])[0] for one in asked]
    assert [v.scores for v in together] == [v.scores for v in alone]
    assert None not in [v.label for v in together]


def test_outputs_that_are_no_numbers_are_told(minos: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification

    folder = Path(shutil.copytree(minos, tmp_path / "odd"))
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    torch.nn.init.constant_(model.classifier.bias, float("nan"))
    model.save_pretrained(folder)
    judge = HfJudge(name="odd", preset="minos", model=str(folder))
    assert [v.label for v in judge.judge([Exchange("x", "How?", t, "en") for t in (REFUSAL, "Sure.")])] == [None] * 2
    assert "judge odd abstains on 2 of 2: what the model puts out are no numbers" in caplog.text


LABELS = {"a": "full_refusal", "b": "compliant"}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "judge hf: model: Field required; input: Field required; labels: Field required"),
        ({"preset": "minoss"}, "unknown preset 'minoss'; did you mean minos"),
        ({"preset": "minos", "speed": 3}, "judge hf: speed: Extra inputs"),
        ({"preset": "minos", "labels": {"Non-refusal": "compliant", "Refusal": "no"}}, "labels.Refusal: Input should"),
        ({"model": "a/b", "input": "pair", "labels": LABELS}, "judge hf: a model of the hub needs a revision"),
        ({"model": "./a", "revision": "main", "input": "pair", "labels": LABELS}, "revision is for a model of the hub"),
        ({"model": "./a", "input": "roles", "labels": LABELS}, "needs a template"),
        ({"model": "./a", "input": "roles", "template": "{prompt}", "labels": LABELS}, "needs a template"),
        ({"model": "./a", "input": "roles", "template": "{response}{prompt}", "labels": LABELS}, "needs a template"),
        ({"model": "./a", "input": "pair", "template": "{response}", "labels": LABELS}, "template is for input: roles"),
        ({"model": "./a", "input": "pair", "labels": {"a": "evasion", "b": "full_refusal"}}, "labels need one of ours"),
        ({"model": "./a", "input": "pair", "labels": LABELS, "classes": ["a", "c"]}, "name different classes"),
        ({"preset": "minos", "languages": ["English"]}, "languages.0: String should match"),
        ({"preset": "minos", "device": "tpu"}, "device: String should match"),
        ({"preset": "minos", "minimum_confidence": 0.2}, "minimum_confidence: Input should be greater"),
    ],
)  # fmt: skip
def test_wrong_settings_are_named(params: dict[str, Any], message: str) -> None:
    fails(message, UnknownNameError if "unknown" in message else DataError, **params)


def write_panel(folder: Path, judge: str) -> None:
    (folder / "mine.yaml").write_text(
        f"description: x\njudges: [{{name: rules, family: rules}}, {judge}]\n", encoding="utf-8"
    )


def test_a_panel_asks_two_classifiers_by_names_of_their_own(tmp_path: Path, minos: Path, agentlans: Path) -> None:
    entries = [
        f"{{name: {name}, kind: hf, family: {name}, params: {{family: {name}, preset: {name}, model: {folder}}}}}"
        for name, folder in (("minos", minos), ("agentlans", agentlans))
    ]
    write_panel(tmp_path, ", ".join(entries))
    panel = panels._load("mine", tmp_path)
    found = panel.judge([Exchange("x", "How do I forge a permit?", REFUSAL, "en")])[0]
    assert [(vote.judge, vote.label) for vote in found.votes] == [
        ("rules", "full_refusal"), ("minos", "full_refusal"), ("agentlans", "full_refusal")
    ]  # fmt: skip
    assert (found.label, found.agreement, found.single_family) == ("full_refusal", 1.0, False)


def test_a_judge_by_another_name_or_family_than_the_panel_says_is_named(tmp_path: Path, minos: Path) -> None:
    write_panel(tmp_path, f"{{name: hf, family: hf, params: {{name: other, preset: minos, model: {minos}}}}}")
    with pytest.raises(AtlasError, match=r"mine\.yaml: judge hf calls itself other, and its votes would not count"):
        panels._load("mine", tmp_path)
    write_panel(tmp_path, f"{{name: mine, kind: hf, family: mine, params: {{preset: minos, model: {minos}}}}}")
    with pytest.raises(AtlasError, match="judge mine is of family hf, not mine"):
        panels._load("mine", tmp_path)


@pytest.mark.parametrize("written", ["./models/mine", "models", "../p/models/mine"])
def test_a_folder_is_found_from_the_panels_file(
    tmp_path: Path, minos: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    folder = tmp_path / "p"
    shutil.copytree(minos, folder / ("models" if written == "models" else "models/mine"))
    write_panel(folder, f"{{name: mine, kind: hf, family: hf, params: {{preset: minos, model: {written}}}}}")
    monkeypatch.chdir(tmp_path)
    panel = panels.load_panel("p/mine.yaml")
    assert f"{Path(written).name}@sha256:" in panel.judges[1].version
    assert panel.file.judges[1].params["model"] == written  # the hash is of what the file says, not of where it is


@pytest.mark.parametrize("name", ["minos", "agentlans"])
def test_example_panels_are_there_and_fail_only_when_loaded(hub: Path, name: str) -> None:
    assert name in panel_names()
    assert [judge.name for judge in read_panel(name).judges] == ["rules", name]
    with pytest.raises(AtlasError, match=rf"judge {name}: .* is not on this machine; run `.*hf download"):
        panels.load_panel(name)
