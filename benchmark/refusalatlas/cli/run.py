"""`refusalatlas run`: lm_eval with our tasks, for where the autoload cannot work."""

from __future__ import annotations

import sys

import click


@click.command(
    "run",
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Run lm_eval with the tasks found; all arguments are those of `lm_eval run`.

    The same as a bare `lm_eval run …`, for environments in which Python's start-up files are not read
    (`pip install --target`, `python -S`) or the autoload is turned off.
    """
    import lm_eval.tasks.manager
    from lm_eval.__main__ import cli_evaluate

    from ..hook import patch

    patch(lm_eval.tasks.manager)
    sys.argv = ["lm_eval", "run", *arguments]
    cli_evaluate()
