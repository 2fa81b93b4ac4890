"""A chat server on a local port that answers, fails and breaks as a test tells it to."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class Reply:
    """What the server does: `body` is sent as it is, or as JSON; `drop` closes the connection instead.

    `cut` resets the connection after so many bytes of the body; `drip` waits so many seconds before each eighth of it.
    """

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    cut: int | None = None
    drip: float = 0.0


def says(text: Any = "Sure.", finish: str | None = "stop", **message: Any) -> Reply:
    """Return a good answer in OpenAI's shape."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    return Reply({"id": "x", "model": "served-1", "choices": [choice]})


@dataclass
class ChatServer:
    """Attributes: `url`; `bodies` and `headers` of all requests so far; `answer`, called with body and its number."""

    url: str = ""
    answer: Callable[[dict[str, Any], int], Reply] = lambda body, number: says()
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    stop: Callable[[], None] = lambda: None
    start: Callable[[], None] = lambda: None

    def prompts(self) -> list[str]:
        """Return the last user turn of each request."""
        return [body["messages"][-1]["content"] for body in self.bodies]


def _handler(state: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with state.lock:
                number = len(state.bodies)
                state.bodies.append(body)
                state.headers.append(dict(self.headers))
                state.paths.append(self.path)
                state.in_flight += 1
                state.most_in_flight = max(state.most_in_flight, state.in_flight)
            try:
                self._reply(state.answer(body, number))
            finally:
                with state.lock:
                    state.in_flight -= 1

        def _reply(self, reply: Reply) -> None:
            time.sleep(reply.delay)
            if reply.drop:
                self.close_connection = True
                return
            data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            headers = {"Content-Type": "application/json", **reply.headers}
            self.send_response(reply.status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if reply.cut is not None:
                self.wfile.write(data[: reply.cut])
                self.wfile.flush()
                # closed with nothing to linger for, a socket sends a reset
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True
                return
            step = len(data) // 8 + 1 if reply.drip else len(data) + 1
            for place in range(0, len(data), step):
                time.sleep(reply.drip)
                self.wfile.write(data[place : place + step])
                self.wfile.flush()

        def log_message(self, *_: Any) -> None:
            """Stay silent."""

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, *args: Any) -> None:
        self.open: set[socket.socket] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def break_off(self) -> None:
        """End as a server ends that is killed: with all its connections."""
        self.shutdown()
        self.server_close()
        for request in list(self.open):
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that have given up are part of the tests."""


@pytest.fixture
def server() -> Iterator[ChatServer]:
    state = ChatServer()
    http = _Server(("127.0.0.1", 0), _handler(state))
    port = http.server_port
    state.url = f"http://127.0.0.1:{port}/v1"

    def start() -> None:
        nonlocal http
        http = _Server(("127.0.0.1", port), _handler(state))
        threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()

    threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
    state.stop, state.start = lambda: http.break_off(), start
    yield state
    http.break_off()


@pytest.fixture
def reply() -> type[Reply]:
    return Reply


@pytest.fixture(name="says")
def says_fixture() -> Callable[..., Reply]:
    return says


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
