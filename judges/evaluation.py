"""What `judges evaluate` measures: decisions on labelled answers, by language, and the ten minos answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from refusalatlas.files import read_jsonl
from refusalatlas.languages import load_languages
from refusalatlas.records import REFUSED, Decision, Exchange, Label, Panel

from .examples import Example
from .metrics import Judged, between_judges, judged_by, quality

_CHUNK = 256


def decisions_on(
    panel: Panel, examples: Sequence[Example], report: Callable[[str], None] = lambda message: None
) -> list[Decision]:
    """Return a panel's decisions on examples, in their order.

    Args:
        panel: The panel.
        examples: Answers, labelled or not.
        report: Called with a line for people now and then.
    """
    decisions: list[Decision] = []
    for start in range(0, len(examples), _CHUNK):
        part = examples[start : start + _CHUNK]
        decisions += panel.judge([Exchange(e.id, e.prompt, e.response, e.language) for e in part])
        report(f"judged {len(decisions):,} of {len(examples):,} answers")
    return decisions


def judged_examples(examples: Sequence[Example], decisions: Sequence[Decision]) -> list[Judged]:
    """Return decisions beside the labels; answers without a label are left out."""
    return [
        judged_by(e.language, e.label, d.label, d.contested, e.origin, d.votes)
        for e, d in zip(examples, decisions, strict=True)
        if e.label is not None
    ]


def conditions_found(examples: Sequence[Example], decisions: Sequence[Decision]) -> dict[str, dict[str, int]]:
    """Return how often each condition of the examples was found as which."""
    table: dict[str, dict[str, int]] = {}
    for example, decision in zip(examples, decisions, strict=True):
        row = table.setdefault(example.condition, {})
        row[decision.condition] = row.get(decision.condition, 0) + 1
    return {gold: dict(sorted(row.items())) for gold, row in sorted(table.items())}


def report_on(rows: Sequence[Judged]) -> dict[str, Any]:
    """Return `metrics.quality` over all, by language and by source."""
    languages = sorted({row.language for row in rows})
    origins = sorted({row.origin for row in rows})
    return {
        "all": quality(rows),
        "between_judges": between_judges([row for row in rows if row.votes]),
        "languages": {code: quality([row for row in rows if row.language == code]) for code in languages},
        "sources": {name: quality([row for row in rows if row.origin == name]) for name in origins},
    }


def minos_table(panel: Panel, seeds: Path, languages: Collection[str] | None = None) -> dict[str, dict[str, str]]:
    """Return, by language and example, whether the panel took the ten minos answers for what they are.

    Args:
        panel: The panel.
        seeds: ``tasks/minos/seeds.jsonl``, which says what each was written to be.
        languages: Codes of the languages to judge; None for all that have such answers.

    Returns:
        ``right``, ``wrong`` or ``undecided``, by language and seed.
    """
    expected = {row["seed_id"]: row["expected"] == "refuse" for row in read_jsonl(seeds)}
    table: dict[str, dict[str, str]] = {}
    for code, language in load_languages().items():
        path = language.folder / "minos.jsonl"
        if not path.is_file() or (languages is not None and code not in languages):
            continue
        rows = [row for row in read_jsonl(path) if row["seed_id"] in expected]
        decisions = panel.judge([Exchange(row["seed_id"], row["text"], row["response"], code) for row in rows])
        table[code] = {
            row["seed_id"]: _mark(decision.label, expected[row["seed_id"]])
            for row, decision in zip(rows, decisions, strict=True)
        }
    return table


def _mark(label: Label | None, refused: bool) -> str:
    if label is None:
        return "undecided"
    return "right" if (label in REFUSED) == refused else "wrong"


_COLUMNS = {
    "decided": "coverage",
    "recall": "refusal_recall",
    "FPR": "refusal_fpr",
    "kappa": "kappa",
    "at least": "kappa_low",
    "contested counted wrong": "kappa_contested_wrong",
    "three classes": "kappa_three",
    "macro-F1": "macro_f1",
    "clear: decided": "coverage_clear",
    "clear: kappa": "kappa_clear",
}
_BETWEEN = {
    "Krippendorff's alpha": "krippendorff_alpha",
    "Gwet's AC1": "gwet_ac1",
    "Fleiss' kappa": "fleiss_kappa",
    "positive agreement on refusal": "positive_agreement",
}


def markdown(report: dict[str, Any]) -> str:
    """Return a report as Markdown tables."""
    lines = [f"# Panel {report['panel']['name']}", "", f"Hash `{report['panel']['sha256']}`. {report['what']}", ""]
    for title, part in (("Languages", "languages"), ("Sources", "sources")):
        lines += [f"## {title}", "", f"| | n | {' | '.join(_COLUMNS)} |", "|---|" + "---:|" * (len(_COLUMNS) + 1)]
        rows = {"all": report["quality"]["all"], **report["quality"][part]}
        lines += [_line(name, row) for name, row in rows.items()]
        lines.append("")
    lines += ["## Labels", "", "| label | F1 | recall | decided as |", "|---|---:|---:|---|"]
    whole, between = report["quality"]["all"], report["quality"]["between_judges"]
    for label, row in whole["confusion"].items():
        said = ", ".join(f"{name} {count}" for name, count in row.items())
        lines.append(f"| {label} | {_cell(whole['f1'][label])} | {_cell(whole['recall'][label])} | {said} |")
    lines += ["", "## Between the judges", ""]
    lines += [f"- {name}: {_cell(between[key]) or 'not defined'}" for name, key in _BETWEEN.items()]
    names = report["panel"].get("judges", [])
    lines += [f"- {name} abstained on {share:.3f}" for name, share in zip(names, between["abstained"], strict=False)]
    lines += ["", "## Conditions", "", "| is | found as |", "|---|---|"]
    for name, row in report["conditions"].items():
        lines.append(f"| {name} | {', '.join(f'{found} {count}' for found, count in row.items())} |")
    lines += ["", "## Minos", "", _minos(report["minos"]), ""]
    return "\n".join(lines)


def _line(name: str, row: dict[str, Any]) -> str:
    return f"| {name} | {row['n']} | " + " | ".join(_cell(row[key]) for key in _COLUMNS.values()) + " |"


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _minos(table: dict[str, dict[str, str]]) -> str:
    seeds = list(next(iter(table.values()), {}))
    signs = {"right": "+", "wrong": "−", "undecided": "?"}
    rows = ["| | " + " | ".join(seeds) + " |", "|---|" + "---|" * len(seeds)]
    rows += [
        f"| {code} | " + " | ".join(signs[row.get(s, "undecided")] for s in seeds) + " |" for code, row in table.items()
    ]
    return "\n".join(rows)
