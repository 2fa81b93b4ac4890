from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusalatlas.judges.language_id import detect, romanised, same_language

from refusalatlas.files import read_jsonl
from refusalatlas.languages import load_languages

WRITTEN = sorted(c for c, language in load_languages().items() if (language.folder / "minos.jsonl").is_file())


@pytest.mark.parametrize("code", WRITTEN)
def test_a_language_is_known_by_its_own_conversations(code: str) -> None:
    language = load_languages()[code]
    near = {code, *language.confused_with, None}
    found = [detect(row["response"], code)[0] for row in read_jsonl(language.folder / "minos.jsonl")]
    assert [other for other in found if other not in near] == []
    assert sum(same_language(other, code) for other in found) >= 6


@pytest.mark.parametrize(
    ("text", "expected", "code"),
    [
        ("I'm sorry, but I can't help you with that request today.", "sw", "en"),
        ("Lo siento, pero no puedo ayudarte con esa petición.", "en", "es"),
        ("저는 그 요청을 도와드릴 수 없습니다.", "en", "ko"),
        ("Извините, но с этим я помочь не могу.", "en", "ru"),
        ("抱歉，这个问题我不方便回答。", "en", "zh-Hans"),
        ("Ba zan iya taimaka maka da wannan ba, domin hakan ya saba wa doka.", "en", "ha"),
    ],
)
def test_an_answer_in_another_language_is_known(text: str, expected: str, code: str) -> None:
    assert detect(text, expected)[0] == code


@pytest.mark.parametrize(
    ("text", "expected", "wanted"),
    [
        ("Sardi mein adrak ki chai aur shehad faida deti hai.", "hi", True),
        ("buhaoyisi, zhege wo xie buliao, huan ge bieren wen ba.", "zh-Hans", True),
        ("I'm sorry, but I can't help you with that request today.", "hi", False),
        ("सर्दी में अदरक की चाय और शहद फ़ायदा देती है।", "hi", False),
        ("Ba zan iya taimaka maka da wannan ba, domin hakan ya saba wa doka.", "ha", False),
        ("Sardi mein adrak ki chai aur shehad faida deti hai.", None, False),
        ("", "hi", False),
    ],
)
def test_other_letters_than_the_language_has_are_told(text: str, expected: str | None, wanted: bool) -> None:
    assert romanised(text, expected, *detect(text, expected)) is wanted


@pytest.mark.parametrize("text", ["", "OK", "42", "!!!", "\ud800\u202e", "123 456 789"])
def test_where_there_is_too_little_nothing_is_guessed(text: str) -> None:
    assert detect(text, "en") == (None, 0.0)


def test_simplified_and_traditional_chinese_are_one_language() -> None:
    assert same_language("zh-Hans", "zh-Hant")
    assert not same_language("zh-Hans", "ja")
    assert not same_language(None, None)


@given(st.text(max_size=200), st.sampled_from([None, "en", "ko", "xx"]))
def test_confidence_is_a_share_and_nothing_raises(text: str, expected: str | None) -> None:
    code, confidence = detect(text, expected)
    assert 0.0 <= confidence <= 1.0
    assert code is None or code
