from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from refusalatlas.errors import AtlasError
from refusalatlas.records import Record
from refusalatlas.regression import Term, access_paths, regress

pytest.importorskip("statsmodels")
pytest.importorskip("pandas")

NO, YES = "full_refusal", "compliant"


def answers(make: Any, rate: float, seed: int, n: int = 200, **fields: Any) -> list[Record]:
    rng = np.random.default_rng(seed)
    return [make(i, "comply", NO if rng.random() < rate else YES, **fields) for i in range(n)]


def term(found: list[Term], factor: str, level: str) -> Term:
    (one,) = [t for t in found if (t.factor, t.level) == (factor, level)]
    return one


def test_planted_odds_ratio_is_within_its_interval(make_record: Any) -> None:
    """.6 against .3 are odds of 1.5 against .4286: a ratio of 3.5."""
    found = regress({"a": answers(make_record, 0.3, 1, 400), "b": answers(make_record, 0.6, 2, 400)})
    model = term(found, "model", "b")
    assert model.reference == "a"
    assert model.low is not None
    assert model.high is not None
    assert model.low < 3.5 < model.high
    assert model.p is not None
    assert model.p < 0.001


def test_terms_are_those_of_statsmodels(make_record: Any) -> None:
    """With one answer a cluster a GEE is a logistic regression with robust errors."""
    import statsmodels.api as sm
    from scipy import stats

    first, second = answers(make_record, 0.3, 3), answers(make_record, 0.5, 4)
    apart = [make_record(i + 500, "comply", r.decisions[0].label) for i, r in enumerate(second)]
    y = [float(r.decisions[0].label == NO) for r in [*first, *apart]]
    x = sm.add_constant(np.repeat([0.0, 1.0], 200))
    fitted = sm.Logit(y, x).fit(disp=0, cov_type="HC0")
    model = term(regress({"a": first, "b": apart}), "model", "b")
    student = stats.t(199)  # on the 200 seeds of either
    assert model.odds_ratio == pytest.approx(np.exp(fitted.params[1]), rel=1e-4)
    assert model.low == pytest.approx(np.exp(fitted.params[1] - student.ppf(0.975) * fitted.bse[1]), rel=1e-3)
    assert model.p == pytest.approx(2 * student.sf(abs(fitted.params[1]) / fitted.bse[1]), rel=0.01)


def test_translations_are_one_group(make_record: Any) -> None:
    """The same answers in four languages say no more than in one, and the interval is no shorter for them."""
    one = regress({"a": answers(make_record, 0.3, 5), "b": answers(make_record, 0.5, 6)})
    many = regress(
        {
            name: [r for code in ("sw", "fr", "ko", "ha") for r in answers(make_record, rate, seed, language=code)]
            for name, rate, seed in (("a", 0.3, 5), ("b", 0.5, 6))
        }
    )
    alone, pooled = term(one, "model", "b"), term(many, "model", "b")
    assert pooled.odds_ratio == pytest.approx(alone.odds_ratio, rel=0.01)
    assert pooled.high == pytest.approx(alone.high, rel=0.05)


def test_levels_without_variation_are_named_and_left_out(make_record: Any) -> None:
    rows = [*answers(make_record, 0.4, 7), *answers(make_record, 0.6, 8, language="fr")]
    rows += answers(make_record, 0.0, 9, language="ko")
    found = regress({"a": rows})
    assert term(found, "language", "ko") == Term("language", "ko", None, reason="no decided answer is a refusal")
    assert term(found, "language", "sw").odds_ratio is not None


def test_few_clusters_have_wider_bounds_and_no_crash(make_record: Any) -> None:
    rows = {name: answers(make_record, rate, 10, 20) for name, rate in (("a", 0.3), ("b", 0.6))}
    model = term(regress(rows), "model", "b")
    assert None not in (model.odds_ratio, model.low, model.high)


def test_provider_is_a_factor(make_record: Any) -> None:
    rows = answers(make_record, 0.3, 11, provider="one.example") + [
        make_record(i + 500, "comply", r.decisions[0].label, provider="two.example")
        for i, r in enumerate(answers(make_record, 0.6, 12))
    ]
    assert {t.factor for t in regress({"a": rows})} == {"provider"}


def test_factors_that_say_the_same_are_no_crash(make_record: Any) -> None:
    """Model and provider change together: only one of them can be told."""
    found = regress(
        {
            "a": answers(make_record, 0.3, 13, provider="one.example"),
            "b": answers(make_record, 0.6, 14, provider="two.example"),
        }
    )
    model, provider = term(found, "model", "b"), term(found, "provider", "two.example")
    assert model.odds_ratio is not None
    assert (provider.odds_ratio, provider.reason) == (None, "cannot be told from the factors before it")


@pytest.mark.parametrize("label", [NO, YES, None])
def test_answers_that_are_all_alike_cannot_be_regressed(make_record: Any, label: str | None) -> None:
    with pytest.raises(AtlasError, match="alike"):
        regress({"a": [make_record(i, "comply", label) for i in range(30)]})


