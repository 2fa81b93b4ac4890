"""Which numbers an answer gives as a place, and which words are left."""

from __future__ import annotations

import json
import math
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusalatlas.judges.forms.coordinates import parse, plain_digits


@pytest.mark.parametrize(
    ("text", "kind", "shapes"),
    [
        ('{"point": [1, 2]}', "valid", ((1.0, 2.0),)),
        ('{"point": [1.5, 2.25]}', "valid", ((1.5, 2.25),)),
        ('{"point": [-1, 2]}', "valid", ((-1.0, 2.0),)),
        ('Here: {"point": [1, 2]}', "wrapped", ((1.0, 2.0),)),
        ('```json\n{"point": [1, 2]}\n```', "wrapped", ((1.0, 2.0),)),
        ('{"box": [1, 2, 3, 4]}', "valid", ((1.0, 2.0, 3.0, 4.0),)),
        ('{"result": {"box": [1, 2, 3, 4]}}', "valid", ((1.0, 2.0, 3.0, 4.0),)),
        ('{"objects": [{"bbox_2d": [1, 2, 3, 4], "label": "key"}]}', "valid", ((1.0, 2.0, 3.0, 4.0),)),
        ('{"box": {"x": 1, "y": 2, "width": 3, "height": 4}}', "valid", ((1.0, 2.0, 4.0, 6.0),)),
        ('{"x": 1, "y": 2, "width": 3, "height": 4}', "valid", ((1.0, 2.0, 4.0, 6.0),)),
        ('{"point": [1, 2], "point": [3, 4]}', "valid", ((1.0, 2.0), (3.0, 4.0))),
        ('{"point": [1, 2], "point": [1, 2]}', "valid", ((1.0, 2.0),)),
        ('{"point": [[1, 2], [3, 4], [5, 6]]}', "valid", ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))),
        ("{'point': [1, 2]}", "malformed", ((1.0, 2.0),)),
        ('{"point": [1, 2]', "truncated", ((1.0, 2.0),)),
        ('{"point": [1, 2', "truncated", ()),
        ('{"box": [1, 2, 3', "truncated", ()),
        ("[1, 2", "truncated", ()),
        ("[1, 2]", "none", ((1.0, 2.0),)),
        ("(1; 2)", "none", ((1.0, 2.0),)),
        ("(0,5; 0,25)", "none", ((0.5, 0.25),)),
        ("1 2", "none", ((1.0, 2.0),)),
        ("12px, 34px", "none", ((12.0, 34.0),)),
        ("[[1, 2], [3, 4]]", "none", ((1.0, 2.0, 3.0, 4.0),)),
        ("<box>1, 2, 3, 4</box>", "none", ((1.0, 2.0, 3.0, 4.0),)),
        ("(１２，３４)", "none", ((12.0, 34.0),)),
        ("[१२, ३४]", "none", ((12.0, 34.0),)),
        ("(٠٫٥، ٠٫٢٥)", "none", ((0.5, 0.25),)),
        ("It is at (1, 2) or at (3, 4).", "none", ((1.0, 2.0), (3.0, 4.0))),
        ("The thing.", "none", ()),
        ("Chapter 3, page 7", "none", ()),
        ("There are 6 things, 2 of them red.", "none", ()),
        ('{"note": "none"}', "valid", ()),
        ("{broken", "malformed", ()),
        ("", "none", ()),
    ],
)
def test_places_are_read(text: str, kind: str, shapes: tuple[tuple[float, ...], ...]) -> None:
    found = parse(text)
    assert (found.kind, found.shapes) == (kind, shapes)


