"""Answers that were demanded in a form: opened before the judges see them, and closed again over their decisions."""

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
    if exchange.form == "json" and exchange.condition is None:
        from .json_form import JsonForm

        return JsonForm.of(exchange)
    return Plain(exchange)
