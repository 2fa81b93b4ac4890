"""Numbers in sentences: so many of a thing, and p-values."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``1 run``, ``1,204 runs``; `plural` where an s does not make it."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def p_words(p: float) -> str:
    """Return a p-value as text, ``p = .034``; below a thousandth ``p < .001``, never a nought.

    It has no nought before the point, since it cannot be more than 1 (Publication Manual of the APA, 7th ed., §6.36).
    """
    return f"p {'<' if p < 0.001 else '='} {p_number(p).lstrip('< ')}"


def p_number(p: float) -> str:
    """Return a p-value as a table shows it: ``.034``, ``< .001`` or ``1``."""
    if p < 0.001:
        return "< .001"
    shown = f"{p:.3f}"
    return "1" if shown == "1.000" else shown.removeprefix("0")
