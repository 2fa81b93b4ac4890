"""Submissions whose every text tries something: elements, links, templates, marks of ours, overrides, endless lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import synthetic
from refusalatlas.leaderboard.storage import RECORDS_FILE, RUN_FILE, iter_lines, pack
from refusalatlas.leaderboard.submission import submit_run

EVIL = (
    "</script><script>evil()</script>",
    "\"'><img src=x onerror=evil()>",
    '<x-evil evil="1">{{ 7*191 }}{% raw %}',
    '<a href="javascript:evil()">go</a>',
    "</title></textarea></style><svg onload=evil()>",
    "<!-- &lt;script&gt; ]]>",
    "javascript:evil()",
    "=HYPERLINK(evil)",
    "@base",
    "@nowhere",
)
UNSEEN = "\u202eoverride\u202c \u2066isolate \u2028line"
LONG = 10_000


def write_submissions(root: Path, work: Path, *, hostile: bool = True) -> Path:
    """Write one submission for each of the texts, or as many with plain words in the same places."""
    for number, text in enumerate(EVIL):
        said = text if hostile else f"plain words {number}"
        run = synthetic.write_run(work / str(number), model=f"group/model-{number}", languages=("en", "ar"))
        name = f"{said} {number}/x" if number % 2 else f"x/{number} {said}"
        _change(submit_run(run, root, submitter=said, model_name=name, notes=said), said, hostile)
    return root


def _change(folder: Path, said: str, hostile: bool) -> None:
    more = f"{said} {UNSEEN} " if hostile else f"{said} "
    facts = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    facts["notes"] = f"{more}{'n' * 7000}"
    facts["command"] = f"lm_eval {more}{'c' * (15 * LONG)}"
    facts["model"]["revision"] = said
    facts["backend"] = said
    facts["engines"]["lm_eval"] = f"{said}{'e' * 400}"
    facts["prompting"].update(system_prompt=f"{more}{'p' * 7000}")
    facts["ranking"] = {"ranked": False, "reason": said}
    facts["trust"] = {"tier": "audited", "by": said, "grounds": said}
    rows = [json.loads(line) for _, line in iter_lines(folder / RECORDS_FILE)]
    for row in rows:
        _change_answers(row, more if hostile else said)
    (folder / RUN_FILE).write_text(json.dumps(facts), encoding="utf-8")
    (folder / RECORDS_FILE).write_bytes(pack([json.dumps(row) for row in rows]))


def _change_answers(row: dict[str, Any], said: str) -> None:
    for decision, provenance, opening in zip(row["decisions"], row["provenance"], row["openings"], strict=True):
        provenance["served_model"] = "".join(filter(str.isprintable, said))
        if opening is not None:
            row["openings"] = [f"{said}\x02@nowhere\x03 mark"[:160]]
            pieces = (said[:20], said[5:30], "mark", "m", "&", "<")
            decision["reasons"] = [{"reason": "law", "evidence": piece} for piece in pieces if piece]
