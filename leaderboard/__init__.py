"""Submissions, their checks, and the static site that is built from them."""

from __future__ import annotations

from pathlib import Path

__all__ = ["default_submissions"]


def default_submissions() -> Path:
    """Return ``leaderboard/submissions`` of the working folder, or of the checkout that this file lies in."""
    here = Path("leaderboard") / "submissions"
    checkout = Path(__file__).resolve().parent
    if not here.is_dir() and (checkout.parent / "pyproject.toml").is_file():
        return checkout / "submissions"
    return here
