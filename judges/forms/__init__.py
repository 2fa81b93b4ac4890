"""Answers of which more is asked than a label: opened before the judges see them, and closed over their decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from refusalatlas.records import Decision, Exchange


class Opened(Protocol):
    """An exchange, opened."""

    @property
    def parts(self) -> tuple[Exchange, ...]:
        """What the judges are shown: at least one exchange."""

    def close(self, decisions: Sequence[Decision]) -> Decision:
        """Return the decision on the whole, from one on each part."""


@dataclass(frozen=True, slots=True)
class Plain:
    """An exchange whose answer is text, shown as it is."""

    exchange: Exchange

    @property
    def parts(self) -> tuple[Exchange, ...]:
        """The exchange itself."""
        return (self.exchange,)

    def close(self, decisions: Sequence[Decision]) -> Decision:
        """Return its decision."""
        return decisions[0]


def opened(exchange: Exchange) -> Opened:
    """Return an exchange, opened by its form; a form that is not known is read as text."""
    if exchange.condition is not None:
        return Plain(exchange)
    if exchange.form == "json":
        from .json_form import JsonForm

        return JsonForm.of(exchange)
    if exchange.target is not None:
        from .grounding import GroundingForm

        return GroundingForm.of(exchange, exchange.target)
    if exchange.field is not None:
        from .field_form import FieldForm

        return FieldForm.of(exchange, exchange.field)
    if exchange.shown is not None:
        from .shown import ShownForm

        return ShownForm(exchange, exchange.shown)
    if exchange.cues and exchange.condition is None:
        from .awareness import AwareForm

        return AwareForm(exchange)
    return Plain(exchange)
