"""``refusalatlas-chat``: an OpenAI-compatible chat API, for a benchmark in which a block is a result.

lm_eval's own chat models end the run at the first request that a provider's filter turns down, and give an empty
text for a refusal in its own field. Here every request gets an `Answer` that says what happened to it.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from refusalatlas.errors import AtlasError
from refusalatlas.records import Answer

from .base import MessageModel
from .client import Job, ask_all
from .settings import read_key, read_settings
from .wire import cut_at, messages_of, payload_of, stop_sequences

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Ask:
    """One answer that lm_eval wants.

    Attributes:
        arguments: Of the request: context, generation settings, and of image tasks a mapping.
        repeat: Which of the request's answers this is, from 0.
        alone: Whether it is the only one and is not sampled, so that lm_eval's cache can serve it.
    """

    arguments: tuple[Any, ...]
    repeat: int
    alone: bool


class RefusalChat(MessageModel):
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
        self._key = read_key()

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[Answer]:
        """Return one answer a request, in order; those that are done are cached at once.

        Args:
            requests: lm_eval's instances; one that stands there several times is a repeat.
            disable_tqdm: Whether to show no progress bar; none is shown where stderr is not a terminal.

        Raises:
            AtlasError: where no request can succeed (wrong key, address or model, no server).
        """
        asks = list(_asks(requests))
        answers = [self._stored(ask) for ask in asks]
        open_ = [position for position, answer in enumerate(answers) if answer is None]
        if any(_ignores_temperature(ask.arguments[1]) for ask in asks):
            _log.warning("temperature is ignored where do_sample is false; set do_sample=true to sample")
        with _progress(len(asks), len(asks) - len(open_), disable_tqdm) as bar:

            def done(position: int, answer: Answer) -> None:
                ask = asks[position]
                answers[position] = cut_at(answer, stop_sequences(ask.arguments[1].get("until")))
                self._keep(ask, answers[position])
                bar.update()

            jobs = [Job(position, _body(self, asks[position])) for position in open_]
            if jobs:
                ask_all(self.settings, self._key, jobs, done)
        finished = [answer for answer in answers if answer is not None]
        _report([finished[position] for position in open_])
        return finished

    def payload(self, ask: _Ask) -> dict[str, Any]:
        """Return the body of a request."""
        context, generation = ask.arguments[0], ask.arguments[1]
        extra = ask.arguments[2] if len(ask.arguments) > 2 else {}
        if extra.get("audio"):
            raise AtlasError(f"{self.lm_eval_name} cannot send sound", mend="leave out audio tasks")
        messages = messages_of(context)
        if images := list(extra.get("visual") or ())[: self.settings.max_images]:
            messages = _with_images(messages, images)
        return payload_of(messages, generation, self.settings, ask.repeat)

    def _stored(self, ask: _Ask) -> Answer | None:
        if self.cache is None or ask.alone:
            return None  # lm_eval has looked already
        self.cache.keep_apart(ask.arguments)
        return self.cache.find(ask.arguments, ask.repeat)

    def _keep(self, ask: _Ask, answer: Answer | None) -> None:
        if self.cache is not None and answer is not None:
            self.cache.keep(ask.arguments, answer, None if ask.alone else ask.repeat)


def _asks(requests: Sequence[Any]) -> Iterator[_Ask]:
    total = Counter(map(id, requests))
    seen: Counter[int] = Counter()
    for request in requests:
        alone = total[id(request)] == 1 and not request.args[1].get("do_sample")
        yield _Ask(request.args, seen[id(request)], alone)
        seen[id(request)] += 1


def _body(model: RefusalChat, ask: _Ask) -> Any:
    return lambda: model.payload(ask)


def _ignores_temperature(generation: dict[str, Any]) -> bool:
    return generation.get("do_sample") is False and bool(generation.get("temperature"))


def _with_images(messages: list[dict[str, Any]], images: list[Any]) -> list[dict[str, Any]]:
    from lm_eval.models.api_models import create_image_prompt

    last = messages[-1]
    if isinstance(last["content"], str):  # the mark is for backends that paste images into the text
        last["content"] = last["content"].replace("<image>", "").strip()
    sent: list[dict[str, Any]] = create_image_prompt(images, messages)
    return sent


def _progress(total: int, initial: int, disable: bool) -> Any:
    from tqdm import tqdm

    return tqdm(total=total, initial=initial, desc="Asking", unit="req", disable=True if disable else None)


def _report(answers: Sequence[Answer]) -> None:
    """Say once how many answers are none; what a server says about the first of each kind helps to see why."""
    for condition in ("blocked", "error", "empty"):
        details = [answer.detail or "" for answer in answers if answer.condition == condition]
        if details:
            _log.warning("%d of %d answers: %s, e.g. %s", len(details), len(answers), condition, json.dumps(details[0]))
