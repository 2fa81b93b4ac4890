"""What an entry ``name: llm`` or ``kind: llm`` of a panel may hold under ``params``, and what stands in for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from refusalatlas.errors import AtlasError
from refusalatlas.files import problems
from refusalatlas.records import Limits

from ..gate import NAME

URL_VARIABLE, MODEL_VARIABLE, KEY_VARIABLE = (f"REFUSALATLAS_JUDGE_{part}" for part in ("URL", "MODEL", "KEY"))
_NAME = "llm"

_LOOPBACK = ("localhost", "127.", "[::1]")


class LlmSettings(BaseModel):
    """Parameters of the judge.

    Attributes:
        name: What votes, panels and messages call it.
        model: Name of the model, as the server knows it; default ``$REFUSALATLAS_JUDGE_MODEL``.
        base_url: Address of the API, such as ``http://localhost:8000/v1``; default ``$REFUSALATLAS_JUDGE_URL``.
        api_key_env: Name of the environment variable that holds the key; where it is not set, no key is sent.
        rubric: File that says what is judged how, instead of the one that comes with the judge.
        concurrency: Requests in flight at a time.
        timeout_s: Seconds that one attempt may take, from the first byte sent to the last one read.
        max_retries: Attempts after the first, where a request fails in a way that may pass.
        retry_wait_s: Seconds before the first retry; each further one waits twice as long, 30 at most.
        max_requests: Requests, retries included, that a process may send; none where it is None.
        max_cost: What a process may spend, in the unit of the prices.
        price_input: Price of a million tokens sent.
        price_output: Price of a million tokens generated.
        max_tokens: Tokens that an answer of the model may have, its thinking included.
        omit: Parameters that are never sent, for servers that reject them, such as ``temperature``.
        cache: Folder of the verdicts that have been paid for; True for one in the user's cache folder, False for none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    name: Annotated[str, Field(pattern=NAME)] = _NAME
    model: Annotated[str, Field(min_length=1, max_length=200)]
    base_url: str
    api_key_env: Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]{0,80}$")] = KEY_VARIABLE
    rubric: Path | None = None
    concurrency: Annotated[int, Field(ge=1, le=256)] = 8
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    max_retries: Annotated[int, Field(ge=0, le=20)] = 4
    retry_wait_s: Annotated[float, Field(ge=0, le=30)] = 0.5
    max_requests: Annotated[int, Field(ge=1)] | None = None
    max_cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    price_input: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    price_output: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    max_tokens: Annotated[int, Field(ge=16, le=100_000)] = 512
    omit: tuple[str, ...] = ()
    cache: bool | Path = True

    @field_validator("model")
    @classmethod
    def _printable(cls, name: str) -> str:
        if not name.isprintable():
            raise ValueError("holds letters that a name cannot have")
        return name

    @field_validator("base_url")
    @classmethod
    def _plain(cls, url: str) -> str:
        parts = urlsplit(url.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("is not an address such as http://localhost:8000/v1")
        if parts.username is not None or parts.password is not None or parts.query:
            raise ValueError("holds a password or a query; keys go into an environment variable")
        _ = parts.port  # raises ValueError where it is not a number
        path = parts.path.rstrip("/").removesuffix("/chat/completions")
        return urlunsplit((parts.scheme, parts.netloc, path or "/v1", "", ""))

    @model_validator(mode="after")
    def _priced(self) -> LlmSettings:
        if self.max_cost is not None and (self.price_input is None or self.price_output is None):
            raise ValueError("max_cost needs price_input and price_output (per million tokens)")
        return self

    @property
    def where(self) -> str:
        """What messages call the judge."""
        return _where(self.name)

    @property
    def local(self) -> bool:
        """Whether the server is on this machine, where no proxy leads."""
        return urlsplit(self.base_url).netloc.startswith(_LOOPBACK)

    @property
    def cache_folder(self) -> Path | None:
        """Where verdicts are kept, or None."""
        if self.cache is False:
            return None
        if isinstance(self.cache, Path):
            return self.cache.expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "refusalatlas" / "judge-llm"

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Return what a request costs, in the unit of the prices; 0 without prices."""
        return (tokens_in * (self.price_input or 0.0) + tokens_out * (self.price_output or 0.0)) / 1e6


def read_settings(params: Mapping[str, Any]) -> LlmSettings:
    """Return the settings of an entry's ``params``; model and address may come from the environment.

    Raises:
        AtlasError: where one is missing, unknown or wrong; no value is repeated, since it may be a key.
    """
    given, where = dict(params), _where(params.get("name", _NAME))
    for name, variable in (("model", MODEL_VARIABLE), ("base_url", URL_VARIABLE)):
        if given.get(name) is None:
            given[name] = os.environ.get(variable, "").strip()
        if not given[name]:
            raise AtlasError(f"has no {name}", where=where, mend=f"set {variable}, or name it in the panel's params")
    try:
        return LlmSettings.model_validate(given)
    except ValidationError as error:
        raise AtlasError("; ".join(problems(error)), where=where, mend="mend its params") from None


def _where(name: object) -> str:
    return f"judge {name}"


def limited(settings: LlmSettings, limits: Limits) -> LlmSettings:
    """Return settings with limits in the place of their own, where there are some.

    Raises:
        AtlasError: where a limit is wrong, or one of cost lacks prices.
    """
    given = {
        "max_requests": limits.requests,
        "max_cost": limits.cost,
        "price_input": limits.price_input,
        "price_output": limits.price_output,
    }
    changed = settings.model_dump() | {name: value for name, value in given.items() if value is not None}
    try:
        return LlmSettings.model_validate(changed)
    except ValidationError as error:
        mend = "give --prices INPUT OUTPUT per million tokens with --max-cost, and limits above 0"
        raise AtlasError("; ".join(problems(error)), where=settings.where, mend=mend) from None
