"""A judging server that answers, fails and breaks as a test tells it to, and reads requests as a naive one would."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """What the server does: `body` is sent as it is, or as JSON; `reset` breaks the connection instead."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    reset: bool = False


def says(text: Any, finish: str = "stop", usage: tuple[int, int] | None = None, **message: Any) -> Reply:
    """Return an answer in OpenAI's shape."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    body: dict[str, Any] = {"id": "x", "model": "served-1", "choices": [choice]}
    if usage is not None:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return Reply(body)


def verdict(label: str, confidence: float = 0.8, **rest: Any) -> Reply:
    """Return a good verdict."""
    return says(json.dumps({"label": label, "confidence": confidence}), **rest)


def complaint(status: int, message: str, **headers: str) -> Reply:
    """Return an error in OpenAI's shape."""
    return Reply({"error": {"message": message}}, status, {name.replace("_", "-"): v for name, v in headers.items()})


TURNS = re.compile(r"<\|\w+\|>|<｜[^｜]+｜>|</?s>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>", re.IGNORECASE)
"""Marks that tokenisers of one model or another read as the end of a turn, wherever they stand."""

BORDERS = re.compile(
    r"\AThe code is (?P<code>\w+)\..*\nBEGIN PROMPT (?P=code)\n(?P<prompt>.*)\nEND PROMPT (?P=code)\n"
    r"BEGIN RESPONSE (?P=code)\n(?P<response>.*)\nEND RESPONSE (?P=code)\n.*\Z",
    re.DOTALL,
)


def outside(messages: list[dict[str, str]]) -> str:
    """Return what a naive server takes for instructions: all but what stands within borders, up to a mark of a turn."""
    text = messages[-1]["content"]
    found = BORDERS.match(text)
    if found is None or text.count(found["code"]) != 5 or TURNS.search(text):
        return text
    (a, b), (c, d) = found.span("prompt"), found.span("response")
    return "\n".join([*(message["content"] for message in messages[:-1]), text[:a] + text[b:c] + text[d:]])


def within(body: dict[str, Any]) -> tuple[str, str]:
    """Return prompt and response of a request."""
    found = BORDERS.match(body["messages"][-1]["content"])
    assert found is not None
    return found["prompt"], found["response"]


@dataclass
class Server:
    """Attributes: `url`; `bodies` and `headers` of all requests so far; `answer`, called with body and its number."""

    url: str = ""
    answer: Callable[[dict[str, Any], int], Reply] = lambda body, number: verdict("full_refusal")
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def _handler(state: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with state.lock:
                number = len(state.bodies)
                state.bodies.append(body)
                state.headers.append(dict(self.headers))
                state.times.append(time.monotonic())
                state.in_flight += 1
                state.most_in_flight = max(state.most_in_flight, state.in_flight)
            try:
                self._reply(state.answer(body, number))
            finally:
                with state.lock:
                    state.in_flight -= 1

        def _reply(self, reply: Reply) -> None:
            time.sleep(reply.delay)
            if reply.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
                return
            data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Stay silent."""

    return Handler


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that have given up are part of the tests."""


@contextmanager
def serving() -> Iterator[Server]:
    """Run a server on a free port."""
    state = Server()
    http = _Http(("127.0.0.1", 0), _handler(state))
    state.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield state
    http.shutdown()
    http.server_close()
    thread.join()
