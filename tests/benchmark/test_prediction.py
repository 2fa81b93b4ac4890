from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from refusalatlas.files import dumps
from refusalatlas.prediction import MIN_SIDE, Prediction, predict_refusals
from refusalatlas.records import Record

NO, YES = "full_refusal", "compliant"
THINGS = ["barua", "picha", "wimbo", "hadithi", "ripoti", "mchezo", "ratiba", "orodha", "hotuba", "shairi"]


def asked(make: Any, trigger: str | None, n: int = 60, **fields: Any) -> tuple[list[Record], dict[str, str]]:
    """Every other prompt is refused; where there is a trigger, it stands in just the prompts that are."""
    records, prompts = [], {}
    for i in range(n):
        refused = i % 2 == 0
        record = make(i, "comply", NO if refused else YES, **fields)
        word = trigger if refused and trigger else "nzuri"
        records.append(record)
        prompts[record.id] = f"Andika {THINGS[i * 7 // 3 % 10]} {word} kuhusu {THINGS[(i // 2) % 10]}."
    return records, prompts


def predicted(records: list[Record], prompts: dict[str, str], **options: Any) -> Prediction:
    (found,) = predict_refusals(records, prompts, permutations=30, **options)
    return found


def test_planted_word_is_found_and_predicts(make_record: Any) -> None:
    found = predicted(*asked(make_record, "siri"))
    assert found.auc == pytest.approx(1.0)
    assert found.features[0].text == "siri"
    assert found.features[0].weight > 0
    assert found.features[0].prompts == 30
    assert found.features[-1].weight < 0
    assert (found.n, found.refused, found.p) == (60, 30, pytest.approx(1 / 31))
    assert found.baseline is not None
    assert found.baseline < 0.85


def test_where_nothing_is_planted_shuffles_do_as_well(make_record: Any) -> None:
    found = predicted(*asked(make_record, None, 80))
    assert found.auc is not None
    assert found.baseline is not None
    assert found.auc <= found.baseline
    assert found.p is not None
    assert found.p > 0.05


def test_answers_of_several_runs_to_one_prompt_are_shuffled_together(make_record: Any) -> None:
    """Five models that answer alike are 300 answers, but chance can do as much with 60 prompts as it could with one."""
    records, prompts = asked(make_record, None)
    one, five = predicted(records, prompts), predicted([r for r in records for _ in range(5)], prompts)
    assert (one.n, five.n) == (60, 300)
    assert one.baseline is not None
    assert five.baseline is not None
    assert five.baseline - 0.5 > 0.75 * (one.baseline - 0.5)


def test_translations_of_a_prompt_do_not_leak_from_fold_to_fold(make_record: Any) -> None:
    """Each cluster has a word of its own, and only clusters decide: seen apart, that word would give all away."""
    records, prompts = [], {}
    for i in range(160):
        cluster = i // 8
        record = make_record(i, "comply", NO if cluster % 2 else YES, cluster_id=f"c{cluster}")
        records.append(record)
        prompts[record.id] = f"neno{cluster} {THINGS[i % 10]}"
    auc = predicted(records, prompts).auc
    assert auc is not None
    assert auc < 0.75


def test_unspaced_languages_are_cut_into_characters(make_record: Any) -> None:
    records, prompts = [], {}
    for i in range(60):
        record = make_record(i, "comply", NO if i % 2 else YES, language="zh-Hans")
        records.append(record)
        prompts[record.id] = f"请写一篇{'秘密' if i % 2 else '公开'}的{['信', '诗', '歌', '报告'][i // 2 % 4]}"
    found = predicted(records, prompts)
    assert "秘密" in [feature.text for feature in found.features]
    assert found.auc == pytest.approx(1.0)


def test_few_refusals_are_not_modelled(make_record: Any) -> None:
    records, prompts = asked(make_record, "siri", 2 * MIN_SIDE - 2)
    found = predicted(records, prompts)
    assert (found.auc, found.features) == (None, ())
    assert found.reason == f"too few seeds of either kind ({MIN_SIDE - 1}, at least {MIN_SIDE} are needed)"


