"""A chat server in a process of its own, so that it takes nothing from the process that is measured."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SERVER = """
import asyncio, json, sys
from aiohttp import web

{content}

async def answer(request):
    message = {{"role": "assistant", "content": await content(await request.json())}}
    choice = {{"index": 0, "message": message, "finish_reason": "stop"}}
    return web.json_response({{"id": "x", "model": "m", "choices": [choice]}})

async def main():
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(site._server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@contextmanager
def serving(content: str, *arguments: str) -> Iterator[str]:
    """Serve, and give the address for ``base_url``.

    Args:
        content: Python that defines ``async def content(body)``, which returns the answer's text.
        arguments: What it finds in ``sys.argv``.
    """
    line = [sys.executable, "-c", _SERVER.format(content=content), *arguments]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.terminate()
