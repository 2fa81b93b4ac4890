"""What `judges evaluate` measures: decisions on labelled answers, by language, and the ten minos answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from refusalatlas.files import read_jsonl
from refusalatlas.languages import load_languages
from refusalatlas.records import REFUSED, Exchange, Label, Panel, Verdict

from .examples import Example
from .metrics import Judged, quality

_CHUNK = 256


def judge_examples(panel: Panel, examples: Sequence[Example]) -> list[Judged]:
    """Return the decisions of a panel on labelled answers; those without a label are left out."""
    labelled = [example for example in examples if example.label is not None]
    judged: list[Judged] = []
    for start in range(0, len(labelled), _CHUNK):
        part = labelled[start : start + _CHUNK]
        decisions = panel.judge([Exchange(e.id, e.prompt, e.response, e.language) for e in part])
        judged += [
            Judged(e.language, e.label, d.label, d.contested, e.origin)
            for e, d in zip(part, decisions, strict=True)
            if e.label is not None
        ]
    return judged


def conditions_found(panel: Panel, examples: Sequence[Example]) -> dict[str, dict[str, int]]:
    """Return how often each condition of the examples was found as which."""
    table: dict[str, dict[str, int]] = {}
    decisions = panel.judge([Exchange(e.id, e.prompt, e.response, e.language) for e in examples])
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
        "languages": {code: quality([row for row in rows if row.language == code]) for code in languages},
        "sources": {name: quality([row for row in rows if row.origin == name]) for name in origins},
    }


def minos_table(panel: Panel, seeds: Path) -> dict[str, dict[str, str]]:
    """Return, by language and example, whether the panel took the ten minos answers for what they are.

    Args:
        panel: The panel.
        seeds: ``tasks/minos/seeds.jsonl``, which says what each was written to be.

    Returns:
        ``right``, ``wrong`` or ``undecided``, by language and seed.
    """
    expected = {row["seed_id"]: row["expected"] == "refuse" for row in read_jsonl(seeds)}
    table: dict[str, dict[str, str]] = {}
    for code, language in load_languages().items():
        path = language.folder / "minos.jsonl"
        if not path.is_file():
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


def cross_validate(extra: Sequence[Path], report: Callable[[str], None]) -> list[Judged]:
    """Return decisions on all training answers by judges that were fitted without any answer to the same prompt.

    This costs as many fits as there are folds. The panel is ``rules`` and ``ngram`` under the gate of ``offline``.
    """
    from .fitting import FOLDS, Settings
    from .gate import read_panel
    from .ngram import verdict
    from .training import count_patterns, fit_all, gather

    settings = Settings()
    fitted = fit_all(gather(extra), settings, report)
    panel, shares = read_panel("offline"), fitted.shares()
    judged: list[Judged | None] = [None] * len(fitted.corpus.rows)
    for fold in range(FOLDS):
        seen = [e for e, f in zip(fitted.corpus.rows, fitted.data.fold, strict=True) if f != fold]
        held = [i for i, f in enumerate(fitted.data.fold) if f == fold]
        rules = count_patterns(seen, settings)
        by_rules = rules_verdicts(rules, [fitted.corpus.rows[i] for i in held])
        for i, first in zip(held, by_rules, strict=True):
            example = fitted.corpus.rows[i]
            threshold = fitted.thresholds["rich" if fitted.rich[i] else "other"]
            judged[i] = decide_votes(panel, example, (first, verdict("ngram", "fold", shares[i], threshold)))
    return [row for row in judged if row is not None and row.origin != "strings"]


def rules_verdicts(counts: Any, examples: Sequence[Example]) -> list[Verdict]:
    """Return the verdicts of rules that were counted on other answers."""
    from .rules import RulesJudge
    from .tables import make_table

    judge = RulesJudge(make_table(counts))
    return judge.judge([Exchange(e.id, e.prompt, e.response, e.language) for e in examples])


def decide_votes(panel: Any, example: Example, votes: Iterable[Verdict]) -> Judged:
    """Return what the gate makes of some votes on a labelled answer."""
    from .gate import gate

    result = gate(tuple(votes), panel)
    if example.label is None:
        raise ValueError(example.id)
    return Judged(example.language, example.label, result.label, result.contested, example.origin)


_HEADER = "| | n | decided | recall | FPR | kappa | contested counted wrong | clear: decided | clear: kappa |"


def markdown(report: dict[str, Any]) -> str:
    """Return a report as Markdown tables."""
    lines = [f"# Panel {report['panel']['name']}", "", f"Hash `{report['panel']['sha256']}`. {report['what']}", ""]
    for title, part in (("Languages", "languages"), ("Sources", "sources")):
        lines += [
            f"## {title}",
            "",
            _HEADER,
            "|---|" + "---:|" * 8,
        ]
        rows = {"all": report["quality"]["all"], **report["quality"][part]}
        lines += [_line(name, row) for name, row in rows.items()]
        lines.append("")
    lines += ["## Labels", "", "| label | F1 | decided as |", "|---|---:|---|"]
    whole = report["quality"]["all"]
    for label, row in whole["confusion"].items():
        said = ", ".join(f"{name} {count}" for name, count in row.items())
        lines.append(f"| {label} | {_cell(whole['f1'][label])} | {said} |")
    lines += ["", "## Conditions", "", "| is | found as |", "|---|---|"]
    for name, row in report["conditions"].items():
        lines.append(f"| {name} | {', '.join(f'{found} {count}' for found, count in row.items())} |")
    lines += ["", "## Minos", "", _minos(report["minos"]), ""]
    return "\n".join(lines)


def _line(name: str, row: dict[str, Any]) -> str:
    keys = (
        "coverage",
        "refusal_recall",
        "refusal_fpr",
        "kappa",
        "kappa_contested_wrong",
        "coverage_clear",
        "kappa_clear",
    )
    return f"| {name} | {row['n']} | " + " | ".join(_cell(row[key]) for key in keys) + " |"


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
