"""What ``--model_args`` may hold for ``refusalatlas-chat``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from refusalatlas.errors import AtlasError, UnknownNameError
from refusalatlas.files import problems

KEY_VARIABLE = "OPENAI_API_KEY"

FROM_LM_EVAL = frozenset({"batch_size", "max_batch_size", "device", "trust_remote_code"})
"""What lm_eval hands to every model; none of it means anything to a chat API."""

WITHOUT_MEANING = frozenset({"tokenizer", "tokenizer_backend", "tokenized_requests", "max_length", "eos_string"})
"""Arguments of lm_eval's own API models that only matter where the client tokenizes."""

SECRETS = frozenset({"api_key", "auth_token", "header", "headers", "token"})
"""Arguments that people use for keys elsewhere; lm_eval writes all arguments into its results."""


class ChatSettings(BaseModel):
    """Arguments of ``refusalatlas-chat``.

    Attributes:
        model: Name of the model, as the server knows it.
        base_url: Address of the API, with or without ``/chat/completions``; kept with it.
        num_concurrent: Requests in flight at a time, 1 to 1024.
        max_retries: Attempts after the first, where a request fails in a way that may pass, 0 to 100.
        timeout: Seconds that one attempt may take.
        retry_wait: Seconds before the first retry; each further one waits twice as long, 30 at most.
        max_gen_toks: Tokens to generate where a task does not say.
        seed: Sent with each request (plus the number of the repeat); None sends none.
        omit: Parameters that are never sent, for servers that reject them; written ``omit=temperature+seed``.
        max_images: Images of a prompt that are sent.
        verify_certificate: Whether the server's certificate is checked.
        ca_cert_path: File of certificates to trust instead of the system's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    model: Annotated[str, Field(min_length=1)]
    base_url: str
    num_concurrent: Annotated[int, Field(ge=1, le=1024)] = 8
    max_retries: Annotated[int, Field(ge=0, le=100)] = 3
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0
    retry_wait: Annotated[float, Field(ge=0, le=30)] = 0.5
    max_gen_toks: Annotated[int, Field(ge=1)] = 512
    seed: int | None = 1234
    omit: tuple[str, ...] = ()
    max_images: Annotated[int, Field(ge=1)] = 8
    verify_certificate: bool = True
    ca_cert_path: str | None = None

    @field_validator("base_url")
    @classmethod
    def _complete(cls, url: str) -> str:
        parts = urlsplit(url.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("is not an address such as http://localhost:8000/v1")
        if parts.username is not None or parts.password is not None:
            raise ValueError(f"holds a password, which would end up in the results; use {KEY_VARIABLE}")
        _ = parts.port  # raises ValueError where it is not a number
        path = parts.path.rstrip("/")
        if not path.endswith("/chat/completions"):
            path = (path or "/v1") + "/chat/completions"
        return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))

    @field_validator("omit", mode="before")
    @classmethod
    def _split(cls, names: Any) -> Any:
        return tuple(name for name in names.split("+") if name) if isinstance(names, str) else names

    @field_validator("seed", mode="before")
    @classmethod
    def _no_seed(cls, seed: Any) -> Any:
        return None if isinstance(seed, str) and seed.lower() == "none" else seed

    @property
    def host(self) -> str:
        """Host and port of the server, for provenance."""
        return urlsplit(self.base_url).netloc

    @property
    def shown_url(self) -> str:
        """The address without its query, which may hold a key."""
        return self.base_url.partition("?")[0]

    @property
    def identity(self) -> dict[str, Any]:
        """All that must be the same for a cached answer to be this model's answer."""
        return self.model_dump(include={"model", "base_url", "max_gen_toks", "seed", "omit"})


def read_settings(arguments: Mapping[str, Any]) -> ChatSettings:
    """Return settings from the keyword arguments that lm_eval hands over.

    Raises:
        AtlasError: where an argument is missing, wrong, or would put a key into the results.
        UnknownNameError: where an argument is unknown.
    """
    given = {
        name: value
        for name, value in arguments.items()
        if name not in FROM_LM_EVAL | WITHOUT_MEANING and value is not None
    }
    if secrets := SECRETS & given.keys():
        raise AtlasError(
            f"{', '.join(sorted(secrets))} would be written into the results",
            where="--model_args",
            mend=f"put the key into the environment variable {KEY_VARIABLE} (and make a new one if this was real)",
        )
    if "pretrained" in given:
        given.setdefault("model", given.pop("pretrained"))
    known = list(ChatSettings.model_fields)
    for name in given:
        if name not in known:
            raise UnknownNameError("argument of refusalatlas-chat", name, known)
    try:
        return ChatSettings.model_validate(given)
    except ValidationError as error:
        raise AtlasError(
            "; ".join(problems(error)),
            where="--model_args",
            mend="give for instance model=NAME,base_url=http://localhost:8000/v1",
        ) from None
