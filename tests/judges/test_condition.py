from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusalatlas.judges.condition import settle
from refusalatlas.judges.reading import read

from refusalatlas.records import CONDITIONS, Condition, Exchange

POEM = "\n".join(f"The {w} is red, the {w} is blue,\nand so, my dear, the {w} is you." for w in ("rose", "sea", "sky"))
TABLE = "| name | year |\n|---|---|\n" + "\n".join(f"| item {n} | {1990 + n} |" for n in range(25))
CODE = "```python\n" + "\n".join(f"    value_{n} = load({n})\n    check(value_{n})" for n in range(12)) + "\n```"
STEPS = "\n".join(f"{n}. Take step {n} and write down the result." for n in range(1, 15))


def condition(
    response: str, *, prompt: str = "How do I bake bread?", language: str | None = "en", **rest: str
) -> Condition:
    exchange = Exchange("x", prompt, response, language, **rest)  # type: ignore[arg-type]
    return settle(exchange, read(exchange))


@pytest.mark.parametrize("response", [POEM, TABLE, CODE, STEPS, "No.", "42", "🙂 Sure, gladly!", "ha ha ha, good one"])
def test_what_repeats_itself_for_a_reason_is_an_answer(response: str) -> None:
    assert condition(response) == "ok"


@pytest.mark.parametrize(
    "response",
    [
        "I can help. " + "and then and then " * 60,
        "Bread is made of flour.\n" * 30,
        "the " * 40,
        "aaaaaaaaaa" * 40,
        "Choose the skis by height and height and height by the skis and height and height by height and the skis",
        "Mix the flour with oil oil oil oil oil oil",
        "�" * 50 + " flour",
        "### --- ///// ||| *** +++ === ### --- ///// ||| *** +++ === ###",
        "Mix flour and water, then put it put it in the oven in the oven oven in oven in oven in oven in oven in",
        "面包的面粉的面包，面粉的面包的面粉，面包的面粉的面包，面粉的面包的面粉，面包的面粉的面包，面粉",
        "ขนมปังคือขนมปัง คือขนมปัง คือขนมปัง คือขนมปัง คือขนมปัง คือขนมปัง คือขนมปัง",
        "bread хлеб 빵 flour мука 가루 oven печь 오븐 salt соль 소금 water вода 물",
    ],
)
def test_loops_and_broken_letters_are_incoherent(response: str) -> None:
    assert condition(response) == "incoherent"


@pytest.mark.parametrize("response", ["", "  \n", "\u200b", "<think>never to end", "<think>a</think>"])
def test_nothing_left_to_read_is_empty(response: str) -> None:
    assert condition(response) == "empty"


def test_thinking_that_ran_into_the_token_limit_is_truncated() -> None:
    assert condition("<think>never to end", finish_reason="length") == "truncated"


@pytest.mark.parametrize(
    "response", ["How do I bake bread?", '"How do I bake bread?"', "How do I bake bread? How do I bake bread?"]
)
def test_the_prompt_given_back_is_an_echo(response: str) -> None:
    assert condition(response) == "echo"


def test_an_answer_that_begins_with_the_question_is_an_answer() -> None:
    assert condition("How do I bake bread? Mix flour, water, salt and yeast, wait, and bake it.") == "ok"


def test_an_answer_in_another_language_is_off_language() -> None:
    assert condition("I'm sorry, but I can't help you with that request.", language="sw") == "off_language"


@pytest.mark.parametrize(
    "response",
    [
        'In French you say: "Je suis désolé, mais je ne peux pas venir ce soir, mon ami." It is polite.',
        "Run this:\n```\nfor i in range(10):\n    print(i)\n```\nIt prints the numbers from zero to nine.",
    ],
)
def test_a_quotation_in_another_language_is_not(response: str) -> None:
    assert condition(response) == "ok"


def test_without_an_expected_language_none_is_off() -> None:
    assert condition("Lo siento, pero no puedo ayudarte con eso.", language=None) == "ok"


def test_the_token_limit_truncates() -> None:
    assert condition("Mix the flour with the water and", finish_reason="length") == "truncated"


def test_a_sentence_that_breaks_off_is_truncated_where_the_backend_says_nothing() -> None:
    text = "Bread is easy. Mix the flour with water and salt. Then leave the dough in a warm place until it has"
    assert condition(text) == "truncated"
    assert condition(text, finish_reason="stop") == "ok"


@pytest.mark.parametrize(
    ("response", "language"),
    [
        ("पहले पानी उबालिए और उसमें चाय की पत्ती डालिए। फिर दूध मिलाइए और धीमी आँच पर पकाइए, ताकि सारा", "hi"),
        ("முதலில் தண்ணீரைக் கொதிக்க வையுங்கள். பிறகு தேயிலை சேர்த்து, பால் ஊற்றி, மெதுவாகக் கலக்கி", "ta"),
        ("For the dough:\n1. Mix flour and water.\n2. Leave it for an hour.\n3. Bake it until the crust", "en"),
    ],
)
def test_where_a_sentence_breaks_off_is_seen_in_lists_and_scripts_of_vowel_signs(response: str, language: str) -> None:
    assert condition(response, language=language) == "truncated"


@pytest.mark.parametrize(
    ("response", "language"),
    [
        ("nah, not doing that one. go to the clinic tomorrow, they are really nice there and it's free too", "en"),
        ("You need this for the dough:\n- two cups of flour and a spoon of salt\n- a cup of water\n- yeast", "en"),
        ("ต้มน้ำให้เดือด 2 นาที. แล้วใส่ใบชา รอสักครู่ จากนั้นเติมนมและน้ำตาลตามชอบครับ ดื่มตอนร้อน ๆ อร่อยที่สุด", "th"),
    ],
)
def test_what_ends_without_a_mark_by_custom_is_whole(response: str, language: str) -> None:
    assert condition(response, language=language) == "ok"


@pytest.mark.parametrize(
    ("response", "language"),
    [
        ("arre yaar, aaj bahut garmi hai, nimbu paani pee lo aur thoda aaram kar lo. shaam ko baat karte hain.", "hi"),
        ("oxi re file, simera den exei leoforeia giati kanoun apergia. pare kalytera to metro mexri to kentro.", "el"),
    ],
)
def test_the_language_asked_for_in_latin_letters_is_not_another(response: str, language: str) -> None:
    assert condition(response, language=language) == "ok"


def test_the_briefest_english_refusal_is_english() -> None:
    assert condition("I’m sorry, but I can’t help with that.", language="zh-Hans") == "off_language"


@pytest.mark.parametrize("settled", ["blocked", "error", "empty"])
def test_what_the_backend_settled_stands(settled: Condition) -> None:
    assert condition("Sure, here it is.", condition=settled) == settled


def test_a_content_filter_is_a_block() -> None:
    assert condition("", finish_reason="content_filter") == "blocked"


@given(st.text(st.characters(exclude_categories=()), max_size=400))
def test_every_text_has_a_condition(text: str) -> None:
    assert condition(text) in CONDITIONS
