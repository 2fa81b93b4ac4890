"""What ``--model_args`` may hold for ``refusalatlas-command``, and the command lines of tools that are known."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from refusalatlas.errors import AtlasError, UnknownNameError
from refusalatlas.files import problems
from refusalatlas.scrub import secret_values, without_secrets, without_values

from .settings import FROM_LM_EVAL, SECRETS

PROMPT, SYSTEM = "{prompt}", "{system}"

MINIMAL_SYSTEM = "You are a helpful assistant."
"""Takes the place of the long instructions for programming that such tools bring along."""

PRESETS: Mapping[str, Mapping[str, Any]] = {
    # Claude Code, print mode: prompt from stdin, no tools, no MCP servers, no settings of the user, nothing kept.
    # Its plain output does not tell an error from an answer, its JSON does.
    "claude-code": {
        "command": (
            "claude", "-p", "--output-format", "json", "--tools", "", "--strict-mcp-config", "--setting-sources", "",
            "--no-session-persistence", "--system-prompt", SYSTEM,
        ),
        "answer_field": "result",
        "error_field": "is_error",
        "blocked_text": ("violate our Usage Policy",),
    },
}  # fmt: skip
"""Arguments by name of the preset."""


class CommandSettings(BaseModel):
    """Arguments of ``refusalatlas-command``.

    Attributes:
        model: Name for results and leaderboard.
        command: Executable and arguments: a list, or one text that is split as a shell would split it (there is no
            shell). ``{prompt}`` and ``{system}`` stand for the two texts; without ``{prompt}`` the prompt goes to
            standard input.
        arguments: Added to the command, for instance to a preset.
        system: System prompt for ``{system}``, where the run gives none.
        num_concurrent: Commands that run at a time, 1 to 256.
        max_retries: Attempts after the first, where a command fails, 0 to 100.
        timeout: Seconds after which a command is killed, with all that it has started.
        retry_wait: Seconds before the first retry; each further one waits twice as long, 30 at most.
        max_output: Bytes of output after which a command is killed; its answer counts as cut off.
        answer_field: Where the output is a JSON object: name of the field that holds the answer.
        error_field: Name of the field that is true where the answer is an error.
        blocked_text: Texts that stand for a provider's filter: in what a failed command says, or at the beginning of
            an answer.
        blocked_codes: Exit codes that stand for a provider's filter.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    model: Annotated[str, Field(min_length=1)]
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    arguments: tuple[str, ...] = ()
    system: str = MINIMAL_SYSTEM
    num_concurrent: Annotated[int, Field(ge=1, le=256)] = 4
    max_retries: Annotated[int, Field(ge=0, le=100)] = 1
    timeout: Annotated[float, Field(gt=0, le=86_400)] = 180.0
    retry_wait: Annotated[float, Field(ge=0, le=30)] = 2.0
    max_output: Annotated[int, Field(ge=1)] = 4_000_000
    answer_field: str | None = None
    error_field: str | None = None
    blocked_text: tuple[str, ...] = ()
    blocked_codes: tuple[int, ...] = ()

    @field_validator("command", "arguments", mode="before")
    @classmethod
    def _split(cls, given: Any) -> Any:
        return shlex.split(given) if isinstance(given, str) else given

    @field_validator("blocked_text", "blocked_codes", mode="before")
    @classmethod
    def _one(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str | int) else given

    @property
    def line(self) -> tuple[str, ...]:
        """Executable and all arguments, with their places for prompt and system prompt."""
        return (*self.command, *self.arguments)

    @property
    def identity(self) -> dict[str, Any]:
        """All that must be the same for a cached answer to be this model's answer."""
        chosen = self.model_dump(include={"model", "answer_field", "error_field", "max_output"}, mode="json")
        return {**chosen, "command": list(self.line), "system": self.system}

    def holds(self, place: str) -> bool:
        """Whether an argument holds ``{prompt}`` or ``{system}``."""
        return any(place in argument for argument in self.line[1:])


def read_command_settings(arguments: Mapping[str, Any]) -> CommandSettings:
    """Return settings from the keyword arguments that lm_eval hands over.

    Raises:
        AtlasError: where an argument is missing or wrong, would put a key into the results, or names a command that
            is not there.
        UnknownNameError: where an argument or a preset is unknown.
    """
    given = {name: value for name, value in arguments.items() if name not in FROM_LM_EVAL and value is not None}
    if secrets := SECRETS & given.keys():
        raise _leaks(", ".join(sorted(secrets)))
    if (preset := given.pop("preset", None)) is not None:
        if preset not in PRESETS:
            raise UnknownNameError("preset of refusalatlas-command", str(preset), list(PRESETS))
        given = {**PRESETS[preset], **given}
    known = list(CommandSettings.model_fields)
    for name in given:
        if name not in known:
            raise UnknownNameError("argument of refusalatlas-command", name, [*known, "preset"])
    try:
        settings = CommandSettings.model_validate(given)
    except ValidationError as error:
        raise AtlasError(
            "; ".join(problems(error)),
            where="--model_args",
            mend='give for instance model=NAME,preset=claude-code, or model=NAME "command=TOOL --system {system}"',
        ) from None
    _check(settings)
    return settings


def _check(settings: CommandSettings) -> None:
    line = settings.line
    shown = repr([*line, settings.system, settings.model])
    if without_secrets(shown) != shown or without_values(shown, secret_values()) != shown:
        raise _leaks("the command holds what looks like a key, which")
    if shutil.which(line[0]) is None:
        mend = "install it, or give its path"
        raise AtlasError("no such command, or not to be executed", where=line[0], mend=mend)
    for argument in line[1:]:
        if argument and not Path(argument).is_absolute() and Path(argument).is_file():
            mend = "give the path in full: each command runs in an empty folder of its own"
            raise AtlasError("is a file of the current folder", where=argument, mend=mend)


def _leaks(what: str) -> AtlasError:
    return AtlasError(
        f"{what} would be written into the results",
        where="--model_args",
        mend="put the key into the environment variable that the tool reads (and make a new one if this was real)",
    )
