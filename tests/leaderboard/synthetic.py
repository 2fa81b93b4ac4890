"""Runs of models that do not exist, in lm_eval's own files: real items, sentences of strings.yaml as answers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refusalatlas.leaderboard.released import released_panels

from refusalatlas.phrases import without_gaps
from refusalatlas.records import Decision, DetectedLanguage, Finding, Label, Provenance, Record, Verdict
from refusalatlas.tracks import Item, load_items, strings, task_name

_NEWEST = next(one for one in reversed(released_panels()) if one.name == "offline")
PANEL = f"{_NEWEST.name}@{_NEWEST.sha256}"
VERSIONS = dict(_NEWEST.judges or {})
DATE = "2026-11-20T10-11-12.131415"


@dataclass(frozen=True)
class Behaviour:
    """How a model that does not exist behaves: shares between 0 and 1."""

    refuses_harm: float = 0.95
    refuses_harmless: float = 0.05
    partial: float = 0.1
    contested: float = 0.03
    off_language: float = 0.0
    blocked: float = 0.0
    knows_norms: float = 0.5
    worse_outside_english: float = 0.0


def chance(*parts: str) -> float:
    """Return a number from 0 to 1 that follows from its arguments alone."""
    return int(hashlib.sha256("|".join(parts).encode()).hexdigest()[:8], 16) / 0xFFFFFFFF


def decision_on(item: Item, model: str, behaviour: Behaviour) -> tuple[Decision, str]:
    """Return a decision on an answer, and the answer."""
    language = DetectedLanguage(item.language, item.language, 0.99)
    if chance(model, item.id, "blocked") < behaviour.blocked:
        return Decision(None, "blocked", replace(language, detected=None, confidence=0.0), 0.0, False), ""
    drift = 0.0 if item.language == "en" else behaviour.worse_outside_english * chance(model, item.language)
    share = behaviour.refuses_harm - drift if item.expected == "refuse" else behaviour.refuses_harmless + drift / 3
    refused = chance(model, item.id, "refused") < share
    partly = chance(model, item.id, "partly") < behaviour.partial
    label: Label = ("partial_refusal" if partly else "full_refusal") if refused else "compliant"
    group = {"full_refusal": "refusal", "partial_refusal": "partial_refusal", "compliant": "compliance"}[label]
    said = strings(item.language)[group]
    answer = said[int(1000 * chance(model, item.id, "said")) % len(said)]
    outcome: dict[str, Any] = {}
    if item.cues:
        outcome = {"aware": chance(model, item.id, "knows") < behaviour.knows_norms, "aware_by": "cues"}
        if outcome["aware"]:
            cue = without_gaps(item.cues[0])
            answer = f"{strings(item.language)['awareness'][0].replace('{cue}', cue)} {answer}"
    contested = chance(model, item.id, "contested") < behaviour.contested
    away = chance(model, item.id, "away") < behaviour.off_language
    other_language = "fr" if item.language == "en" else "en"
    other: Label = "compliant" if label != "compliant" else "full_refusal"
    votes = (
        Verdict("rules", VERSIONS["rules"], label, 0.97),
        Verdict("ngram", VERSIONS["ngram"], other if contested else label, 0.96),
        Verdict("embedding", VERSIONS["embedding"], None, 0.0),
    )
    made = Decision(
        label=None if contested else label,
        condition="off_language" if away else "ok",
        language=replace(language, detected=other_language) if away else language,
        agreement=0.5 if contested else 1.0,
        contested=contested,
        votes=votes,
        reasons=(Finding("none_stated", answer[:20]),) if refused and not contested else (),
        outcome=outcome,
    )
    return made, answer


def record_of(item: Item, decision: Decision, answer: str) -> Record:
    """Return the record of one item."""
    facts = {name: getattr(item, name) for name in Record.__dataclass_fields__ if hasattr(item, name)}
    return Record(**facts, panel=PANEL, decisions=(decision,), provenance=(Provenance.of(answer),))


def write_run(
    folder: Path,
    *,
    model: str = "example/model-1",
    backend: str = "refusalatlas-chat",
    languages: tuple[str, ...] = ("en",),
    tracks: tuple[str, ...] = ("pairs",),
    behaviour: Behaviour | None = None,
    model_args: dict[str, Any] | None = None,
    date: str = DATE,
    **changes: Any,
) -> Path:
    """Write an lm_eval output folder and return it; `changes` go to the top of its results file."""
    place = folder / "model"
    place.mkdir(parents=True, exist_ok=True)
    configs, counts = {}, {}
    for track in tracks:
        for language in languages:
            task = task_name(track, language)
            rows = []
            for item in load_items(track, language):
                decision, answer = decision_on(item, model, behaviour or Behaviour())
                record = record_of(item, decision, answer)
                rows.append({"record": record.to_json(), "resps": [[answer]], "doc": {"prompt": item.prompt}})
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            (place / f"samples_{task}_{date}.jsonl").write_text(lines, encoding="utf-8")
            kwargs = {"until": [], "temperature": 0.0, "do_sample": False, "max_gen_toks": 512}
            configs[task] = {
                "dataset_kwargs": {"ra_track": track, "ra_language": language},
                "generation_kwargs": kwargs,
            }
            counts[task] = {"original": len(rows), "effective": len(rows)}
    results = {
        "configs": configs,
        "results": {task: {} for task in configs},
        "n-samples": counts,
        "versions": dict.fromkeys(configs, 1.0),
        "config": {"model": backend, "model_args": {"model": model, **(model_args or {})}, "limit": None},
        "lm_eval_version": "0.4.13",
        "chat_template_sha": None,
        "system_instruction": None,
        **changes,
    }
    (place / f"results_{date}.json").write_text(json.dumps(results), encoding="utf-8")
    return folder


def rewrite(run: Path, change: Any) -> None:
    """Apply `change` to each sample of a run, in place; it returns the sample, or None to drop it."""
    for path in run.rglob("samples_*.jsonl"):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        kept = [row for row in (change(row) for row in rows) if row is not None]
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept), encoding="utf-8")


MODELS: dict[str, tuple[Behaviour, str]] = {
    "aurora-lab/aurora-70b-instruct": (Behaviour(0.97, 0.06, worse_outside_english=0.25), "reproduced"),
    "aurora-lab/aurora-8b-instruct": (Behaviour(0.9, 0.12, worse_outside_english=0.5), "reproduced"),
    "baobab/baobab-chat-7b": (Behaviour(0.78, 0.04, off_language=0.08), "audited"),
    "meridian/meridian-large": (Behaviour(0.99, 0.31, blocked=0.04), "audited"),
    "kestrel/kestrel-mini": (Behaviour(0.55, 0.03, contested=0.12), "self-reported"),
}
POLICIES = {
    "ideal": Behaviour(1, 0, 0, 0),
    "always-refuse": Behaviour(1, 1, 0, 0),
    "always-comply": Behaviour(0, 0, 0, 0),
    "keyword-guard": Behaviour(0.62, 0.47, 0, 0),
}


def write_submissions(root: Path, work: Path, languages: tuple[str, ...]) -> Path:
    """Write a submissions folder with models of all tiers and the reference policies."""
    from refusalatlas.leaderboard.submission import submit_run

    for number, (model, (behaviour, tier)) in enumerate(MODELS.items()):
        spoken = languages if number != 2 else languages[: max(1, len(languages) // 2)]
        run = write_run(
            work / str(number), model=model, languages=spoken, tracks=("pairs", "minos"), behaviour=behaviour
        )
        raise_tier(submit_run(run, root, submitter="Example Group"), tier)
    for policy, behaviour in POLICIES.items():
        run = write_run(
            work / policy,
            model="",
            backend="refusalatlas-reference",
            languages=languages,
            behaviour=behaviour,
            model_args={"policy": policy},
        )
        submit_run(run, root, submitter="Refusal Atlas")
    return root


def raise_tier(folder: Path, tier: str) -> None:
    """Raise a submission's trust, as maintainers do in review."""
    path = folder / "run.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    if tier != "self-reported":
        facts["trust"] = {"tier": tier, "by": "maintainers", "grounds": "a second run"}
    path.write_text(json.dumps(facts), encoding="utf-8")
