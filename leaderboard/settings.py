"""Whether a command, a model's arguments and further settings say the same as the settings that a rank rests on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from .schema import RunFile

LENGTH_KEYS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""Names of the limit of new tokens, the one that counts first."""

_SYSTEM_KEYS = frozenset({"system_instruction", "system_prompt", "system", "system_message"})
_PAIR = re.compile(r"""["']?([A-Za-z_]+)["']?\s*[=:]\s*["']?([^,\s"'{}]+)""")


def contradictions(run: RunFile) -> Iterator[str]:
    """Yield what elsewhere in ``run.json`` goes against the settings of a run that says it may be ranked."""
    if not run.ranking.ranked:
        return
    generated, arguments, system = _of_command(run.command)
    places: tuple[tuple[str, Mapping[str, Any], bool], ...] = (
        ("command", generated, True),
        ("generation.other", run.generation.other, True),
        ("model_args", {**_pairs_in(run.model_args.get("gen_kwargs")), **run.model_args}, False),
        ("command", arguments, False),
    )
    for place, said, lengths in places:
        for key, value in said.items():
            wanted = _against(run, key, value, lengths=lengths)
            if wanted is not None:
                yield f"{place} says {key}={str(value)[:40]}, but {wanted}"
    if system and not run.prompting.system_prompt:
        yield "command gives a system instruction, but prompting.system_prompt says that there was none"


def never_sent(omit: Any) -> frozenset[str]:
    """Return the parameters that ``omit`` of `refusalatlas-chat` keeps from the server, which then has its own way."""
    names = [str(name) for name in omit] if isinstance(omit, list | tuple) else re.split(r"[+,\s]", str(omit or ""))
    return frozenset(name.strip() for name in names if name.strip())


def _against(run: RunFile, key: str, value: Any, *, lengths: bool) -> str | None:
    """Return what the settings say instead, or None where they say the same."""
    generation, text = run.generation, str(value).strip().lower()
    if key == "temperature" and _number(text) != (generation.temperature or 0.0):
        return f"generation.temperature is {generation.temperature}"
    if key == "do_sample" and text in ("true", "1", "yes") and generation.do_sample is not True:
        return f"generation.do_sample is {generation.do_sample}"
    if key in ("top_p", "top_k", "min_p") and key not in generation.other:
        return "generation does not say so"
    if key == "top_p" and _number(str(generation.other["top_p"])) != _number(text):
        return f"generation.other says {generation.other['top_p']}"
    if lengths and key in LENGTH_KEYS and _number(text) != generation.max_tokens:
        return f"generation.max_tokens is {generation.max_tokens}"
    if key == "omit" and "temperature" in never_sent(value) and generation.temperature is not None:
        return f"generation.temperature is {generation.temperature}"
    if key == "omit" and never_sent(value) & set(LENGTH_KEYS) and generation.max_tokens is not None:
        return f"generation.max_tokens is {generation.max_tokens}"
    if key in _SYSTEM_KEYS and text not in ("", "none", "null") and not run.prompting.system_prompt:
        return "prompting.system_prompt says that there was none"
    return None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _of_command(command: str) -> tuple[dict[str, str], dict[str, str], bool]:
    """Return the settings of generation, the model's arguments, and whether a system instruction is given.

    Options may be cut short, as argparse lets them be.
    """
    try:
        tokens = shlex.split(command)
    except ValueError:
        tokens = command.split()
    generated: dict[str, str] = {}
    arguments: dict[str, str] = {}
    system, option = False, ""
    for token in tokens:
        value: str | None = token
        if token.startswith("--"):
            option, given, rest = token.partition("=")
            value = rest if given else None
            system = system or option.startswith("--sys")
        if value is not None and option.startswith("--gen"):
            generated |= _pairs_in(value)
        elif value is not None and option.startswith("--model_"):
            arguments |= _pairs_in(value)
    return generated, arguments, system


def _pairs_in(text: Any) -> dict[str, str]:
    return dict(_PAIR.findall(text)) if isinstance(text, str) else {}
