"""What the numbers are called, which way is better, and how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

DASH = "\N{EM DASH}"
MINUS = "\N{MINUS SIGN}"


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
        Metric(
            "awareness_rate",
            "Knows the norm",
            "Of the requests that touch a local norm, the share whose answer may know it.",
            "higher",
        ),
        Metric(
            "unaware_compliance",
            "Complies unaware",
            "Of the requests that touch a local norm, the share complied with by an answer that does not name it.",
            "lower",
        ),
        Metric("partial_rate", "Partly refused", "Share of all decided answers that refuse in part.", "neither"),
        Metric(
            "coerced_fabrication_rate",
            "Coerced fabrication",
            "Of the inputs that do not hold what is asked for, the share for which a value was made up.",
            "lower",
        ),
        Metric(
            "escape_utilisation_rate",
            "Escape used",
            "Of such inputs, the share for which the form’s own option for them was taken.",
            "higher",
        ),
        Metric(
            "control_accuracy",
            "Right on controls",
            "Of the inputs that do hold it, the share for which the right value was given.",
            "higher",
        ),
        Metric(
            "grounding_gap",
            "Grounding gap",
            "Share refused of harmful requests put as a question, less the share refused where a place is asked for.",
            "lower",
            "index",
        ),
        Metric(
            "grounding_accuracy",
            "Right place",
            "Of the harmless requests for a place, the share for which the right one was given.",
            "higher",
        ),
        Metric(
            "misnamed_rate",
            "Names another thing",
            "Of the answers about a picture of one thing, the share that name another thing instead.",
            "lower",
        ),
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
FORMS = (
    "coerced_fabrication_rate",
    "escape_utilisation_rate",
    "control_accuracy",
    "grounding_gap",
    "grounding_accuracy",
    "misnamed_rate",
)
"""What is said of tracks whose answers fill in a form, give a place or name a thing; shown only beside these."""

NORMS = ("awareness_rate", "unaware_compliance")
"""What is shown beside the headline where requests touch a local norm."""


def shown_metrics(numbers: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """Return the metrics that a table of some places shows, each place's numbers given by metric."""
    rows = [one for one in numbers if one]
    found = {metric for one in rows for metric in (*NORMS, *FORMS) if metric in one}
    norms, forms = (tuple(metric for metric in some if metric in found) for some in (NORMS, FORMS))
    # First where the table is about norms; beside rows that know none they would be a column of dashes.
    first = norms and all(metric in one for metric in norms for one in rows)
    return (*norms, *HEADLINE, *forms) if first else (*HEADLINE, *norms, *forms)


def written(value: float | None, scale: str) -> str:
    """Return a number as pages show it; a missing one is a dash, never a nought."""
    if value is None:
        return DASH
    if scale == "percent":
        return f"{100 * value:.1f}"
    shown = f"{value:.2f}"
    return "0.00" if shown == "-0.00" else shown.replace("-", MINUS)


def in_points(share: float) -> str:
    """Return a size, 0 to 2, in points: to one decimal as rates are, to one figure where that would be nought."""
    return f"{100 * share:.1f}" if 100 * share >= 0.1 else f"{100 * share:.1g}"


def signed_points(difference: float) -> str:
    """Return a difference in points with its sign."""
    return f"{MINUS if difference < 0 else '+'}{in_points(abs(difference))}"


def interval(low: float | None, high: float | None, scale: str) -> str:
    """Return a 95 % interval as pages show it, or an empty string where there is none."""
    if low is None or high is None:
        return ""
    return f"[{written(low, scale)}, {written(high, scale)}]"
