"""What the rules ask the judges' room for, each looked up once a process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..plugins import load_judge_classes, load_service

service: Callable[[str], Callable[..., Any]] = functools.lru_cache(maxsize=16)(load_service)
"""`plugins.load_service`, remembered."""


@functools.lru_cache(maxsize=1)
def rules_judge() -> Any:
    """Return the judge by phrases, with the lexicons of the languages that are installed."""
    return load_judge_classes()["rules"]()