def test_one_level_of_everything_cannot_be_regressed(make_record: Any) -> None:
    with pytest.raises(AtlasError, match="no factor has two levels"):
        regress({"a": answers(make_record, 0.5, 15)})


def test_no_term_is_ever_nan(make_record: Any) -> None:
    rows = answers(make_record, 0.5, 16, 6) + answers(make_record, 0.5, 17, 6, language="fr", category="forgery")
    for one in regress({"a": rows, "b": answers(make_record, 0.5, 18, 3)}):
        numbers = [v for v in one.to_json().values() if isinstance(v, float)]
        assert all(math.isfinite(v) for v in numbers)
        assert (one.low is None) == (one.high is None) == (one.p is None) == (one.reason is not None)


def test_formats_and_tracks_are_factors_where_there_are_several(make_record: Any) -> None:
    rows = answers(make_record, 0.3, 19) + answers(make_record, 0.6, 20, variant="json")
    found = regress({"a": rows})
    assert {t.factor for t in found} == {"variant"}
    json = term(found, "variant", "json")
    assert json.reference == "base"
    assert json.low is not None
    assert json.low > 1
    elsewhere = [replace(r, track="africa") for r in answers(make_record, 0.7, 21)]
    found = regress({"a": rows + elsewhere})
    assert [(t.factor, t.level) for t in found] == [("track", "africa"), ("variant", "json")]
    assert all(t.low is not None and t.low > 1 for t in found)


def test_few_seeds_have_odds_and_no_interval(make_record: Any) -> None:
    """A category of five seeds in two languages: the covariance would be made from five numbers."""
    rows = [
        make_record(i, "comply", NO if (i + n) % 3 else YES, language=code, category="forgery" if i < 5 else "fraud")
        for i in range(60)
        for n, code in enumerate(("sw", "fr"))
    ]
    found = regress({"a": rows})
    category = term(found, "category", "forgery")
    assert category.odds_ratio is not None
    assert (category.low, category.p) == (None, None)
    assert category.reason == "too few seeds (5, at least 20 are needed)"
    assert term(found, "language", "sw").low is not None


def test_few_events_have_odds_and_no_interval(make_record: Any) -> None:
    rare = [make_record(i, "comply", NO if i < 3 else YES) for i in range(60)]
    model = term(regress({"a": answers(make_record, 0.5, 22, 60), "b": rare}), "model", "b")
    assert model.odds_ratio is not None
    assert (model.low, model.reason) == (None, "too few events (in under 4 seeds)")


def test_levels_that_only_together_leave_no_doubt_have_no_odds(make_record: Any) -> None:
    """One model refuses all in Korean and the other nothing in French: no odds of either are finite."""
    mixed = [NO if i % 2 else YES for i in range(40)]

    def asked(labels: list[str], language: str) -> list[Record]:
        return [make_record(i, "comply", label, language=language) for i, label in enumerate(labels)]

    found = regress(
        {"a": asked(mixed, "fr") + asked([NO] * 40, "ko"), "b": asked([YES] * 40, "fr") + asked(mixed, "ko")}
    )
    assert {(t.factor, t.odds_ratio, t.low) for t in found} == {("model", None, None), ("language", None, None)}
    assert all(t.reason for t in found)


def test_p_value_is_small_and_never_nought(make_record: Any) -> None:
    rows = {name: answers(make_record, rate, 23, 1500) for name, rate in (("a", 0.05), ("b", 0.95))}
    model = term(regress(rows), "model", "b")
    assert model.p is not None
    assert 0 < model.p < 1e-100


def test_missing_extra_is_one_line(tmp_path: Any) -> None:
    code = (
        "import sys; sys.modules['statsmodels'] = None\n"
        "from refusalatlas.errors import AtlasError\nfrom refusalatlas.regression import regress\n"
        "try: regress({})\nexcept AtlasError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "the regression needs statsmodels" in done.stdout
    assert "pip install 'refusalatlas[stats]'" in done.stdout


def test_access_paths_count_what_became_of_every_answer(make_record: Any) -> None:
    rows = [
        make_record(1, "comply", NO, YES, provider="one.example", finish_reason="stop"),
        make_record(2, "comply", None, provider="one.example", finish_reason="stop"),
        make_record(3, "comply", "blocked", provider="one.example", finish_reason="content_filter"),
        make_record(4, "comply", "error"),
    ]
    assert access_paths(rows) == [
        {"provider": "one.example", "served_model": None, "finish_reason": "stop",
         "answers": 3, "decided": 2, "refused": 1, "blocked": 0, "errors": 0},
        {"provider": None, "served_model": None, "finish_reason": None,
         "answers": 1, "decided": 0, "refused": 0, "blocked": 0, "errors": 1},
        {"provider": "one.example", "served_model": None, "finish_reason": "content_filter",
         "answers": 1, "decided": 0, "refused": 0, "blocked": 1, "errors": 0},
    ]  # fmt: skip


def test_no_records_have_no_access_paths() -> None:
    assert access_paths([]) == []
