"""What counts as a secret among environment variables; `tests/leaderboard/test_submission.py` has the texts."""

from __future__ import annotations

from refusalatlas.scrub import secret_values, without_values


def test_values_of_variables_with_secret_names_are_secrets_longest_first() -> None:
    given = {"OPENAI_API_KEY": "abcdefgh", "MY_TOKEN": "abcdefghij", "DB_PWD": "hunter2hunter2", "LANG": "en_GB.UTF-8"}
    assert secret_values(given) == ("hunter2hunter2", "abcdefghij", "abcdefgh")


def test_the_working_folder_is_no_password() -> None:
    given = {"PWD": "/srv/checkout", "OLDPWD": "/srv/elsewhere"}
    assert secret_values(given) == ()
    assert without_values("/srv/checkout/bin/tool", secret_values(given)) == "/srv/checkout/bin/tool"


def test_short_values_and_counts_of_tokens_are_none() -> None:
    assert secret_values({"API_KEY": "none", "MAX_TOKENS": "1024102410"}) == ()
