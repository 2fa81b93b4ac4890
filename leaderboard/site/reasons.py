"""Why a number has no interval, as pages say it: in words of the interface, with the bound where there is one."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from .metrics import DASH, written
from .untrusted import visible
from .wording import mark

_BOUND = re.compile(r"at (most|least) (\d\.\d+)")
_ALIKE = "The answers are nearly all alike; an interval takes {0} that are not."
_EXPLAINED = (
    (re.compile(r"too few seeds \((\d+), at least (\d+) are needed\)"), "{0} seeds; an interval takes {1}."),
    (re.compile(r"too few events \(under (\d+)\)"), _ALIKE),
    (re.compile(r"too few events \(under (\d+) on both sides together\)"), _ALIKE),
    (
        re.compile(r"too few events \(none the other way in (\d+) seeds: .*\)"),
        "None of {0} seeds went the other way; the bound is one-sided, 95 %.",
    ),
    (re.compile(r"too few seeds differ \(under (\d+)\)"), "An interval takes {0} seeds that differ."),
)
"""Reasons of `refusalatlas.stats` and what they say at length, with the numbers that stand in them."""


_SETTINGS = (
    "answers may have been sampled at a temperature above 0",
    "the temperature is not known",
    "the model's chat template was not applied",
    "a system prompt was given",
)
_CAPPED = re.compile(r"new tokens were not capped at (\d{1,9}) \(but at (\d{1,9}|None)\)")
"""Why `schema.ranking_of` does not rank settings."""


def setting(reason: str) -> Markup:
    """Return why settings are not ranked; what is none of our sentences, since a run says it itself, as it is."""
    capped = _CAPPED.fullmatch(reason)
    if capped:
        at = DASH if capped[2] == "None" else capped[2]
        return mark("new tokens were not capped at {0} (but at {1})", **{"0": capped[1], "1": at})
    if reason in _SETTINGS:
        return mark(reason)
    return Markup('<bdi lang="en">') + escape(visible(reason)) + Markup("</bdi>")


def shortly(reason: str, scale: str) -> Markup:
    """Return a reason in a word or two; where all answers are alike the bound that their number leaves."""
    bound = _BOUND.search(reason)
    if bound is None:
        return mark(reason.partition(" (")[0])
    unit = "\N{NARROW NO-BREAK SPACE}%" if scale == "percent" else ""
    return mark(f"at {bound[1]} {{bound}}", bound=f"{written(float(bound[2]), scale)}{unit}")


def at_length(reason: str) -> Markup:
    """Return a reason in a sentence, or the word or two where nothing more is known."""
    for pattern, sentence in _EXPLAINED:
        found = pattern.fullmatch(reason)
        if found:
            return mark(sentence, **{str(index): value for index, value in enumerate(found.groups())})
    return mark(reason.partition(" (")[0])
