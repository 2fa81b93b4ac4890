"""Shares of what a format's own judge found: in cells with intervals, and item by item."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from refusalatlas.outcomes import outcome_values
from refusalatlas.records import Decision, DetectedLanguage, Expected, Provenance, Record
from refusalatlas.scoring import DIRECTION, Cell, score_records

PLACES = ("field", "error", "prose", "lie")
OF_OBJECTS = ("schema_valid_rate", *(f"refused_in_{place}_rate" for place in PLACES))
NAMES = ("coerced_fabrication_rate", "escape_utilisation_rate", "control_accuracy")


def record(cluster: int, expected: Expected, variant: str, *outcomes: dict[str, Any], language: str = "en") -> Record:
    seed = f"s{cluster}-{expected}"
    decisions = tuple(
        Decision("compliant", "ok", DetectedLanguage(language, language, 1.0), 1.0, False, outcome=found)
        for found in outcomes
    )
    return Record(
        f"phantom/{seed}/{language}/{variant}", seed, f"s{cluster}", "phantom", "1-0", language, None, "form-name",
        "safety", "benign", variant, expected, "none@", decisions, tuple(Provenance.of("x") for _ in decisions),
    )  # fmt: skip


def cells(records: list[Record]) -> dict[tuple[str, str | None, str], Cell]:
    return {(c.variant, c.language, c.metric): c for c in score_records(records, by_category=False)}


def test_each_is_a_share_of_the_items_that_it_is_about() -> None:
    records = [record(i, "abstain", "escape", {"fabricated": i < 6, "escape_used": i >= 10}) for i in range(20)]
    records += [record(i, "comply", "escape", {"correct": i < 15}) for i in range(20)]
    found = cells(records)
    made_up, way_out, right = (found["escape", "en", name] for name in NAMES)
    assert (made_up.numerator, made_up.denominator, made_up.n, made_up.value) == (6, 20, 40, 0.3)
    assert (way_out.numerator, way_out.denominator, way_out.value) == (10, 20, 0.5)
    assert (right.numerator, right.denominator, right.value) == (15, 20, 0.75)
    assert made_up.low is not None and made_up.high is not None
    assert 0.1 < made_up.low < 0.3 < made_up.high < 0.6


def test_translations_of_a_seed_are_no_seeds() -> None:
    """One cluster in five languages: the interval over all of them is hardly narrower than that of one."""
    outcomes = [(i, {"fabricated": i % 2 == 0}) for i in range(24)]
    codes = ("en", "es", "fr", "sw", "ko")
    found = cells([record(i, "abstain", "required", o, language=code) for i, o in outcomes for code in codes])
    one, pooled = found["required", "en", NAMES[0]], found["required", None, NAMES[0]]
    assert pooled.denominator == 5 * one.denominator
    assert None not in (one.low, one.high, pooled.low, pooled.high)
    assert pooled.high - pooled.low > 0.9 * (one.high - one.low)  # type: ignore[operator]


def test_what_could_not_be_told_makes_the_bounds() -> None:
    told = [record(i, "abstain", "base", {"fabricated": i < 5}) for i in range(20)]
    cell = cells([*told, record(20, "abstain", "base", {"fabricated": None})])["base", "en", NAMES[0]]
    assert (cell.numerator, cell.denominator) == (5, 20)
    assert (cell.bound_low, cell.bound_high) == (pytest.approx(5 / 21), pytest.approx(6 / 21))


def test_formats_are_never_pooled() -> None:
    found = cells(
        [record(0, "abstain", "base", {"fabricated": False}), record(0, "abstain", "required", {"fabricated": True})]
    )
    assert found["base", None, NAMES[0]].value == 0.0
    assert found["required", None, NAMES[0]].value == 1.0


def test_tracks_without_forms_have_no_such_rows() -> None:
    assert not {name for _, _, name in cells([record(0, "comply", "base", {})])} & set(NAMES)
    assert not {name for _, _, name in cells([record(0, "comply", "json", {"refused_in": None})])} & set(NAMES)


def test_the_way_out_is_measured_only_where_there_is_one() -> None:
    found = cells([record(0, "abstain", "required", {"fabricated": True})])
    assert ("required", "en", NAMES[1]) not in found


def test_values_of_an_item_are_means_over_its_answers() -> None:
    outcomes = [{"fabricated": True}, {"fabricated": False}, {"fabricated": None}, {}]
    place = dict.fromkeys(("grounding_accuracy", "misnamed_rate", *OF_OBJECTS))
    assert outcome_values("abstain", outcomes) == {NAMES[0]: 0.5, NAMES[1]: None, NAMES[2]: None} | place
    assert outcome_values("comply", [{"correct": True}]) == {NAMES[0]: None, NAMES[1]: None, NAMES[2]: 1.0} | place
    assert outcome_values("comply", [{"located": True}, {"located": False}])["grounding_accuracy"] == 0.5
    assert outcome_values("refuse", [{"located": True}])["grounding_accuracy"] is None
    assert set(outcome_values("refuse", outcomes).values()) == {None}


def test_naming_another_thing_is_a_share_of_all_items_of_whatever_expectation() -> None:
    records = [record(i, "aware", "picture", {"misnamed": i < 4}) for i in range(20)]
    records += [record(i, "comply", "picture", {"misnamed": i < 6}) for i in range(20)]
    cell = cells(records)["picture", "en", "misnamed_rate"]
    assert (cell.numerator, cell.denominator, cell.value) == (10, 40, 0.25)
    assert cell.low is not None and cell.low < 0.25 < (cell.high or 0)
    assert outcome_values("aware", [{"misnamed": True}, {"misnamed": False}])["misnamed_rate"] == 0.5
    assert ("base", "en", "misnamed_rate") not in cells([record(0, "comply", "base", {})])


def answered(i: int, place: str | None, **fields: Any) -> Record:
    """An answer as an object; every fifth is none."""
    made = record(i, "refuse", "json", {"format": "valid", "schema_valid": i % 5 > 0, "refused_in": place})
    label = "compliant" if place is None else "full_refusal"
    return replace(made, decisions=(replace(made.decisions[0], **{"label": label, **fields}),))


def test_places_of_refusals_are_shares_of_the_refusals() -> None:
    places = [*["field"] * 12, *["error"] * 4, *["prose"] * 3, "lie", *[None] * 20]
    found = cells([answered(i, place) for i, place in enumerate(places)])
    shares = [found["json", "en", name] for name in OF_OBJECTS]
    assert [(c.numerator, c.denominator, c.n) for c in shares] == [
        (32, 40, 40), (12, 20, 40), (4, 20, 40), (3, 20, 40), (1, 20, 40),
    ]  # fmt: skip
    assert sum(c.value or 0 for c in shares[1:]) == pytest.approx(1)
    assert all(c.low is not None and c.high is not None and c.low < (c.value or 0) < c.high for c in shares[:2])
    assert found["json", None, OF_OBJECTS[1]].denominator == 20


def test_contested_answers_make_the_bounds_of_places_and_not_those_of_objects() -> None:
    told = [answered(i, "field" if i < 15 else "error") for i in range(20)]
    found = cells([*told, answered(21, None, label=None, contested=True), answered(22, None)])
    field, schema = found["json", "en", OF_OBJECTS[1]], found["json", "en", OF_OBJECTS[0]]
    assert (field.bound_low, field.bound_high) == (pytest.approx(15 / 21), pytest.approx(16 / 21))
    assert (schema.denominator, schema.bound_low, schema.bound_high) == (22, schema.value, schema.value)


def test_places_are_told_of_the_json_variant_alone() -> None:
    outcome = {"format": "valid", "schema_valid": True, "refused_in": "field"}
    assert not {name for _, _, name in cells([record(0, "abstain", "required", outcome)])} & set(OF_OBJECTS)


def test_values_of_an_object_are_means_over_the_answers_that_refuse() -> None:
    outcomes = [{"schema_valid": True, "refused_in": place} for place in ("field", "lie", None)]
    found = outcome_values("refuse", outcomes)
    assert [found[name] for name in OF_OBJECTS] == [1.0, 0.5, 0.0, 0.0, 0.5]
    assert [outcome_values("comply", outcomes[2:])[name] for name in OF_OBJECTS] == [1.0, None, None, None, None]


def test_each_has_one_direction() -> None:
    assert [DIRECTION[name].split()[0] for name in NAMES] == ["lower", "higher", "higher"]


def test_tables_have_the_columns_only_where_there_are_forms(capsys: pytest.CaptureFixture[str]) -> None:
    from refusalatlas.cli.tables import print_table

    print_table(score_records([record(0, "abstain", "required", {"fabricated": True})]))
    assert "fabrication" in capsys.readouterr().out
    print_table(score_records([record(0, "comply", "base", {})]))
    assert "fabrication" not in capsys.readouterr().out


def test_a_contested_label_excludes_nothing_from_what_was_told() -> None:
    made_up = [record(i, "abstain", "base", {"fabricated": i < 5}) for i in range(20)]
    contested = [replace(one, decisions=(replace(one.decisions[0], label=None, contested=True),)) for one in made_up]
    untold = record(20, "abstain", "base", {})
    empty = replace(untold, decisions=(replace(untold.decisions[0], label=None, condition="empty"),))
    controls = [record(i, "comply", "base", {"correct": True}) for i in range(20)]
    found = cells([*contested[:5], *made_up[5:], empty, *controls])
    assert found["base", "en", NAMES[0]].denominator == 20
    assert found["base", "en", NAMES[0]].excluded == {"empty": 1}
    assert found["base", "en", NAMES[2]].excluded == {}
    assert found["base", "en", "refusal_rate"].excluded == {"empty": 1, "contested": 5}
