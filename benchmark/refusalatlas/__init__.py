"""Refusal Atlas: how language models refuse, in the languages and places where people use them."""

from __future__ import annotations

from pathlib import Path

__version__ = "0.1.0"

_checkout = Path(__file__).resolve().parents[2]
if (_checkout / "judges" / "panels").is_dir() and (_checkout / "pyproject.toml").is_file():
    # In a checkout the house's other rooms (judges, leaderboard, tasks, translations) lie beside `benchmark`;
    # in a wheel they lie inside this package. Either way they are `refusalatlas.<room>`.
    __path__.append(str(_checkout))