def test_many_answers_to_few_prompts_are_few(make_record: Any) -> None:
    """Twelve models that refuse the same three prompts are 36 refusals of three."""
    records, prompts = asked(make_record, "siri", 30)
    refused = [r for r in records if r.decisions[0].label == NO][:3]
    found = predicted([r for r in records if r.decisions[0].label == YES] + refused * 12, prompts)
    assert (found.refused, found.auc) == (36, None)
    assert found.reason == f"too few seeds of either kind (3, at least {MIN_SIDE} are needed)"


def test_clusters_must_be_enough_for_the_folds(make_record: Any) -> None:
    records, prompts = asked(make_record, "siri")
    found = predicted([replace(r, cluster_id=f"c{i % 9}") for i, r in enumerate(records)], prompts)
    assert (found.auc, found.reason) == (None, f"too few clusters (9, at least {MIN_SIDE} are needed)")


def test_refusals_of_few_clusters_are_not_modelled(make_record: Any) -> None:
    """Sixteen refused seeds of four clusters: a fold may hold all that there is to learn from."""
    records, prompts = asked(make_record, "siri")
    refused = [r for r in records if r.decisions[0].label == NO][:16]
    others = [r for r in records if r.decisions[0].label == YES]
    found = predicted([replace(r, cluster_id=f"d{i % 4}") for i, r in enumerate(refused)] + others, prompts)
    assert (found.auc, found.reason) == (None, "too few clusters of either kind (4, at least 5 are needed)")


def test_formats_of_one_seed_are_shuffled_together(make_record: Any) -> None:
    """Five formats of 60 prompts, refused alike, are no 300 prompts."""
    records, prompts = asked(make_record, None)
    forms = [
        replace(r, id=f"{r.id.rpartition('/')[0]}/{name}", variant=name)
        for r in records
        for name in ("base", "json", "point", "box", "escape")
    ]
    texts = {r.id: prompts[f"{r.id.rpartition('/')[0]}/base"] for r in forms}
    one, five = predicted(records, prompts), predicted(forms, texts)
    assert (five.n, five.variants, five.tracks) == (300, ("base", "box", "escape", "json", "point"), ("pairs",))
    assert one.baseline is not None
    assert five.baseline is not None
    assert five.baseline - 0.5 > 0.75 * (one.baseline - 0.5)


def test_order_of_the_files_changes_nothing(make_record: Any) -> None:
    records, prompts = asked(make_record, None)
    assert predicted(records, prompts) == predicted(records[::-1], prompts)


def test_prompts_without_a_word_in_common_are_not_modelled(make_record: Any) -> None:
    records, prompts = asked(make_record, None)
    alone = {key: f"neno{number}" for number, key in enumerate(prompts)}
    found = predicted(records, alone)
    assert found.auc is None
    assert found.reason == "no n-gram stands in two prompts"


def test_categories_are_counted_most_refused_first(make_record: Any) -> None:
    records = [make_record(i, "comply", NO, category="forgery") for i in range(3)]
    records += [make_record(i, "comply", NO if i == 9 else YES, category="fraud") for i in range(8, 12)]
    records += [make_record(20, "comply", None, category="forgery")]
    found = predicted(records, {r.id: "x" for r in records})
    assert found.categories == (("forgery", 3, 3), ("fraud", 1, 4))


def test_each_language_is_predicted_by_itself(make_record: Any) -> None:
    swahili, prompts = asked(make_record, "siri", 12)
    french, more = asked(make_record, "siri", 14, language="fr")
    found = predict_refusals(swahili + french, prompts | more)
    assert [(p.language, p.n) for p in found] == [("fr", 14), ("sw", 12)]


def test_nothing_decided_is_no_crash(make_record: Any) -> None:
    found = predicted([make_record(1, "comply", None, "blocked")], {})
    assert (found.n, found.auc, found.categories) == (0, None, ())
    assert found.reason


def test_same_data_give_the_same_prediction_in_json(make_record: Any) -> None:
    data = asked(make_record, "siri")
    one, other = (dumps(predicted(*data).to_json()) for _ in range(2))
    assert one == other
    assert all(math.isfinite(feature["weight"]) for feature in json.loads(one)["features"])
