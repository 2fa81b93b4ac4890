"""Asks a chat server many things at once, patiently, and gives an answer to each of them.

Only what no request can survive (a wrong key, address or model, a server that never was there) ends a run; anything
else becomes an answer whose condition says what happened.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from refusalatlas import __version__
from refusalatlas.errors import AtlasError
from refusalatlas.records import Answer

from .patience import pause, run
from .settings import KEY_VARIABLE, ChatSettings
from .wire import Fault, read_reply, wait_of

if TYPE_CHECKING:
    import aiohttp

_LONGEST_CONNECT = 30.0
_PATIENCE = 10  # requests turned down, nobody knows why, after which the others will fare no better
_LOOPBACK = ("localhost", "127.", "[::1]")


@dataclass(frozen=True, slots=True)
class Job:
    """One request: where its answer belongs, and its body, made when its turn comes."""

    position: int
    body: Callable[[], dict[str, Any]]


def ask_all(
    settings: ChatSettings,
    key: str | None,
    jobs: list[Job],
    done: Callable[[int, Answer], None],
    *,
    known: bool = False,
) -> None:
    """Ask all jobs, `num_concurrent` at a time.

    Args:
        settings: Of the model.
        key: API key, or None where the server wants none.
        jobs: What to ask, in this order.
        done: Called with position and answer as soon as there is one.
        known: Whether the server has answered such requests before.

    Raises:
        AtlasError: where no request can succeed; what has been answered by then has gone to `done`.
    """
    run(_Asker(settings, key, known).ask(jobs, done))


class _Asker:
    """One round of asking, with what has been learned about the server on the way."""

    def __init__(self, settings: ChatSettings, key: str | None, known: bool) -> None:
        self._settings, self._key = settings, key
        self._reached = False  # something has replied
        self._answered = False  # something has been answered
        self._known = known  # something had been, by an earlier start
        self._turned_down = 0  # requests, without a reason that is known here
        self._renamed = False  # the server wants max_completion_tokens

    async def ask(self, jobs: list[Job], done: Callable[[int, Answer], None]) -> None:
        queue = iter(jobs)
        async with self._session() as session:
            count = min(self._settings.num_concurrent, len(jobs))
            workers = [asyncio.create_task(self._work(session, queue, done)) for _ in range(count)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    async def _work(
        self, session: aiohttp.ClientSession, queue: Iterator[Job], done: Callable[[int, Answer], None]
    ) -> None:
        for job in queue:
            done(job.position, await self._answer(session, job.body()))

    def _session(self) -> aiohttp.ClientSession:
        import aiohttp

        settings = self._settings
        headers = {"User-Agent": f"refusalatlas/{__version__}"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=settings.num_concurrent, ssl=self._ssl()),
            timeout=aiohttp.ClientTimeout(total=settings.timeout, sock_connect=min(settings.timeout, _LONGEST_CONNECT)),
            headers=headers,
            trust_env=not settings.host.startswith(_LOOPBACK),
        )

    def _ssl(self) -> ssl.SSLContext | bool:
        if not self._settings.verify_certificate:
            return False
        path = self._settings.ca_cert_path
        if path is None:
            return True
        try:
            return ssl.create_default_context(cafile=path)
        except OSError as error:
            raise AtlasError(f"no certificates can be read ({error})", where=path, mend="mend ca_cert_path") from None

    async def _answer(self, session: aiohttp.ClientSession, body: dict[str, Any]) -> Answer:
        attempts = 0
        if self._renamed:
            _rename_limit(body)
        while True:
            reply = await self._attempt(session, body)
            if isinstance(reply, Answer):
                self._answered = True
                return reply
            if self._renames_limit(reply, body):
                continue
            attempts += 1
            if reply.kind != "retry" or attempts > self._settings.max_retries:
                return self._give_up(reply, attempts)
            await asyncio.sleep(pause(attempts, self._settings.retry_wait, reply.wait))

    async def _attempt(self, session: aiohttp.ClientSession, body: dict[str, Any]) -> Answer | Fault:
        """Send a request once."""
        import aiohttp

        settings = self._settings
        try:
            async with session.post(settings.base_url, json=body, allow_redirects=False) as response:
                self._reached = True
                raw = await response.read()
        except aiohttp.ClientSSLError as error:
            return Fault("retry" if self._reached else "stop", f"no secure connection: {error}")
        except (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError) as error:
            return Fault("retry", f"cannot connect: {str(error).replace(' ssl:default', '')}", unreachable=True)
        except asyncio.TimeoutError:
            return Fault("retry", f"no answer within {settings.timeout:g} s")
        except (aiohttp.ClientError, OSError) as error:
            return Fault("retry", f"the connection broke: {error or type(error).__name__}")
        reply = read_reply(response.status, raw, settings.host)
        if isinstance(reply, Fault) and reply.kind == "retry":
            return Fault("retry", reply.detail, wait=wait_of(response.headers, time.time()))
        return reply

    def _renames_limit(self, fault: Fault, body: dict[str, Any]) -> bool:
        """Give the token limit its newer name where the server asks for it; True where that is worth a new try."""
        if fault.kind != "rejected" or "max_tokens" not in body or "max_completion_tokens" not in fault.detail:
            return False
        _rename_limit(body)
        self._renamed = True
        return True

    def _give_up(self, fault: Fault, attempts: int) -> Answer:
        """Return the answer that stands for a request which failed.

        Raises:
            AtlasError: where all others would fail as well.
        """
        detail = self._without_key(fault.detail)
        if fault.kind == "blocked":
            return Answer(condition="blocked", provider=self._settings.host, detail=detail)
        if fault.kind == "stop" or (fault.kind == "rejected" and not self._answered):
            raise AtlasError(detail, where=self._settings.shown_url, mend=self._mend(fault))
        if fault.unreachable and not self._reached:
            raise AtlasError(detail, where=self._settings.shown_url, mend="start the server, or mend base_url")
        if fault.kind == "unknown":
            self._turned_down += 1
            if self._turned_down >= _PATIENCE and not (self._answered or self._known):
                what = f"{self._turned_down} requests were turned down and none was answered, the last: {detail}"
                raise AtlasError(what, where=self._settings.shown_url, mend=self._mend(fault))
        tries = f" ({attempts} attempts)" if attempts > 1 else ""
        return Answer(condition="error", provider=self._settings.host, detail=detail + tries)

    def _mend(self, fault: Fault) -> str:
        if fault.mend is not None:
            return fault.mend
        if fault.kind == "unknown":
            return "see what the server says, mend it or the request, and start again with the same --use_cache"
        if fault.kind == "rejected":
            name = fault.parameter or "NAME"
            return f"leave the parameter out with omit={name} in --model_args, or set it with --gen_kwargs"
        if fault.detail.startswith(("HTTP 401", "HTTP 403")):
            return f"set {KEY_VARIABLE} to a key for this server" + ("" if self._key else " (no key was sent)")
        if fault.detail.startswith(("HTTP 402", "HTTP 429")):
            return "see to the account that the key belongs to, and start again with the same --use_cache"
        return f"check base_url, model ({self._settings.model}) and {KEY_VARIABLE}"

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


def _rename_limit(body: dict[str, Any]) -> None:
    if "max_tokens" in body:
        body["max_completion_tokens"] = body.pop("max_tokens")
