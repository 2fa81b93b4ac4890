"""What ends a round of asking before all is asked: a budget that is spent, and a server that fails too often."""

from __future__ import annotations

from collections import Counter, deque

from refusalatlas.errors import AtlasError

from .reply import SETTLED, Cause
from .settings import LlmSettings

WINDOW, TOLERATED = 50, 10
"""Of so many last verdicts, so many may fail: 20 %."""

FEW = 3
"""So many verdicts say nothing about a server where they are fewer."""

_MEND = "and start again"


class Budget:
    """Requests and money that a process may spend on one judge.

    What a request may cost is set aside before it is sent, so that requests in flight cannot overdraw.
    """

    def __init__(self, settings: LlmSettings) -> None:
        self._settings, self._where = settings, settings.where
        self.requests = 0
        self.spent = 0.0
        self._aside = 0.0

    def change(self, settings: LlmSettings) -> None:
        """Go by other settings from now on; what has been spent stays spent."""
        self._settings = settings

    def take(self, size: int) -> float | None:
        """Set aside what a request may cost at most, and return that; None where it has to wait for those in flight.

        Args:
            size: Of the request's texts in UTF-8 bytes; no tokeniser makes more tokens of them.

        Raises:
            AtlasError: where that is more than is left for certain.
        """
        most = self._settings.cost(size, self._settings.max_tokens)
        requests, cost = self._settings.max_requests, self._settings.max_cost
        if requests is not None and self.requests >= requests:
            raise AtlasError(
                f"{requests} requests are spent", where=self._where, mend=f"raise max_requests (--max-requests) {_MEND}"
            )
        if cost is not None and self.spent + most > cost:
            what = f"the next request could cost more than is left of {cost:g} (spent {self.spent:.4g})"
            raise AtlasError(what, where=self._where, mend=f"raise max_cost (--max-cost) {_MEND}")
        if cost is not None and self.spent + self._aside + most > cost:
            return None
        self.requests += 1
        self._aside += most
        return most

    def settle(self, aside: float, tokens: tuple[int, int] | None, *, billed: bool) -> None:
        """Book what a request has cost.

        Args:
            aside: What `take` returned.
            tokens: Sent and generated; None where the server does not say, and all that was set aside counts.
            billed: Whether the request may have been paid for at all.
        """
        self._aside -= aside
        if billed:
            self.spent += aside if tokens is None else self._settings.cost(*tokens)


def stopped(error: AtlasError, asked: Counter[Cause | None], *, kept: bool) -> AtlasError:
    """Return the error that ends a round of asking, with what has come of the questions so far.

    Args:
        error: Why it ends.
        asked: Questions of this process, by the cause of abstaining; None for a verdict.
        kept: Whether there is a cache.
    """
    if not asked:
        return error
    verdicts = sum(asked[cause] for cause in SETTLED)
    counts = {str(cause): count for cause, count in asked.items() if cause not in SETTLED}
    named = f"{verdicts} verdicts so far are" if verdicts > 1 else f"{verdicts or 'no'} verdict so far is"
    parts = [f"{named} kept" if kept or not verdicts else f"{named} lost (cache: false)"]
    if failures := ", ".join(f"{count} {cause}" for cause, count in sorted(counts.items())):
        parts.append(f"{failures} will be asked for again")
    if counts.get("unparsable", 0) + counts.get("empty", 0) > verdicts:
        parts.append("a model that hardly writes a verdict needs more max_tokens, or is the wrong one")
    said = ", ".join(parts)
    return AtlasError(error.what, where=error.where, mend=f"{error.mend}: {said}" if error.mend else said)


def check_any(asked: Counter[Cause | None], detail: str, where: str) -> None:
    """Stop where nothing but failed requests has come of everything that was asked.

    Args:
        asked: Questions of this process, by the cause of abstaining; None for a verdict.
        detail: Of the last one.
        where: What to call the judge.

    Raises:
        AtlasError: where there are `FEW` or more, and all have failed.
    """
    if FEW <= asked.total() == asked["failed"]:
        what = f"all {asked.total()} verdicts failed, the last with {detail}"
        raise AtlasError(what, where=where, mend=f"see to the server {_MEND}")


class Health:
    """How the last verdicts went.

    Args:
        where: What to call the judge in messages.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._window: deque[bool] = deque(maxlen=WINDOW)

    def note(self, failed: bool, detail: str) -> None:
        """Take account of one verdict.

        Raises:
            AtlasError: where too many of the last ones failed.
        """
        self._window.append(failed)
        failures = sum(self._window)
        if failures > TOLERATED:
            seen = len(self._window)
            mend = f"see to the server, lower concurrency or choose another model, {_MEND}"
            raise AtlasError(
                f"{failures} of the last {seen} verdicts failed, the last with {detail}", where=self._where, mend=mend
            )
