"""The least that could stand between a client and the model: every request is passed on, nothing is kept.

`MODEL_URL=http://… python proxy.py PORT`
"""

from __future__ import annotations

import os
import sys

from aiohttp import ClientSession, ClientTimeout, web

SESSION: web.AppKey[ClientSession] = web.AppKey("session", ClientSession)


async def chat(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    asked = {
        "model": body["model"],
        "stream": True,
        "messages": [{"role": "user", "content": body["message"]}],
    }
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    async with request.app[SESSION].post(f"{os.environ['MODEL_URL']}/chat/completions", json=asked) as answer:
        async for piece in answer.content.iter_any():
            await response.write(piece)
    return response


async def lifespan(app: web.Application):  # type: ignore[no-untyped-def]  # aiohttp types it as a generator
    app[SESSION] = ClientSession(timeout=ClientTimeout(total=120))
    yield
    await app[SESSION].close()


def main(port: int) -> None:
    app = web.Application()
    app.router.add_post("/chat", chat)
    app.cleanup_ctx.append(lifespan)
    web.run_app(app, host="127.0.0.1", port=port, print=None, access_log=None)


if __name__ == "__main__":
    main(int(sys.argv[1]))
