from __future__ import annotations

import pytest
from refusalatlas.judges.llm.limits import TOLERATED, WINDOW, Budget, Health
from refusalatlas.judges.llm.settings import LlmSettings, read_settings

from refusalatlas.errors import AtlasError

PRICES = {"price_input": 1.0, "price_output": 10.0, "max_tokens": 100}


def settings(**params: object) -> LlmSettings:
    return read_settings({"model": "m", "base_url": "http://localhost:1", **params})


def test_requests_are_counted_and_end() -> None:
    budget = Budget(settings(max_requests=2))
    budget.take(10)
    budget.take(10)
    with pytest.raises(AtlasError, match="2 requests are spent; raise max_requests"):
        budget.take(10)
    assert budget.requests == 2


def test_what_is_in_flight_cannot_overdraw() -> None:
    budget = Budget(settings(max_cost=0.0045, **PRICES))  # two requests of .001 + .001
    first, second = budget.take(1000), budget.take(1000)
    assert first == second == pytest.approx(0.002)
    assert budget.take(1000) is None
    assert budget.requests == 2
    budget.settle(first, (200, 10), billed=True)
    assert budget.spent == pytest.approx(0.0003)
    third = budget.take(1000)
    assert third is not None
    budget.settle(second, None, billed=True)
    budget.settle(third, None, billed=True)
    assert budget.spent == pytest.approx(0.0043)
    with pytest.raises(AtlasError, match=r"left of 0.0045 \(spent 0.0043\); raise max_cost"):
        budget.take(1000)


def test_what_was_turned_down_costs_nothing() -> None:
    budget = Budget(settings(max_cost=1, **PRICES))
    budget.settle(budget.take(1000) or 1.0, None, billed=False)
    assert budget.spent == 0


def test_a_limit_of_cost_needs_prices() -> None:
    with pytest.raises(AtlasError, match="price_input"):
        settings(max_cost=1)


def test_up_to_a_fifth_of_the_last_verdicts_may_fail() -> None:
    health = Health("judge llm")
    for number in range(10 * WINDOW):
        health.note(number % 5 == 0, "x")


def test_more_than_that_stops_with_what_to_do() -> None:
    health = Health("judge llm")
    for _ in range(WINDOW):
        health.note(False, "")
    for _ in range(TOLERATED):
        health.note(True, "HTTP 500: busy")
    with pytest.raises(AtlasError, match="11 of the last 50 verdicts failed, the last with HTTP 500: busy; see to"):
        health.note(True, "HTTP 500: busy")


def test_failures_of_long_ago_are_forgotten() -> None:
    health = Health("judge llm")
    for _ in range(3):
        for _ in range(TOLERATED):
            health.note(True, "x")
        for _ in range(WINDOW):
            health.note(False, "")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"base_url": "localhost:8000"}, "base_url"),
        ({"base_url": "http://me:sk-secret@host/v1"}, "environment variable"),
        ({"base_url": "http://host/v1?key=sk-secret"}, "environment variable"),
        ({"api_key": "sk-secret"}, "api_key"),
        ({"api_key_env": "sk-secret"}, "api_key_env"),
        ({"concurrency": 0}, "concurrency"),
        ({"model": "a\nb"}, "model"),
    ],
)
def test_wrong_parameters_are_named_and_not_repeated(params: dict[str, object], message: str) -> None:
    with pytest.raises(AtlasError, match=message) as caught:
        settings(**params)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://h", "http://h/v1/", "http://h/v1/chat/completions"])
def test_an_address_may_be_given_in_several_ways(url: str) -> None:
    assert settings(base_url=url).base_url == "http://h/v1"


def test_model_and_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AtlasError, match="has no model; set REFUSALATLAS_JUDGE_MODEL"):
        read_settings({})
    monkeypatch.setenv("REFUSALATLAS_JUDGE_MODEL", "m-2")
    with pytest.raises(AtlasError, match="has no base_url; set REFUSALATLAS_JUDGE_URL"):
        read_settings({})
    monkeypatch.setenv("REFUSALATLAS_JUDGE_URL", "http://h:1/v1")
    found = read_settings({})
    assert (found.model, found.base_url, found.api_key_env) == ("m-2", "http://h:1/v1", "REFUSALATLAS_JUDGE_KEY")
