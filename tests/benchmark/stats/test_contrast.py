from __future__ import annotations

import pytest

from refusalatlas.stats.contrast import contrast


def names(n: int) -> list[str]:
    return [f"c{i}" for i in range(n)]


def test_yes_or_no_once_a_cluster_is_mcnemar() -> None:
    found = contrast([1.0] * 12 + [0.0] * 28, [0.0] * 40, names(40))
    assert (found.test.method, found.difference.method) == ("mcnemar-exact", "newcombe-paired")
    assert found.test.p == pytest.approx(2 * 0.5**12)
    assert (found.pairs, found.clusters, found.discordance) == (40, 40, 0.3)


@pytest.mark.parametrize(
    ("first", "clusters"),
    [([1.0] * 20 + [0.0] * 20, [f"c{i // 2}" for i in range(40)]), ([0.5] * 20 + [0.0] * 20, names(40))],
)
def test_shares_or_several_a_cluster_are_permuted(first: list[float], clusters: list[str]) -> None:
    found = contrast(first, [0.0] * 40, clusters)
    assert found.test.method.startswith("sign-flip")
    assert found.clusters == len(set(clusters))


def test_series_that_are_alike_could_still_have_shown_something() -> None:
    found = contrast([1.0, 0.0] * 30, [1.0, 0.0] * 30, names(60))
    assert (found.difference.value, found.discordance, found.test.p) == (0.0, 0.0, None)
    assert found.test.reason == "no pair differs"
    assert found.detectable is not None
    assert 0.1 < found.detectable < 0.2


def test_no_units_have_no_contrast_and_a_reason() -> None:
    found = contrast([], [], [])
    assert (found.difference.value, found.difference.reason) == (None, "no pairs")
    assert (found.pairs, found.clusters, found.discordance, found.detectable) == (0, 0, None, None)


def test_series_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        contrast([1.0], [1.0, 0.0], names(2))


def test_outcomes_that_might_have_been_less_than_nought_are_not_yes_or_no() -> None:
    """Youden's J of a pair is -1, 0 or 1; that none of forty is -1 does not end the interval of a difference at -1."""
    seeds = [f"s{i}" for i in range(40)]
    first, second = [0.0] * 38 + [1.0] * 2, [1.0] * 36 + [0.0] * 4
    found = contrast(first, second, seeds, reach=2.0)
    assert found.difference.method.startswith("cluster-bootstrap")
    assert found.difference.low is not None
    assert found.difference.low < found.difference.value < 0  # type: ignore[operator]
    alike = contrast([0.0] * 40, [1.0] * 40, seeds, reach=2.0)
    assert (alike.difference.value, alike.difference.low, alike.difference.reason) == (-1.0, None, "no variation")
    assert alike.test.p is not None
    assert alike.test.p < 1e-3
