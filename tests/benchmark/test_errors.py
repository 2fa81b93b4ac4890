from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusalatlas.errors import AtlasError, DataError, UnknownNameError


def test_message_says_where_what_and_how_to_mend_it() -> None:
    error = AtlasError("is empty", where=Path("a/b.jsonl"), mend="write something")
    assert str(error) == "a/b.jsonl: is empty; write something"


def test_parts_that_are_not_there_leave_no_gap() -> None:
    assert str(AtlasError("is empty")) == "is empty"
    assert str(AtlasError("is empty", mend="fill it")) == "is empty; fill it"


@given(st.text(), st.none() | st.text(), st.none() | st.text())
def test_message_is_always_one_line(what: str, where: str | None, mend: str | None) -> None:
    assert len(str(AtlasError(what, where=where, mend=mend)).splitlines()) <= 1


def test_data_errors_are_caught_as_atlas_errors() -> None:
    with pytest.raises(AtlasError):
        raise DataError("is wrong")


def test_unknown_name_offers_near_ones() -> None:
    assert "did you mean sw?" in str(UnknownNameError("language", "swa", ["en", "sw", "zh-Hans"]))


def test_unknown_name_lists_all_where_none_is_near() -> None:
    assert str(UnknownNameError("panel", "qqqq", ["none", "offline"])) == "unknown panel 'qqqq'; known: none, offline"
