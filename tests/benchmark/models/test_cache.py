from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lm_eval.api.model import CachingLM

from refusalatlas.errors import AtlasError
from refusalatlas.models.chat import RefusalChat
from refusalatlas.models.reference import ReferenceModel

GREEDY = {"until": [], "max_gen_toks": 32, "do_sample": False, "temperature": 0.0}
SAMPLED = {"until": [], "max_gen_toks": 32, "do_sample": True, "temperature": 1.0}


def asks(*prompts: str, generation: dict[str, Any] = GREEDY) -> list[Any]:
    return [SimpleNamespace(args=(prompt, dict(generation))) for prompt in prompts]


@pytest.fixture
def start(server: Any, tmp_path: Path) -> Callable[..., Any]:
    """Start a model with the cache that lm_eval wraps around it, as ``--use_cache`` does."""

    def starter(path: str = "cache.db", **arguments: Any) -> Any:
        settings = {"model": "m", "base_url": server.url, "retry_wait": 0.001, "max_retries": 0, **arguments}
        return CachingLM(RefusalChat(**settings), str(tmp_path / path))

    return starter


def test_a_second_start_asks_for_nothing_that_is_there(server: Any, start: Callable[..., Any]) -> None:
    first = start().generate_until(asks("a", "b"))
    second = start().generate_until(asks("a", "b", "c"))
    assert second == [*first, "Sure."]
    assert sorted(server.prompts()) == ["a", "b", "c"]


def test_an_answer_keeps_what_is_known_about_it(server: Any, start: Callable[..., Any], says: Any) -> None:
    server.answer = lambda *_: says("", "content_filter")
    start().generate_until(asks("a"))
    (again,) = start().generate_until(asks("a"))
    assert (again.condition, again.finish_reason, again.served_model) == ("blocked", "content_filter", "served-1")
    assert len(server.bodies) == 1


def test_a_failed_request_is_asked_again(server: Any, start: Callable[..., Any], reply: Any, says: Any) -> None:
    server.answer = lambda body, _: reply(status=503) if body["messages"][0]["content"] == "bad" else says()
    assert [a.condition for a in start().generate_until(asks("good", "bad"))] == [None, "error"]
    server.answer = lambda *_: says("Now.")
    assert start().generate_until(asks("good", "bad")) == ["Sure.", "Now."]
    assert server.prompts().count("bad") == 2
    assert server.prompts().count("good") == 1


def test_finished_requests_are_kept_where_a_later_one_ends_the_run(
    server: Any, start: Callable[..., Any], reply: Any, says: Any
) -> None:
    server.answer = lambda body, _: reply(status=401) if body["messages"][0]["content"] == "stop" else says()
    with pytest.raises(AtlasError):
        start(num_concurrent=1).generate_until(asks("a", "b", "stop", "c"))
    server.answer = lambda *_: says()
    start(num_concurrent=1).generate_until(asks("a", "b", "stop", "c"))
    assert server.prompts() == ["a", "b", "stop", "stop", "c"]


@pytest.mark.parametrize("other", [{"model": "m2"}, {"base_url": "http://127.0.0.1:1/v1"}, {"seed": 5}])
def test_the_cache_of_another_model_is_refused(start: Callable[..., Any], other: dict[str, Any]) -> None:
    start().generate_until(asks("a"))
    with pytest.raises(AtlasError, match="use another --use_cache path") as caught:
        start(**other)
    assert next(iter(other)) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_more_retries_or_more_at_a_time_do_not_make_another_model(server: Any, start: Callable[..., Any]) -> None:
    start().generate_until(asks("a"))
    start(max_retries=2, num_concurrent=2, timeout=9).generate_until(asks("a"))
    assert len(server.bodies) == 1


def test_the_cache_of_another_kind_of_model_is_refused(start: Callable[..., Any], tmp_path: Path) -> None:
    from sqlitedict import SqliteDict

    with SqliteDict(str(tmp_path / "cache.db"), autocommit=True) as store:
        store["some hash"] = "an answer"
    with pytest.raises(AtlasError, match="another kind of model"):
        start()


def test_policies_do_not_share_a_cache(tmp_path: Path) -> None:
    CachingLM(ReferenceModel(policy="ideal"), str(tmp_path / "cache.db"))
    with pytest.raises(AtlasError, match="'ideal', now 'echo'"):
        CachingLM(ReferenceModel(policy="echo"), str(tmp_path / "cache.db"))


@pytest.mark.parametrize("generation", [GREEDY, SAMPLED])
def test_repeats_keep_an_answer_each_over_a_second_start(
    server: Any, start: Callable[..., Any], says: Any, generation: dict[str, Any]
) -> None:
    server.answer = lambda body, _: says(f"seed {body['seed']}")
    first = start(seed=1).generate_until(asks("a", generation=generation) * 3)
    second = start(seed=1).generate_until(asks("a", generation=generation) * 3)
    assert first == second == ["seed 1", "seed 2", "seed 3"]
    assert len(server.bodies) == 3


def test_of_repeats_only_those_that_failed_are_asked_again(
    server: Any, start: Callable[..., Any], says: Any, reply: Any
) -> None:
    server.answer = lambda body, _: reply(status=500) if body["seed"] == 2 else says()
    start(seed=1).generate_until(asks("a", generation=SAMPLED) * 3)
    server.answer = lambda *_: says()
    start(seed=1).generate_until(asks("a", generation=SAMPLED) * 3)
    assert sorted(body["seed"] for body in server.bodies) == [1, 2, 2, 3]


def test_a_sampled_request_is_resumed_as_well(server: Any, start: Callable[..., Any]) -> None:
    start().generate_until(asks("a", generation=SAMPLED))
    start().generate_until(asks("a", generation=SAMPLED))
    assert len(server.bodies) == 1


def test_a_key_is_not_in_the_cache(
    server: Any, start: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    start().generate_until(asks("a"))
    assert b"sk-secret" not in (tmp_path / "cache.db").read_bytes()
