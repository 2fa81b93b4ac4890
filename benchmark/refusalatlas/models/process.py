"""Runs a command once and ends it, with all that it has started, when its time or its room is over.

No shell is involved. Threads read and write the three pipes, so that a command that fills one of them while it waits
for another never stands still.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

_GRACE = 1.0  # seconds that a command's own children may hold its pipes once it has ended
_CHUNK = 65_536
_ERRORS_KEPT = 65_536  # bytes of stderr; more is read, so that the command goes on, and forgotten


@dataclass(frozen=True, slots=True)
class Finished:
    """What became of a command.

    Attributes:
        code: Exit code; negative is the signal that ended it.
        out: Its standard output, `limit` bytes at most.
        errors: The last of its standard error.
        stopped: Why it was ended here, or None where it ended by itself.
    """

    code: int
    out: bytes
    errors: bytes
    stopped: Literal["time", "room", "end"] | None = None


class Runner:
    """Runs commands, from as many threads as like to, and can end all of them at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[_Running] = set()
        self.ended = threading.Event()

    def run(
        self,
        command: Sequence[str],
        written: bytes | None,
        *,
        folder: Path,
        timeout: float,
        limit: int,
        environment: Mapping[str, str],
    ) -> Finished:
        """Run a command to its end.

        Args:
            command: Executable and arguments.
            written: What to write to its standard input, or None for an input that is empty.
            folder: Where it runs.
            timeout: Seconds after which it is killed.
            limit: Bytes of output after which it is killed.
            environment: Its environment.

        Raises:
            OSError: where it cannot be started.
            ValueError: where an argument holds a NUL, which none can.
        """
        with self._lock:  # a command that starts while all are ended would be missed
            if self.ended.is_set():
                return Finished(-signal.SIGTERM, b"", b"", "end")
            running = _Running(command, folder, environment, piped=written is not None, limit=limit)
            self._running.add(running)
        try:
            return running.attend(written, timeout)
        finally:
            with self._lock:
                self._running.discard(running)

    def end(self) -> None:
        """Kill all commands that run, and start no more."""
        self.ended.set()
        with self._lock:
            for running in self._running:
                running.kill("end")


class _Running:
    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], *, piped: bool, limit: int
    ) -> None:
        self._limit = limit
        self._stopped: Literal["time", "room", "end"] | None = None
        self._over = False
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,  # a process group of its own, which can be killed whole
        )

    def attend(self, written: bytes | None, timeout: float) -> Finished:
        out, errors = bytearray(), bytearray()
        process = self._process
        threads = [
            threading.Thread(target=self._read, args=(process.stdout, out), daemon=True),
            threading.Thread(target=self._read_errors, args=(process.stderr, errors), daemon=True),
        ]
        if written is not None:
            threads.append(threading.Thread(target=self._write, args=(process.stdin, written), daemon=True))
        try:
            for thread in threads:
                thread.start()
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill("time")
                process.wait()
            for thread in threads[:2]:
                thread.join(_GRACE)
        finally:
            self.kill(None)  # what it has left behind
            self._over = True  # from here on its number may be somebody else's
        for thread in threads[:2]:
            thread.join(_GRACE)  # whatever has left the group as well is waited for no longer
        stopped = self._stopped or ("room" if len(out) > self._limit else None)
        return Finished(process.returncode, bytes(out[: self._limit]), bytes(errors), stopped)

    def kill(self, why: Literal["time", "room", "end"] | None) -> None:
        """Kill the command and its children; without a reason where it has ended by itself."""
        if self._over:
            return
        self._stopped = self._stopped or why
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:  # Windows has no such groups
                self._process.kill()

    def _read(self, pipe: IO[bytes], into: bytearray) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(pipe.fileno(), _CHUNK):
                into += chunk
                if len(into) > self._limit:
                    self.kill("room")
                    return

    @staticmethod
    def _read_errors(pipe: IO[bytes], into: bytearray) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(pipe.fileno(), _CHUNK):
                into += chunk
                del into[:-_ERRORS_KEPT]

    @staticmethod
    def _write(pipe: IO[bytes], data: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):  # it need not read what it is told
            pipe.write(data)
        with contextlib.suppress(OSError, ValueError):
            pipe.close()
