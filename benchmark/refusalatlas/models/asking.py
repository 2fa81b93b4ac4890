"""What models have in common that are asked request by request and may be interrupted: cache, progress, counts."""

from __future__ import annotations

import json
import logging
import sys
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from refusalatlas.adapter import exchange_of, is_doc
from refusalatlas.ahead import DESK
from refusalatlas.records import Answer

from .base import MessageModel
from .wire import stop_sequences

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ask:
    """One answer that lm_eval wants.

    Attributes:
        arguments: Of the request: context, generation settings, and of image tasks a mapping.
        repeat: Which of the request's answers this is, from 0.
        alone: Whether it is the only one and is not sampled, so that lm_eval's cache can serve it.
        doc: What lm_eval asks about.
    """

    arguments: tuple[Any, ...]
    repeat: int
    alone: bool
    doc: Mapping[str, Any]

    @property
    def until(self) -> list[str]:
        """The stop sequences of the task."""
        return stop_sequences(self.arguments[1].get("until"))


Open = Sequence[tuple[int, Ask]]
"""What is still to be asked, with the position of each answer."""


class AskingModel(MessageModel):
    """A model whose answers are paid for one by one: each is kept as soon as it is there, and judged soon after."""

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[Answer]:
        """Return one answer a request, in order; those that are done are cached at once.

        Args:
            requests: lm_eval's instances; one that stands there several times is a repeat.
            disable_tqdm: Whether to show no progress. In a terminal it is a bar; in a log it is told once a minute.

        Raises:
            AtlasError: where no request can succeed, for instance for a wrong key or address.
        """
        asks = list(_asks(requests))
        answers = [self._stored(ask) for ask in asks]
        missing = [position for position, answer in enumerate(answers) if answer is None]
        if any(ask.repeat and not _sampled(ask.arguments[1]) for ask in asks):
            mend = "--gen_kwargs do_sample=true,temperature=0.7"
            _log.warning("repeats without sampling pay for one answer several times; sample with %s", mend)
        self.look_over(asks)
        with _progress(len(asks), len(asks) - len(missing), disable_tqdm) as bar, _judging() as judge:

            def done(position: int, answer: Answer) -> None:
                answers[position] = answer
                self._keep(asks[position], answer)
                judge(asks[position].doc, answer)
                bar.update()

            if missing:
                self.ask_all([(position, asks[position]) for position in missing], done)
                self._settle()
        finished = [answer for answer in answers if answer is not None]
        _report([finished[position] for position in missing])
        return finished

    def look_over(self, asks: Sequence[Ask]) -> None:
        """Say what is odd about requests before any of them is made.

        Raises:
            AtlasError: where a request can never be made.
        """

    @abstractmethod
    def ask_all(self, asks: Open, done: Callable[[int, Answer], None]) -> None:
        """Ask for all answers, and hand each to `done`, with its position, as soon as it is there.

        Raises:
            AtlasError: where no request can succeed; what has been answered by then has gone to `done`.
        """

    def _stored(self, ask: Ask) -> Answer | None:
        if self.cache is None or ask.alone:
            return None  # lm_eval has looked already
        self.cache.keep_apart(ask.arguments)
        return self.cache.find(ask.arguments, ask.repeat)

    def _keep(self, ask: Ask, answer: Answer) -> None:
        if self.cache is not None:
            self.cache.keep(ask.arguments, answer, None if ask.alone else ask.repeat)

    def _settle(self) -> None:
        if self.cache is not None:
            self.cache.settle()


def _asks(requests: Sequence[Any]) -> Iterator[Ask]:
    total = Counter(map(id, requests))
    seen: Counter[int] = Counter()
    for request in requests:
        alone = total[id(request)] == 1 and not request.args[1].get("do_sample")
        yield Ask(request.args, seen[id(request)], alone, getattr(request, "doc", {}))
        seen[id(request)] += 1


def _sampled(generation: Mapping[str, Any]) -> bool:
    heat = generation.get("temperature")
    return bool(generation["do_sample"]) and heat != 0 if "do_sample" in generation else bool(heat)


@contextmanager
def _judging() -> Iterator[Callable[[Mapping[str, Any], Answer], None]]:
    """Give what has an answer to a doc of ours judged while others are still being asked for."""
    ahead = DESK.begin()

    def judge(doc: Mapping[str, Any], answer: Answer) -> None:
        if ahead is not None and is_doc(doc):
            ahead.add(exchange_of(doc, answer))

    try:
        yield judge
    except BaseException:
        if ahead is not None:
            ahead.stop()
        raise
    if ahead is not None:
        ahead.end()


def _progress(total: int, initial: int, disable: bool) -> Any:
    from tqdm import tqdm

    every = 0.1 if sys.stderr.isatty() else 60.0  # a log of hours would else be a hundred thousand lines of bars
    return tqdm(
        total=total, initial=initial, desc="Asking", unit="req", mininterval=every, maxinterval=every, disable=disable
    )


def _report(answers: Sequence[Answer]) -> None:
    """Say once how many answers are none; what was said about the first of each kind helps to see why."""
    for condition in ("blocked", "error", "empty"):
        details = [answer.detail or "" for answer in answers if answer.condition == condition]
        if details:
            _log.warning("%d of %d answers: %s, e.g. %s", len(details), len(answers), condition, json.dumps(details[0]))
