"""``refusalatlas-command``: an assistant on the command line, such as Claude Code, asked by one call a prompt.

Each call runs in an empty folder of its own, so that nothing of a project is read or changed. What it prints is the
answer; time-out, exit code, signal and what it says on stderr become the answer's condition.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from refusalatlas.errors import AtlasError
from refusalatlas.records import Answer
from refusalatlas.scrub import scrub, secret_values, without_values

from .asking import Ask, AskingModel, Open
from .command_settings import PROMPT, SYSTEM, read_command_settings
from .patience import pause
from .process import Finished, Runner
from .wire import cut_at, messages_of

_log = logging.getLogger(__name__)

_PATIENCE = 10  # calls without a single answer after which the others will fare no better
_CLIPPED = 300
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_PLACES = re.compile(f"{re.escape(PROMPT)}|{re.escape(SYSTEM)}")  # at one go: a text may hold such a word itself
_PASSING = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
_PLAIN = {"NO_COLOR": "1", "TERM": "dumb"}  # no colours, no cursor


class RefusalCommand(AskingModel):
    """An assistant on the command line.

    Keys stay in the environment, which the command inherits; the arguments are those of
    `refusalatlas.models.command_settings.CommandSettings`, and ``preset``.

    Raises:
        AtlasError: where an argument is missing or wrong, or the command is not there.
    """

    lm_eval_name = "refusalatlas-command"

    def __init__(self, **arguments: Any) -> None:
        super().__init__()
        self.settings = read_command_settings(arguments)
        self.identity = self.settings.identity
        self._executable = str(Path(shutil.which(self.settings.line[0]) or self.settings.line[0]).absolute())
        self._secrets = secret_values()

    def look_over(self, asks: Sequence[Ask]) -> None:
        """Say what a command cannot be told.

        Raises:
            AtlasError: where a request holds more than a system prompt and one turn of text.
        """
        for ask in asks:
            self._texts(ask)
        if any(ask.arguments[1].get("temperature") for ask in asks):
            _log.warning("a command decides by itself on temperature and length; what the run says is not passed on")

    def ask_all(self, asks: Open, done: Callable[[int, Answer], None]) -> None:
        """Call the command for each request, `num_concurrent` at a time.

        Raises:
            AtlasError: where it cannot be started, or the first calls have brought no answer at all.
        """
        runner = Runner()
        with ThreadPoolExecutor(min(self.settings.num_concurrent, len(asks))) as pool:
            calls: dict[Future[Answer | None], int] = {}
            try:
                for position, ask in asks:
                    calls[pool.submit(self._call, runner, ask)] = position
                self._collect(calls, done)
            finally:  # also where somebody presses Ctrl-C, which commands in groups of their own do not see
                for call in calls:
                    call.cancel()
                runner.end()

    def _collect(self, calls: dict[Future[Answer | None], int], done: Callable[[int, Answer], None]) -> None:
        failed, answered = 0, False
        for call in as_completed(list(calls)):
            answer = call.result()
            if answer is None:
                continue
            done(calls.pop(call), answer)
            failed, answered = failed + (answer.condition == "error"), answered or answer.condition != "error"
            if failed >= _PATIENCE and not answered and calls:
                raise AtlasError(
                    f"{failed} calls and no answer, the last: {answer.detail}",
                    where=self.settings.line[0],
                    mend="try the command by hand, and start again with the same --use_cache",
                )

    def _call(self, runner: Runner, ask: Ask) -> Answer | None:
        """Return the answer to one request; None where everything has been ended meanwhile."""
        for attempt in range(1, self.settings.max_retries + 2):
            answer = self._attempt(runner, ask)
            if answer is None or answer.condition != "error":
                return answer
            if attempt > self.settings.max_retries:
                tries = f" ({attempt} attempts)" if attempt > 1 else ""
                return Answer(condition="error", provider=answer.provider, detail=f"{answer.detail}{tries}")
            if runner.ended.wait(pause(attempt, self.settings.retry_wait)):
                break
        return None

    def _attempt(self, runner: Runner, ask: Ask) -> Answer | None:
        prompt, system = self._texts(ask)
        settings = self.settings
        if self._taken_for_an_option(prompt):
            return self._error("the prompt looks like an option; put -- before {prompt}, or leave {prompt} out")
        texts = {PROMPT: prompt, SYSTEM: system}
        arguments = [_PLACES.sub(lambda match: texts[match[0]], argument) for argument in settings.line[1:]]
        try:
            written = None if settings.holds(PROMPT) else prompt.encode()
            with tempfile.TemporaryDirectory(prefix="refusalatlas-", ignore_cleanup_errors=True) as folder:
                finished = runner.run(
                    [self._executable, *arguments],
                    written,
                    folder=Path(folder),
                    timeout=settings.timeout,
                    limit=settings.max_output,
                    environment={**os.environ, **_PLAIN},
                )
        except ValueError as error:
            return self._error(f"the prompt cannot be passed on: {error}")
        except OSError as error:
            if error.errno == errno.E2BIG:
                return self._error("too long for an argument; leave {prompt} out, and it goes to standard input")
            if error.errno in _PASSING:
                return self._error(f"cannot be started just now: {error.strerror}")
            mend = "mend the command"
            raise AtlasError(f"cannot be started ({error.strerror})", where=settings.line[0], mend=mend) from None
        if finished.stopped == "end":
            return None
        return cut_at(self._read(finished), ask.until)

    def _read(self, finished: Finished) -> Answer:
        """Return what a finished command amounts to."""
        settings = self.settings
        said = _ESCAPES.sub("", finished.out.decode("utf-8-sig", "replace"))
        complaint = self._shown(finished.errors.decode("utf-8", "replace")) or self._shown(said)
        if finished.stopped == "time":
            return self._error(f"no answer within {settings.timeout:g} s")
        if finished.stopped == "room":
            return Answer(self._hidden(said).strip(), finish_reason="length", provider=self._provider)
        if settings.answer_field is not None:
            return self._read_json(said, finished.code, complaint)
        if finished.code != 0:
            return self._failure(said, finished.code, complaint)
        return self._answer(said, complaint)

    def _read_json(self, said: str, code: int, complaint: str) -> Answer:
        try:
            row = json.loads(said)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            detail = complaint if code else f"its output is no JSON object: {complaint or 'it is empty'}"
            return self._failure(said, code, detail)
        text = row.get(str(self.settings.answer_field))
        text = text if isinstance(text, str) else ""
        if code != 0 or (self.settings.error_field and row.get(self.settings.error_field)):
            return self._failure(text, code, self._shown(text) or complaint)
        return self._answer(text, complaint)

    def _answer(self, text: str, complaint: str) -> Answer:
        text = self._hidden(text).strip()
        if not text:
            detail = f"nothing was printed; {complaint}" if complaint else "nothing was printed"
            return Answer(condition="empty", provider=self._provider, detail=detail)
        if text.startswith(self.settings.blocked_text):
            return Answer(condition="blocked", provider=self._provider, detail=self._shown(text))
        return Answer(text, provider=self._provider)

    def _failure(self, said: str, code: int, complaint: str) -> Answer:
        """Return the answer of a command that failed: the provider's filter, or an error."""
        settings = self.settings
        how = f"killed by {_signal_name(-code)}" if code < 0 else f"exit code {code}" if code else ""
        detail = ": ".join(part for part in (how, complaint) if part)
        texts = (said, complaint)
        if code in settings.blocked_codes or any(mark in text for mark in settings.blocked_text for text in texts):
            return Answer(condition="blocked", provider=self._provider, detail=detail)
        return self._error(detail)

    def _error(self, detail: str) -> Answer:
        return Answer(condition="error", provider=self._provider, detail=detail)

    @property
    def _provider(self) -> str:
        return Path(self.settings.line[0]).name

    def _hidden(self, text: str) -> str:
        return without_values(text, self._secrets)

    def _shown(self, text: str) -> str:
        """Return the end of what a command said, in one short line without secrets."""
        line = " ".join(_ESCAPES.sub("", scrub(self._hidden(text[-20_000:]))).split())
        return line if len(line) <= _CLIPPED else f"…{line[-_CLIPPED + 1 :]}"

    def _taken_for_an_option(self, prompt: str) -> bool:
        line = self.settings.line
        return prompt.startswith("-") and PROMPT in line and "--" not in line[: line.index(PROMPT)]

    def _texts(self, ask: Ask) -> tuple[str, str]:
        """Return prompt and system prompt of a request.

        Raises:
            AtlasError: where there is more than that.
        """
        extra = ask.arguments[2] if len(ask.arguments) > 2 else {}
        messages = messages_of(ask.arguments[0])
        system = "\n\n".join(str(m["content"]) for m in messages if m["role"] == "system")
        turns = [m for m in messages if m["role"] != "system"]
        single = len(turns) == 1 and turns[0]["role"] == "user" and isinstance(turns[0]["content"], str)
        if extra.get("visual") or extra.get("audio") or not single:
            what = f"{self.lm_eval_name} can only pass on one turn of text"
            raise AtlasError(what, mend="leave out such tasks, and few-shot examples as turns")
        if system and not self.settings.holds(SYSTEM):
            mend = "put {system} where the command takes it, or leave the system prompt out"
            raise AtlasError("the command has no place for the run's system prompt", where="command", mend=mend)
        return str(turns[0]["content"]), system or self.settings.system


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
