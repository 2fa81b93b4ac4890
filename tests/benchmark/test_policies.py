"""The whole way with answers that are known beforehand: what every policy must score, in every language.

`lm_eval` asks, the default panel judges, lm_eval aggregates; nothing stands in for anything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refusalatlas.packs import builtin_root
from refusalatlas.records import Record
from refusalatlas.scoring import outcome_counts, score_records
from refusalatlas.tracks import languages_of, load_items, task_name

FOLDER = builtin_root() / "tasks" / "pairs" / "lm_eval"
LANGUAGES = [code for code in languages_of("pairs") if (FOLDER / f"{code}.yaml").is_file()]
"""Those that lm_eval has a task for; that none is missing is tested with the generator."""

Table = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def run(evaluate: Callable[..., dict[str, Any]]) -> Callable[[str], tuple[Table, dict[str, list[Record]]]]:
    """Return the table and the records of a policy on `pairs` in all languages, by language; each is run once."""

    @functools.cache
    def policy(name: str) -> tuple[Table, dict[str, list[Record]]]:
        tasks = {code: task_name("pairs", code) for code in LANGUAGES}
        found = evaluate("refusalatlas-reference", list(tasks.values()), model_args=f"policy={name}")
        table = {
            code: {key.split(",")[0]: value for key, value in found["results"][task].items()}
            for code, task in tasks.items()
        }
        rows = {code: [Record.from_json(s["record"]) for s in found["samples"][task]] for code, task in tasks.items()}
        return table, rows

    return policy


POLICIES = ["ideal", "english-only", "keyword-guard", "always-refuse", "always-comply"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_ideal_is_perfect(run: Any, language: str) -> None:
    row = run("ideal")[0][language]
    assert (row["youden_j"], row["over_refusal"], row["unsafe_compliance"]) == (1.0, 0.0, 0.0)
    assert row["usable_rate"] == 1.0


@pytest.mark.parametrize("language", LANGUAGES)
def test_english_only_knows_english_alone(run: Any, language: str) -> None:
    row = run("english-only")[0][language]
    assert row["youden_j"] == (1.0 if language == "en" else 0.0)
    assert row["unsafe_compliance"] == (0.0 if language == "en" else 1.0)


@pytest.mark.parametrize("language", LANGUAGES)
def test_guard_that_goes_by_words_hardly_tells_the_pairs_apart(run: Any, language: str) -> None:
    assert abs(run("keyword-guard")[0][language]["youden_j"]) <= 0.3


@pytest.mark.parametrize("language", LANGUAGES)
def test_always_refuse_refuses_all(run: Any, language: str) -> None:
    row = run("always-refuse")[0][language]
    assert (row["over_refusal"], row["unsafe_compliance"], row["youden_j"]) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("language", LANGUAGES)
def test_always_comply_complies_with_all(run: Any, language: str) -> None:
    row = run("always-comply")[0][language]
    assert (row["over_refusal"], row["unsafe_compliance"], row["youden_j"]) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_plain_is_contested(run: Any, language: str, policy: str) -> None:
    table, records = run(policy)
    assert table[language]["contested_rate"] == 0.0
    assert "contested" not in outcome_counts(records[language])


@pytest.mark.parametrize("policy", POLICIES)
def test_every_item_of_every_language_has_one_record(run: Any, policy: str) -> None:
    for code, records in run(policy)[1].items():
        assert [r.id for r in records] == [item.id for item in load_items("pairs", code)]
        assert {len(r.decisions) for r in records} == {len(r.provenance) for r in records} == {1}


@pytest.mark.parametrize("policy", POLICIES)
def test_table_of_lm_eval_and_our_scores_are_the_same(run: Any, policy: str) -> None:
    table, records = run(policy)
    for code, rows in records.items():
        for cell in score_records(rows, by_category=False, pooled=False):
            if cell.metric in table[code]:
                assert cell.value == pytest.approx(table[code][cell.metric]), (code, cell.metric)


def test_echo_is_no_answer_in_any_language(run: Any) -> None:
    for code, records in run("echo")[1].items():
        counts = outcome_counts(records)
        assert counts.get("echo", 0) == len(records), (code, counts)


def test_files_that_lm_eval_writes_hold_what_it_shows(finished_run: Path) -> None:
    import json

    from refusalatlas.runs import load_run

    [path] = finished_run.rglob("results_*.json")
    shown = json.loads(path.read_text(encoding="utf-8"))["results"]
    for language in ("en", "sw"):
        records = [record for record in load_run(finished_run).records if record.language == language]
        for cell in score_records(records, by_category=False, pooled=False):
            if cell.metric in ("youden_j", "over_refusal", "usable_rate"):
                assert shown[f"refusal_minos_{language}"][f"{cell.metric},panel"] == pytest.approx(cell.value)
