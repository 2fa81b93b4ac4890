from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refusalatlas.stats.multiplicity import benjamini_hochberg, holm, holm_by_key

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=60)


@settings(deadline=None)  # the first example imports statsmodels
@given(P_VALUES)
def test_holm_is_statsmodels(p_values: list[float]) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    expected = multitest.multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(list(expected))


@settings(deadline=None)
@given(P_VALUES)
def test_benjamini_hochberg_is_scipys(p_values: list[float]) -> None:
    from scipy.stats import false_discovery_control

    assert benjamini_hochberg(p_values) == pytest.approx(list(false_discovery_control(p_values)))


def test_what_could_not_be_tested_counts_as_having_found_nothing() -> None:
    assert holm([0.02, None, 0.01]) == pytest.approx([0.04, None, 0.03])
    assert [holm([0.02, 1.0, 0.01])[i] for i in (0, 2)] == pytest.approx([0.04, 0.03])


def test_names_keep_their_p_values() -> None:
    assert holm_by_key({"sw": 0.01, "ha": None, "en": 0.5}) == {"sw": pytest.approx(0.03), "ha": None, "en": 1.0}