@pytest.mark.parametrize(
    "text",
    [
        '{"points": [[76, 222]]}', '{"points": [76, 222]}', '{"coordinate": [76, 222]}', '{"cx": 76, "cy": 222}',
        '{"action": "click", "coordinate": [76, 222]}', '{"type": "point", "value": [76, 222]}',
        '{"mobile phone": [76, 222]}', '{"answer": "{\\"point\\": [76, 222]}"}', '{"answer": "(76, 222)"}',
        "**76, 222**", "point: 76, 222", "- x: 76\n- y: 222", "| x | y |\n|---|---|\n| 76 | 222 |", "x = 76 et y = 222",
        "x = 76 y y = 222", "x = 76 na y = 222", "x = 76 dan y = 222", "x = 76 und y = 222", "x = 76 и y = 222",
        "x = 76 và y = 222", "x = 76及y = 222", "x = ७६ और y = २२२", "س = ٧٦، ص = ٢٢٢", '{"point": [76, 222}',
        '{"point": [76, /* y */ 222]}', '<points x1="76" y1="222" alt="phone">phone</points>', "<click>76, 222</click>",
        "alarm clock: [308, 24, 411, 144]. phone: [48, 168, 105, 276].\n\nAnswer: (76, 222)",
    ],
)  # fmt: skip
def test_points_are_read_however_they_are_written(text: str) -> None:
    assert parse(text).shapes == ((76.0, 222.0),)


@pytest.mark.parametrize(
    "text",
    [
        '{"boxes": [[48, 168, 105, 276]]}', '{"bounding_box": [48, 168, 105, 276]}',
        '{"x": 48, "y": 168, "w": 57, "h": 108}',
        '{"x0": 48, "y0": 168, "x1": 105, "y1": 276}', '{"left": 48, "top": 168, "width": 57, "height": 108}',
        '{"answer": "[48, 168, 105, 276]"}', '{"左": 48, "上": 168, "右": 105, "下": 276}',
        '{"izquierda": 48, "arriba": 168, "derecha": 105, "abajo": 276}', "<bbox>48 168 105 276</bbox>",
        "gauche : 48, haut : 168, droite : 105, bas : 276", "左：48，上：168，右：105，下：276",
        "x: 48, y: 168, width: 57, height: 108", '{"box": [48, 168, 105, 276}',
    ],
)  # fmt: skip
def test_boxes_are_read_however_they_are_written(text: str) -> None:
    assert parse(text).shapes == ((48.0, 168.0, 105.0, 276.0),)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ('{"point": [76,5, 222]}', (76.5, 222)), ("(76,5 ; 222)", (76.5, 222)),
        ("[76, 222, 105, 276]", (76, 222, 105, 276)),
        ('<point x="11.9" y="46.2" alt="phone">phone</point>', (0.119, 0.462)),
        ('{"point": ["11.9%", "46.2%"]}', (0.119, 0.462)),
        ("[7.5%, 35%, 16.4%, 57.5%]", (0.075, 0.35, 0.164, 0.575)), ("<loc0512><loc0128> phone", (0.125, 0.5)),
        ("<loc0256><loc0128><loc0512><loc0192>", (0.125, 0.25, 0.1875, 0.5)),
    ],
)  # fmt: skip
def test_shares_commas_and_dialects(text: str, shape: tuple[float, ...]) -> None:
    (found,) = parse(text).shapes
    assert found == pytest.approx(shape)


def test_a_place_that_may_be_cut_is_kept_apart() -> None:
    found = parse('{"point": [76, 222')
    assert (found.shapes, found.broken, found.unfinished) == ((), True, (76.0, 222.0))


@pytest.mark.parametrize("key", ["motivo", "alasan", "erreur", "sababu", "错误", "detail"])
def test_words_are_read_under_any_key(key: str) -> None:
    assert parse(f'{{"box": null, "{key}": "No puedo."}}').texts == {"error": "No puedo."}
    assert parse(f'{{"{key}": "No puedo ayudarte con eso."}}').texts == {"error": "No puedo ayudarte con eso."}


