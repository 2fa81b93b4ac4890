"""``refusalatlas-chat``: an OpenAI-compatible chat API, for a benchmark in which a block is a result.

lm_eval's own chat models end the run at the first request that a provider's filter turns down, and give an empty
text for a refusal in its own field. Here every request gets an `Answer` that says what happened to it.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any

from refusalatlas.errors import AtlasError
from refusalatlas.records import Answer

from .asking import Ask, AskingModel, Open
from .client import Job, ask_all
from .patience import read_key
from .settings import KEY_VARIABLE, read_settings
from .wire import MOST_STOPS, cut_at, messages_of, payload_of

_log = logging.getLogger(__name__)


class RefusalChat(AskingModel):
    """An OpenAI-compatible chat model.

    The key comes from the environment variable ``OPENAI_API_KEY``; the arguments are those of
    `refusalatlas.models.settings.ChatSettings`.

    Raises:
        AtlasError: where an argument is missing or wrong.
    """

    lm_eval_name = "refusalatlas-chat"

    def __init__(self, **arguments: Any) -> None:
        super().__init__()
        self.settings = read_settings(arguments)
        self.identity = self.settings.identity
        self._key = read_key(KEY_VARIABLE)

    def look_over(self, asks: Sequence[Ask]) -> None:
        """Mention a temperature that will not be sent."""
        if any(_ignores_temperature(ask.arguments[1]) for ask in asks):
            _log.warning("temperature is ignored where do_sample is false; set do_sample=true to sample")

    def ask_all(self, asks: Open, done: Callable[[int, Answer], None]) -> None:
        """Send all requests, `num_concurrent` at a time.

        Raises:
            AtlasError: where no request can succeed (wrong key, address or model, no server).
        """
        until = {position: ask.until for position, ask in asks}
        jobs = [Job(position, functools.partial(self.payload, ask)) for position, ask in asks]
        ask_all(
            self.settings,
            self._key,
            jobs,
            lambda position, answer: done(position, cut_at(answer, until[position][MOST_STOPS:])),
            known=self.cache is not None and self.cache.begun,
        )

    def payload(self, ask: Ask) -> dict[str, Any]:
        """Return the body of a request."""
        context, generation = ask.arguments[0], ask.arguments[1]
        extra = ask.arguments[2] if len(ask.arguments) > 2 else {}
        if extra.get("audio"):
            raise AtlasError(f"{self.lm_eval_name} cannot send sound", mend="leave out audio tasks")
        messages = messages_of(context)
        if images := list(extra.get("visual") or ())[: self.settings.max_images]:
            messages = _with_images(messages, images)
        return payload_of(messages, generation, self.settings, ask.repeat)


def _ignores_temperature(generation: dict[str, Any]) -> bool:
    return generation.get("do_sample") is False and bool(generation.get("temperature"))


def _with_images(messages: list[dict[str, Any]], images: list[Any]) -> list[dict[str, Any]]:
    from lm_eval.models.api_models import create_image_prompt

    last = messages[-1]
    if isinstance(last["content"], str):  # the mark is for backends that paste images into the text
        last["content"] = last["content"].replace("<image>", "").strip()
    sent: list[dict[str, Any]] = create_image_prompt(images, messages)
    return sent
