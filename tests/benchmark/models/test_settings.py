from __future__ import annotations

import pytest

from refusalatlas.errors import AtlasError, UnknownNameError
from refusalatlas.models.patience import read_key
from refusalatlas.models.settings import KEY_VARIABLE, ChatSettings, read_settings

GOOD = {"model": "m", "base_url": "http://localhost:8000/v1"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1/chat/completions"),
        ("https://h/api/v1/chat/completions", "https://h/api/v1/chat/completions"),
        ("https://h/openai/d?api-version=1", "https://h/openai/d/chat/completions?api-version=1"),
    ],
)
def test_base_url_is_completed(given: str, kept: str) -> None:
    assert ChatSettings(model="m", base_url=given).base_url == kept


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://h/v1", "", "http://", "http://h:port/v1"])
def test_what_is_no_address_is_one_clear_line(url: str) -> None:
    with pytest.raises(AtlasError, match="base_url") as caught:
        read_settings({**GOOD, "base_url": url})
    assert "\n" not in str(caught.value)


def test_what_lm_eval_hands_to_every_model_is_accepted() -> None:
    settings = read_settings(
        {**GOOD, "batch_size": "1", "max_batch_size": 4, "device": "cpu", "tokenizer_backend": "x"}
    )
    assert settings.model == "m"


def test_a_number_may_be_the_name_of_a_model() -> None:
    assert read_settings({**GOOD, "model": 4}).model == "4"


def test_pretrained_is_another_word_for_model() -> None:
    assert read_settings({"pretrained": "m", "base_url": "http://h"}).model == "m"


def test_numbers_may_come_as_text() -> None:
    settings = read_settings({**GOOD, "num_concurrent": "64", "timeout": "1.5"})
    assert (settings.num_concurrent, settings.timeout) == (64, 1.5)


def test_a_seed_of_none_is_not_the_default() -> None:
    assert read_settings({**GOOD, "seed": "none"}).seed is None


def test_omit_lists_parameters() -> None:
    assert read_settings({**GOOD, "omit": "temperature+seed"}).omit == ("temperature", "seed")


def test_a_misspelt_argument_is_answered_with_the_right_one() -> None:
    with pytest.raises(UnknownNameError, match="did you mean num_concurrent"):
        read_settings({**GOOD, "num_concurent": 8})


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(AtlasError, match="base_url: Field required"):
        read_settings({"model": "m"})


@pytest.mark.parametrize("name", ["api_key", "auth_token", "header", "token"])
def test_a_key_among_the_arguments_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(AtlasError, match="OPENAI_API_KEY") as caught:
        read_settings({**GOOD, name: "sk-secret"})
    assert "sk-secret" not in str(caught.value)


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(AtlasError, match="password") as caught:
        read_settings({**GOOD, "base_url": "http://me:hunter2@h/v1"})
    assert "hunter2" not in str(caught.value)


def test_the_address_is_shown_without_its_query() -> None:
    assert ChatSettings(model="m", base_url="http://h/v1?key=1").shown_url == "http://h/v1/chat/completions"


def test_the_key_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_key(KEY_VARIABLE) is None
    monkeypatch.setenv("OPENAI_API_KEY", " sk-1\n")
    assert read_key(KEY_VARIABLE) == "sk-1"


def test_a_key_that_no_header_can_carry_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-“1”")
    with pytest.raises(AtlasError, match="copy the key again"):
        read_key(KEY_VARIABLE)
