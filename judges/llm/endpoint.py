"""The one place that knows the OpenAI client: a request goes out, status, headers and bytes come back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from refusalatlas.errors import AtlasError
from refusalatlas.models.wire import Fault

from .settings import LlmSettings

_NO_KEY = "none"  # the client insists on one; servers without keys ignore it


@dataclass(frozen=True, slots=True)
class Received:
    """An HTTP reply, good or bad."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Endpoint:
    """An open client of the server that the settings name.

    The client's own retries are off, since they know neither the budget nor when to stop.

    Raises:
        AtlasError: where the client is not installed.
    """

    def __init__(self, settings: LlmSettings, key: str | None) -> None:
        try:
            import openai
        except ImportError:
            raise AtlasError(
                "needs the OpenAI client", where=settings.where, mend="run `pip install 'refusalatlas[llm]'`"
            ) from None
        self._openai: Any = openai
        self._timeout = settings.timeout_s
        options: dict[str, Any] = {"base_url": settings.base_url, "timeout": settings.timeout_s, "max_retries": 0}
        if settings.local:
            options["http_client"] = self._openai.DefaultAsyncHttpxClient(trust_env=False)
        self._client: Any = self._openai.AsyncOpenAI(api_key=key or _NO_KEY, **options)

    async def __aenter__(self) -> Endpoint:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def post(self, body: Mapping[str, Any]) -> Received | Fault:
        """Send a request once, and return the reply or what kept it from coming."""
        openai = self._openai
        create = self._client.chat.completions.with_raw_response.create
        try:
            # The client's own limit is on each read; a server that drips would never reach it.
            reply = (await asyncio.wait_for(create(**body), self._timeout)).http_response
        except openai.APIStatusError as error:
            reply = error.response
        except (openai.APITimeoutError, asyncio.TimeoutError):
            return Fault("retry", f"no answer within {self._timeout:g} s")
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            lost = "connect" in type(cause).__name__.lower()
            what = "cannot connect" if lost else "the connection broke"
            return Fault("retry", f"{what}: {str(cause) or type(cause).__name__}", unreachable=lost)
        return Received(reply.status_code, reply.headers, reply.content)
