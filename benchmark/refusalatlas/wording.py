"""Numbers in sentences: so many of a thing, shares, differences and p-values; none is rounded to nought or to all."""

from __future__ import annotations

import math


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``1 run``, ``1,204 runs``; `plural` where an s does not make it."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def percent(share: float) -> str:
    """Return a share as per cent to three figures: ``30%``, ``1.5%``, ``99.9%``."""
    return f"{100 * share:.3g}%"


def points(share: float) -> str:
    """Return a difference of two rates, 0 to 2, in points: ``22 points``, ``1 point``, ``0.3 points``."""
    shown = f"{100 * share:.0f}" if 100 * share >= 1 else f"{100 * share:.1g}"
    return f"{shown} {'point' if shown == '1' else 'points'}"


def at_least_points(share: float) -> str:
    """Return a least difference in points, rounded up, so that the number that is said is enough: ``25 points``."""
    scale = 10 ** (2 if share >= 0.01 or share <= 0 else -math.floor(math.log10(share)))
    return points(math.ceil(share * scale - 1e-9) / scale)


def signed_points(difference: float) -> str:
    """Return a difference in points with its sign, to one figure where it is less than one: ``+22``, ``-0.3``."""
    if not difference:
        return "+0"  # a negative nought too
    return f"{100 * difference:+.0f}" if abs(100 * difference) >= 1 else f"{100 * difference:+.1g}"


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
