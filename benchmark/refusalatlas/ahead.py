"""Judging while others are still being asked for: in a thread of its own, each answer soon after it is there.

Nothing depends on it. What it has not come to when the scorer asks, the scorer judges itself; and it is left to panels
that decide on each answer by that answer alone, so that it makes no difference who has judged it, and when.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping

from .records import Decision, Exchange, Panel

_MOST = 16
"""Exchanges judged at a time: what the scorer waits for at most before it goes on itself."""


class Ahead:
    """A thread that judges what it is given.

    Args:
        panel: Must not be used by others before `stop`.
    """

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._waiting: queue.SimpleQueue[Exchange | None] = queue.SimpleQueue()
        self._known: dict[Exchange, Decision] = {}
        self._stopped = False
        self._thread: threading.Thread | None = None

    def add(self, exchange: Exchange) -> None:
        """Have an exchange judged; the first one starts the thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="refusalatlas-ahead", daemon=True)
            self._thread.start()
        self._waiting.put(exchange)

    def end(self) -> None:
        """Let the thread end once it has judged all that it was given."""
        self._waiting.put(None)

    def stop(self) -> Mapping[Exchange, Decision]:
        """Let it end after what it is judging just now, and return what has been decided."""
        self._stopped = True
        self.end()
        if self._thread is not None:
            self._thread.join()
        return self._known

    def _work(self) -> None:
        for batch in self._batches():
            try:
                self._known.update(zip(batch, self._panel.judge(batch), strict=True))
            except Exception:  # the scorer will meet it again, and is the one who can say it
                return

    def _batches(self) -> Iterator[list[Exchange]]:
        """Yield what is waiting by then, as soon as there is any."""
        ended = False
        while not ended:
            found = [self._waiting.get()]
            while len(found) < _MOST and not self._waiting.empty():
                found.append(self._waiting.get())
            batch = [exchange for exchange in found if exchange is not None]
            ended = len(batch) < len(found)
            if batch and not self._stopped:
                yield batch


class _Desk:
    """Where models, which have the answers, and the scorer, which has the panel, find each other in one process."""

    def __init__(self) -> None:
        self._panel: Panel | None = None
        self._by: Panel | None = None
        self._ahead: Ahead | None = None
        self._known: Mapping[Exchange, Decision] = {}

    def expect(self, panel: Panel | None) -> None:
        """Say, when a task is loaded, which panel will decide; one that minds company is not used ahead."""
        self._panel = panel if getattr(panel, "ahead", False) else None

    def begin(self) -> Ahead | None:
        """Return what judges ahead from now on, or None where no panel can; what was known before is dropped."""
        self._settle()
        self._by, self._known = self._panel, {}
        self._ahead = None if self._panel is None else Ahead(self._panel)
        return self._ahead

    def known(self, panel: Panel) -> Mapping[Exchange, Decision]:
        """Return what a panel has decided by now; nothing more is judged ahead, so that it is free."""
        self._settle()
        return self._known if panel is self._by else {}

    def _settle(self) -> None:
        if self._ahead is not None:
            self._known, self._ahead = self._ahead.stop(), None


DESK = _Desk()
"""The one of this process."""
