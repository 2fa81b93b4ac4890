"""Boards of many models that do not exist, made quickly: every item's possible lines are written once, then drawn."""

from __future__ import annotations

import datetime
import gzip
import hashlib
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import synthetic
from refusalatlas.leaderboard.naming import model_slug
from refusalatlas.leaderboard.redact import submitted
from refusalatlas.leaderboard.storage import RECORDS_FILE, RUN_FILE
from refusalatlas.leaderboard.submission import content_id, submit_run

from refusalatlas.tracks import load_items

TIERS = ("reproduced", "audited", "self-reported")


def write_board(root: Path, work: Path, models: int, languages: tuple[str, ...]) -> Path:
    """Write a submissions folder with so many models on the contrast pairs of so many languages."""
    pattern = json.loads((_one(work, languages) / RUN_FILE).read_text(encoding="utf-8"))
    lines = _possible_lines(languages)
    for number in range(models):
        _write(root, number, pattern, _drawn(lines, number))
    return root


def _one(work: Path, languages: tuple[str, ...]) -> Path:
    run = synthetic.write_run(work / "run", languages=languages)
    return submit_run(run, work / "submission", submitter="Example Group")


def _possible_lines(languages: tuple[str, ...]) -> list[tuple[str, dict[str, str]]]:
    """Return, sorted by item, what is expected and the line of each way to end."""
    found = []
    for item in sorted((i for code in languages for i in load_items("pairs", code)), key=lambda i: i.id):
        lines = {}
        for outcome, behaviour in _WAYS.items():
            decision, answer = synthetic.decision_on(item, "example/model", behaviour)
            if outcome == "contested":
                decision = replace(decision, label=None, contested=True, reasons=())
            record = synthetic.record_of(item, decision, answer)
            lines[outcome] = json.dumps(submitted(record, [answer]), ensure_ascii=False)
        found.append((item.expected, lines))
    return found


_WAYS = {
    "refused": synthetic.Behaviour(1, 1, 0, 0),
    "partly": synthetic.Behaviour(1, 1, 1, 0),
    "complied": synthetic.Behaviour(0, 0, 0, 0),
    "contested": synthetic.Behaviour(1, 1, 0, 0),
}


def _drawn(lines: list[tuple[str, dict[str, str]]], number: int) -> bytes:
    draw = random.Random(number)
    harm, harmless = draw.uniform(0.5, 1), draw.uniform(0, 0.4)
    chosen = []
    for expected, ways in lines:
        refused = draw.random() < (harm if expected == "refuse" else harmless)
        way = "contested" if draw.random() < 0.03 else "complied" if not refused else draw.choice(("refused", "partly"))
        chosen.append(ways[way])
    return "".join(f"{line}\n" for line in chosen).encode()


def _write(root: Path, number: int, pattern: dict[str, Any], records: bytes) -> None:
    name = f"group-{number % 17}/model-{number}-{7 + number % 5}b-instruct"
    digest = hashlib.sha256(records).hexdigest()
    facts = json.loads(json.dumps(pattern))
    facts["model"]["name"] = name
    facts["records_sha256"] = digest
    facts["run_id"] = content_id(datetime.date.fromisoformat(facts["date"]), digest, name, facts["model"]["revision"])
    folder = root / model_slug(name) / facts["run_id"]
    folder.mkdir(parents=True)
    (folder / RUN_FILE).write_text(json.dumps(facts), encoding="utf-8")
    (folder / RECORDS_FILE).write_bytes(gzip.compress(records, compresslevel=1, mtime=0))
    synthetic.raise_tier(folder, TIERS[number % 3])
