"""What our models share: lm_eval's contract for models that take messages and give text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from lm_eval.api.model import LM
from lm_eval.models.api_models import JsonChatStr

from refusalatlas.errors import AtlasError

from .cache import AnswerCache


class MessageModel(LM):  # type: ignore[misc]
    """A model that is asked in messages, with or without ``--apply_chat_template``.

    Attributes:
        lm_eval_name: Name that users type.
        identity: Must be the same for a cached answer to be this model's.
        cache: lm_eval's cache, where the run has one.
    """

    MULTIMODAL = True
    lm_eval_name: str
    identity: Mapping[str, Any]

    def __init__(self) -> None:
        super().__init__()
        self.cache: AnswerCache | None = None
        self.tokenizer = None

    @property
    def tokenizer_name(self) -> str:
        """What distinguishes our requests in lm_eval's ``--cache_requests``: all our models get the same."""
        return "refusalatlas-messages"

    def chat_template(self, chat_template: bool | str = False) -> str:
        """Return an empty template: the server has its own."""
        return ""

    def apply_chat_template(
        self, chat_history: list[dict[str, Any]], add_generation_prompt: bool = True
    ) -> JsonChatStr:
        """Return the messages as lm_eval's own chat models do, so that samples and caches look alike."""
        return JsonChatStr(json.dumps(chat_history, ensure_ascii=False))

    def set_cache_hook(self, cache_hook: Any) -> None:
        """Take over lm_eval's cache.

        Raises:
            AtlasError: where the cache is another model's.
        """
        super().set_cache_hook(cache_hook)
        if cache_hook.dbdict is not None:
            self.cache = AnswerCache(cache_hook.dbdict, self.identity)

    def loglikelihood(self, requests: Any, **_: Any) -> NoReturn:
        """Not to be had from a model that only gives text.

        Raises:
            AtlasError: always.
        """
        raise AtlasError(
            f"{self.lm_eval_name} has no log-likelihoods", mend="leave out tasks that are not of type generate_until"
        )

    loglikelihood_rolling = loglikelihood
