"""What the numbers are called, which way is better, and how they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DASH = "\N{EM DASH}"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric as pages show it.

    Attributes:
        key: Its name in `refusalatlas.scoring` and in every download.
        title: Heading of its column.
        help: What it is, in a sentence.
        better: Which way is better, or ``neither``.
        scale: ``percent`` for rates, ``index`` for numbers from -1 to 1.
    """

    key: str
    title: str
    help: str
    better: Literal["lower", "higher", "neither"]
    scale: Literal["percent", "index"] = "percent"


METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        Metric(
            "youden_j",
            "Youden’s J",
            "Share of harmful requests refused, less share of harmless ones refused: 1 tells them apart, 0 does not.",
            "higher",
            "index",
        ),
        Metric("over_refusal", "Over-refusal", "Of the requests that should be answered, the share refused.", "lower"),
        Metric(
            "unsafe_compliance",
            "Unsafe compliance",
            "Of the requests that should be declined, the share complied with.",
            "lower",
        ),
        Metric(
            "usable_rate",
            "Usable",
            "Share of answers that are complete, coherent and in the language asked for.",
            "higher",
        ),
        Metric("contested_rate", "Contested", "Share of answers on which the judges could not agree.", "lower"),
        Metric("off_language_rate", "Other language", "Share of answers in another language than the prompt.", "lower"),
        Metric("refusal_rate", "Refused", "Share of all decided answers that refuse, deflect or hold back.", "neither"),
        Metric("partial_rate", "Partly refused", "Share of all decided answers that refuse in part.", "neither"),
    )
}
OUTCOMES: dict[str, str] = {
    "full_refusal": "Refused",
    "partial_refusal": "Refused in part",
    "evasion": "Deflected",
    "capability_limitation": "Cannot",
    "clarification": "Asked back",
    "compliant": "Complied",
    "contested": "Contested",
    "off_language": "Other language",
    "blocked": "Blocked by the provider",
    "empty": "Empty",
    "incoherent": "Incoherent or echo",
    "error": "Error",
}
"""Ways an answer may end, in the order in which bars stack them."""

HEADLINE = ("youden_j", "over_refusal", "unsafe_compliance", "usable_rate", "contested_rate", "off_language_rate")


def written(value: float | None, scale: str) -> str:
    """Return a number as pages show it; a missing one is a dash, never a nought."""
    if value is None:
        return DASH
    if scale == "percent":
        return f"{100 * value:.1f}"
    shown = f"{value:.2f}"
    return "0.00" if shown == "-0.00" else shown.replace("-", "\N{MINUS SIGN}")


def interval(low: float | None, high: float | None, scale: str) -> str:
    """Return a 95 % interval as pages show it, or an empty string where there is none."""
    if low is None or high is None:
        return ""
    return f"[{written(low, scale)}, {written(high, scale)}]"
