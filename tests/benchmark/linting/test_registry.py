"""One field of ``language.yaml`` that the registers contradict, or one locale of a text, for each test."""

from __future__ import annotations

import re
from typing import Any

import pytest


def set_field(copy: Any, field: str, value: str) -> None:
    path = copy.folder / "language.yaml"
    text, count = re.subn(rf"(?m)^{field}:.*", f"{field}: {value}", path.read_text(encoding="utf-8"))
    assert count == 1
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("direction", "rtl", "the script Latn is not written rtl; write ltr"),
        ("iso639_3", "deu", "deu is not that of sw; write swa"),
        ("iso639_1", "de", "de is not that of sw; write sw"),
        ("iso639_1", "null", "null is not that of sw; write sw"),
        ("default_locale", "sw-XX", "sw-XX is no place where sw is spoken"),
        ("default_locale", "de-DE", "de-DE is no place where sw is spoken"),
        ("confused_with", "[rw, xx]", "xx is the code of no language"),
        ("confused_with", "[sw]", "sw is the language itself"),
    ],
)
def test_field_that_the_registers_contradict_is_found(copy: Any, field: str, value: str, said: str) -> None:
    set_field(copy, field, value)
    [finding] = [finding for finding in copy.findings() if finding.rule == "registry"]
    assert said in f"{finding.what}; {finding.mend}"
    lines = (copy.folder / "language.yaml").read_text(encoding="utf-8").split("\n")
    assert lines[finding.line - 1].startswith(f"{field}:")


@pytest.mark.parametrize(
    ("locale", "mend"), [("sw-ke", "write sw-KE"), ("sw-XX", "write sw-TZ or the like"), ("sw-Kenya", "write sw-TZ")]
)
def test_locale_of_no_place_is_found(copy: Any, locale: str, mend: str) -> None:
    copy.edit("pairs.jsonl", 4, locale=locale)
    [finding] = copy.findings()
    assert (finding.rule, finding.line) == ("seed", 4)
    assert finding.mend.startswith(mend)


def test_locale_of_a_place_is_fine(copy: Any) -> None:
    copy.edit("pairs.jsonl", 4, locale="sw-KE")
    assert copy.found() == []
