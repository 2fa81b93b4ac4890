"""What `refusalatlas judge` may spend: limits on the command line, and what it says about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from judgeserver import Server, verdict
from refusalatlas.judges import panel as panels

from refusalatlas.cli import cli

PANEL = """\
description: For the test.
judges:
  - {{name: rules, family: rules}}
escalate:
  - {{name: llm, family: llm, params: {{base_url: "{url}", model: m-1, concurrency: 1, cache: "{cache}"}}}}
gate: {{families: 2, surest: 0.7, single_family: 0.95, dissent: 0.85, escalation: 0.7}}
"""

Judge = Callable[..., Result]


@pytest.fixture
def judge(server: Server, tmp_path: Path) -> Judge:
    """Run the command on six answers that no rule knows, with a panel that asks the server about them."""
    server.answer = lambda body, number: verdict("compliant", usage=(100, 10))
    (tmp_path / "paid.yaml").write_text(PANEL.format(url=server.url, cache=tmp_path / "verdicts"), encoding="utf-8")
    (tmp_path / "free.yaml").write_text(
        "description: For the test.\njudges: [{name: rules, family: rules}, {name: ngram, family: ngram}]\n"
        "gate: {families: 2, surest: 0.7, single_family: 0.95, dissent: 0.85}\n",
        encoding="utf-8",
    )
    panels._load.cache_clear()
    rows = [
        {"id": str(n), "prompt": "Which way?", "response": f"Turn left after {n} streets.", "language": "en"}
        for n in range(6)
    ]
    source = tmp_path / "answers.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def run(*arguments: str, panel: str = "paid") -> Result:
        panels._load.cache_clear()  # each start is a new process
        return CliRunner().invoke(cli, ["judge", str(source), "--panel", str(tmp_path / f"{panel}.yaml"), *arguments])

    return run


def test_requests_end_where_the_limit_says_and_a_second_start_pays_for_the_rest(server: Server, judge: Judge) -> None:
    first = judge("--max-requests", "4")
    assert first.exit_code == 1
    assert "4 requests are spent; raise max_requests (--max-requests) and start again" in str(first.exception)
    assert "judge llm: 4 requests\n" in first.stderr
    second = judge("--max-requests", "2")
    assert second.exit_code == 0, second.output
    assert len(server.bodies) == 6
    decided = [json.loads(line) for line in second.stdout.splitlines()]
    assert [(row["id"], row["label"], row["escalated_by"]) for row in decided] == [
        (str(n), "compliant", "llm") for n in range(6)
    ]


def test_money_ends_where_the_limit_says(server: Server, judge: Judge) -> None:
    server.answer = lambda body, number: verdict("compliant", usage=(5000, 500))
    done = judge("--max-cost", "0.25", "--prices", "10", "100")
    assert done.exit_code == 1
    assert "raise max_cost (--max-cost)" in str(done.exception)
    sent = len(server.bodies)
    assert 0 < sent < 6
    assert f"judge llm: {sent} request" in done.stderr
    assert f"cost {sent * 0.1:.4g}" in done.stderr


def test_without_limits_all_is_asked_and_the_count_is_said(server: Server, judge: Judge) -> None:
    done = judge()
    assert done.exit_code == 0, done.output
    assert done.stderr.endswith("judge llm: 6 requests\n")


def test_a_limit_of_cost_needs_prices(server: Server, judge: Judge) -> None:
    done = judge("--max-cost", "1")
    assert done.exit_code == 1
    assert "--prices INPUT OUTPUT" in str(done.exception)
    assert server.bodies == []


def test_a_panel_that_asks_nobody_has_nothing_to_limit(judge: Judge) -> None:
    done = judge("--max-requests", "5", panel="free")
    assert done.exit_code == 1
    assert "panel free: asks nobody who is paid for" in str(done.exception)


@pytest.mark.parametrize("arguments", [("--max-requests", "0"), ("--max-cost", "0"), ("--prices", "-1", "1")])
def test_limits_that_are_none_are_usage_errors(judge: Judge, arguments: Any) -> None:
    assert judge(*arguments).exit_code == 2
