"""Asks the judging model many things at once, patiently, and gives an opinion on each of them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from refusalatlas.errors import AtlasError
from refusalatlas.models.patience import pause, run
from refusalatlas.models.wire import Fault, wait_of

from .endpoint import Endpoint
from .limits import Budget, Health
from .reply import SCHEMA, Opinion, names_limit, names_schema, read_opinion
from .settings import LlmSettings

LONG_WAIT = 10.0
"""Seconds; a server that asks for more is waited for, and people are told."""

_log = logging.getLogger("refusalatlas.judges")

_FAILURES = frozenset({"failed", "unparsable", "empty"})  # declining to judge is an answer, not an outage


_Got = TypeVar("_Got", Opinion, Fault, Opinion | Fault)


@dataclass(frozen=True, slots=True)
class Question:
    """One user message, and the key under which its verdict is kept."""

    key: str
    text: str


@dataclass
class Server:
    """What has been learned about a server, and what has been spent there, over all rounds of a judge.

    Attributes:
        structured: Whether it takes a ``response_format``, as far as is known.
        renamed: Whether it wants ``max_completion_tokens``.
        reached: Whether it has ever replied.
        answered: Whether it has ever replied with an answer.
        waited: Until when, by the monotonic clock, people know that it is waited for.
    """

    budget: Budget
    health: Health
    structured: bool = True
    renamed: bool = False
    reached: bool = False
    answered: bool = False
    waited: float = float("-inf")


def ask_all(
    settings: LlmSettings,
    key: str | None,
    rubric: str,
    questions: Sequence[Question],
    server: Server,
    done: Callable[[Question, Opinion], None],
) -> None:
    """Ask all questions, `concurrency` at a time.

    Args:
        settings: Of the judge.
        key: API key, or None.
        rubric: The system message.
        questions: What to ask, in this order.
        server: What is known about the server; is changed.
        done: Called with a question and an opinion as soon as there is one.

    Raises:
        AtlasError: where going on makes no sense: nothing there, wrong key or model, budget spent, too many failures.
            What is in flight by then is still waited for, once, and goes to `done`.
    """
    run(_Round(settings, key, rubric, server, done).ask(questions))


class _Round:
    def __init__(
        self,
        settings: LlmSettings,
        key: str | None,
        rubric: str,
        server: Server,
        done: Callable[[Question, Opinion], None],
    ) -> None:
        self._settings, self._key, self._rubric = settings, key, rubric
        self._server, self._done = server, done
        self._error: AtlasError | None = None

    async def ask(self, questions: Sequence[Question]) -> None:
        self._stopped, self._settled = asyncio.Event(), asyncio.Event()
        queue = iter(questions)
        async with Endpoint(self._settings, self._key) as endpoint:
            count = min(self._settings.concurrency, len(questions))
            workers = [asyncio.create_task(self._work(endpoint, queue)) for _ in range(count)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
        if self._error is not None:
            raise self._error

    async def _work(self, endpoint: Endpoint, queue: Iterator[Question]) -> None:
        for question in queue:
            if self._stopped.is_set():
                return
            try:
                opinion = await self._survived(endpoint, question)
                if opinion is not None:
                    self._done(question, opinion)
                    self._server.health.note(self._failed(opinion), opinion.detail)
            except AtlasError as error:
                self._error = self._error or error
                self._stopped.set()

    async def _survived(self, endpoint: Endpoint, question: Question) -> Opinion | None:
        """Return what becomes of a question, whatever a reply makes our code or the client's raise."""
        try:
            return await self._opinion(endpoint, question)
        except AtlasError:
            raise
        except Exception as error:  # one odd reply must not cost the verdicts on all other questions
            said = " ".join(str(error).split())[:200]
            return self._clean(Opinion(cause="failed", detail=f"{type(error).__name__}: {said}"))

    async def _opinion(self, endpoint: Endpoint, question: Question) -> Opinion | None:
        """Return what becomes of a question; None where the round was stopped before that was known."""
        attempts = 0
        while True:
            body = self._body(question)
            got = await self._attempt(endpoint, body)
            if got is None:
                return None
            if self._adapts(got, body):
                continue
            if isinstance(got, Opinion):
                self._server.answered |= not got.detail.startswith("HTTP ")
                return got
            attempts += 1
            if got.kind != "retry" or attempts > self._settings.max_retries:
                return self._give_up(got, attempts)
            if await self._rests(got, attempts):
                return None

    def _failed(self, opinion: Opinion) -> bool:
        """Whether an opinion speaks against the server; one that turns down all it is sent is no filter."""
        return opinion.cause in _FAILURES or (opinion.cause == "refused" and not self._server.answered)

    def _body(self, question: Question) -> dict[str, Any]:
        limit = "max_completion_tokens" if self._server.renamed else "max_tokens"
        body: dict[str, Any] = {
            "model": self._settings.model,
            "messages": [{"role": "system", "content": self._rubric}, {"role": "user", "content": question.text}],
            "temperature": 0,
            limit: self._settings.max_tokens,
        }
        if self._server.structured:
            body["response_format"] = SCHEMA
        return {name: value for name, value in body.items() if name not in self._settings.omit}

    async def _attempt(self, endpoint: Endpoint, body: dict[str, Any]) -> Opinion | Fault | None:
        """Send a request once, as soon as what it may cost can be set aside; None where the round was stopped before.

        Raises:
            AtlasError: where the budget is spent.
        """
        size = sum(len(message["content"].encode()) for message in body["messages"])
        while (aside := self._server.budget.take(size)) is None:
            await self._settled.wait()
            if self._stopped.is_set():
                return None
        got: Opinion | Fault | None = None
        try:
            received = await endpoint.post(body)
            if isinstance(received, Fault):
                got = received
                return self._clean(got)
            self._server.reached = True
            got = read_opinion(received.status, received.body, self._settings.base_url)
            if isinstance(got, Fault) and got.kind == "retry":
                got = Fault("retry", got.detail, wait=wait_of(received.headers, time.time()))
            return self._clean(got)
        finally:
            tokens = got.tokens if isinstance(got, Opinion) else None
            turned_down = got is not None and (got.detail.startswith("HTTP ") or getattr(got, "unreachable", False))
            self._server.budget.settle(aside, tokens, billed=not turned_down)
            self._settled.set()
            self._settled = asyncio.Event()

    def _clean(self, got: _Got) -> _Got:
        """Return what came back without the key, which some servers repeat when they complain about it."""
        return replace(got, detail=got.detail.replace(self._key, "[key]")) if self._key else got

    def _adapts(self, got: Opinion | Fault, body: dict[str, Any]) -> bool:
        """Learn what a server does not take; True where that is worth a new try."""
        if "response_format" in body and names_schema(got):
            self._server.structured = False
            return True
        if "max_tokens" in body and names_limit(got):
            self._server.renamed = True
            return True
        return False

    async def _rests(self, fault: Fault, attempts: int) -> bool:
        """Wait before the next attempt; True where the round was stopped meanwhile."""
        seconds = pause(attempts, self._settings.retry_wait_s, fault.wait)
        if fault.wait is not None and seconds > LONG_WAIT:
            self._tell_of_wait(seconds, fault.detail)
        try:
            await asyncio.wait_for(self._stopped.wait(), seconds)
        except asyncio.TimeoutError:
            return self._stopped.is_set()
        return True

    def _tell_of_wait(self, seconds: float, detail: str) -> None:
        """Say that the server asks to wait, once for all requests that wait side by side."""
        now = time.monotonic()
        if now >= self._server.waited:
            _log.warning("%s waits %.0f s, as the server asks (%s)", self._settings.where, seconds, detail)
        self._server.waited = max(self._server.waited, now + seconds)

    def _give_up(self, fault: Fault, attempts: int) -> Opinion:
        """Return the opinion that stands for a request which failed.

        Raises:
            AtlasError: where all others would fail as well.
        """
        where = f"{self._settings.where}, {self._settings.base_url}"
        if fault.kind == "stop" or (fault.kind == "rejected" and not self._server.answered):
            raise AtlasError(fault.detail, where=where, mend=self._mend(fault))
        if fault.unreachable and not self._server.reached:
            mend = "start the server, or mend base_url"
            raise AtlasError(fault.detail, where=where, mend=mend)
        tries = f" ({attempts} attempts)" if attempts > 1 else ""
        return Opinion(cause="failed", detail=fault.detail + tries)

    def _mend(self, fault: Fault) -> str:
        if fault.kind == "rejected":
            return f"leave the parameter out with `omit: [{fault.parameter or 'NAME'}]` in the judge's params"
        if fault.detail.startswith(("HTTP 401", "HTTP 403")):
            unsent = "" if self._key else " (no key was sent)"
            return f"set {self._settings.api_key_env} to a key for this server{unsent}"
        if fault.detail.startswith(("HTTP 402", "HTTP 429")):
            return "see to the account that the key belongs to, and start again"
        return f"check base_url, model ({self._settings.model}) and {self._settings.api_key_env}"