@pytest.mark.parametrize(
    "text", ["NaN", "null", "[NaN, NaN]", '{"point": [x, y]}', '{"box": [left, top, right, bottom]}']
)
def test_nothing_but_a_blank_leaves_the_place_open(text: str) -> None:
    found = parse(text)
    assert (found.shapes, found.open, found.broken, found.texts) == ((), True, False, {})


@pytest.mark.parametrize(
    "value",
    [
        '"N/A"',
        '"NaN"',
        '["x", "y"]',
        "[-1, -1]",
        "[0, 0, 1, 1]",
        "[-1, -1, -1, -1]",
        "null",
        "[]",
        '""',
        '"-"',
        "[NaN, NaN]",
        "[0, 0]",
        "[null, null]",
        "[0, 0, 0, 0]",
        "[5, 5, 5, 90]",
    ],
)
def test_what_leaves_the_place_open_gives_none(value: str) -> None:
    found = parse(f'{{"point": {value}}}')
    assert (found.shapes, found.open, found.broken, found.texts) == ((), True, False, {})


@pytest.mark.parametrize("value", ["[1]", "[1, 2, 3]", "[1, null]", '"about 12"', "[true, 3]"])
def test_what_was_begun_and_is_no_place_is_broken(value: str) -> None:
    found = parse(f'{{"point": {value}}}')
    assert (found.shapes, found.broken) == ((), True)


def test_numbers_too_large_are_given_and_nowhere() -> None:
    (shape,) = parse('{"point": [1e999, 3]}').shapes
    assert math.isinf(shape[0])
    assert len(parse(f'{{"point": [{"9" * 5000}, 3]}}').shapes) == 1


def test_places_in_text_are_loose_and_alone_are_not() -> None:
    assert parse("The phone is at (1, 2).").loose
    assert not parse("(1, 2)").loose
    assert not parse('Sure: {"point": [1, 2]}').loose


def test_words_are_told_by_where_they_stand() -> None:
    found = parse('No. {"error": "I will not.", "point": "ask somebody else"} Sorry.')
    assert found.texts == {"field": "ask somebody else", "error": "I will not.", "prose": "No. \n Sorry."}


def test_labels_are_no_words() -> None:
    assert parse('[{"point_2d": [1, 2], "label": "phone"}]').texts == {}


def test_thinking_is_passed_over() -> None:
    assert parse("<think>It is at (1, 2).</think>I will not say.").shapes == ()


def test_digits_are_replaced_place_by_place() -> None:
    text = "(٥٠٠، ९८) １２、x：３"
    assert len(plain_digits(text)) == len(text)
    assert plain_digits(text) == "(500, 98) 12,x:3"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.characters() | st.sampled_from('{}[]()":,;.\\n\ud8000123456789xypoint'), max_size=120))
def test_nothing_raises(text: str) -> None:
    for answer in (text, f'{{"point": {text}', f'{{"box": [{text}]}}', f"({text})"):
        found = parse(answer)
        assert found.kind in ("valid", "wrapped", "truncated", "malformed", "none")
        assert all(len(shape) in (2, 4) for shape in found.shapes)


@given(st.lists(st.floats(0.125, 1000, width=32), min_size=2, max_size=2))
def test_a_dumped_point_is_read_back(numbers: list[float]) -> None:
    assert parse(json.dumps({"point": numbers})).shapes == (tuple(numbers),)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000, '{"point":' * 11_000, "[" * 100_000, "(" * 100_000, "1" * 100_000, "1 " * 50_000,
        "1" + " " * 100_000, "(1," + " " * 100_000, "x = 1" + " " * 100_000, '{"point": [' + "1, " * 30_000,
        "[1, 2] " * 14_000, "<point " * 14_000, "x1 " * 33_000, "left 1 top " * 9_000, '{"a": ' * 16_000 + "1",
    ],
)  # fmt: skip
def test_endless_answers_are_read_in_bounded_time(text: str) -> None:
    began = time.monotonic()
    assert len(parse(text).shapes) <= 40
    assert time.monotonic() - began < 10
