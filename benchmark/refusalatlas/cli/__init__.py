"""The command line: one module a command, loaded only when it is asked for."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from .. import __version__
from ..errors import AtlasError
from ..plugins import Plugin, plugins, warn

COMMANDS = {
    "run": ("run", "Run lm_eval with the tasks found."),
    "judge": ("judge", "Judge a finished run, or any prompts and responses, again."),
    "guards": ("guards", "Score a run of guards: recall, false positives, F1, kinds of harm, by language."),
    "compare": ("compare", "Compare runs, paired by seed: difference with interval first, p second."),
    "power": ("power", "Say what a number of seeds can show, and how many a difference needs."),
    "predict": ("predict", "Say which words of the prompts go with refusal."),
    "score": ("score", "Score a run: rates with intervals, by track and language."),
    "tasks": ("tasks", "List, locate and generate the lm_eval tasks."),
    "languages": ("languages", "List languages and locales."),
    "new-language": ("new_language", "Begin a language: files with every text to write beside its English source."),
    "label": ("label", "Let two speakers label answers of a run, or take their labels back."),
    "review": ("review", "Make a sheet of texts for a speaker to read, or take it back."),
    "lint": ("lint", "Say what is wrong with texts, and what is left to write."),
    "doctor": ("doctor", "Say what is installed, which doors work and what is missing."),
    "demo": ("demo", "Run three reference policies on three languages and build the site."),
}
"""Our own commands: module beside this one, and a line of help that needs no import."""


def _load(plugin: Plugin) -> click.Command | None:
    """Return a plug-in's command; one of somebody else that is broken is named on stderr and left out."""
    try:
        command = plugin.load()
        if not isinstance(command, click.Command):
            raise TypeError(f"{plugin.value} is not a click command")
    except Exception as error:
        if plugin.ours:
            raise
        warn(plugin, f"command {plugin.name!r} is skipped: {error!r}")
        return None
    return command


class _Group(click.Group):
    """A group that imports a command's module when that command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*COMMANDS, *(plugin.name for plugin in plugins("commands"))})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        command: click.Command | None = None
        if name in COMMANDS:
            module = importlib.import_module(f".{COMMANDS[name][0]}", __package__)
            command = module.command
        else:
            for plugin in plugins("commands"):
                if plugin.name == name:
                    command = _load(plugin)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, self._short_help(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _short_help(self, ctx: click.Context, name: str) -> str:
        if name in COMMANDS:
            return COMMANDS[name][1]
        command = self.get_command(ctx, name)
        return command.get_short_help_str(limit=80) if command else ""


@click.command(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="refusalatlas")
def cli() -> None:
    """Measure how language models refuse, in the languages and places where people use them.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 findings.
    """


def main(args: list[str] | None = None) -> Any:
    """Run the command line; our own errors are one line on stderr and exit code 1."""
    try:
        return cli.main(args=args, prog_name="refusalatlas", standalone_mode=True)
    except AtlasError as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(1)
