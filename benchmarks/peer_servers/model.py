"""The model that every server of the comparison asks: chat completions of a fixed answer, as cheap as Python allows.

`python model.py PORT`. The model's name says the answer: `words-200-5` is 200 words with 5 ms between them.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

NAME = re.compile(rb'"model"\s*:\s*"words-(\d+)-(\d+)"')
LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
MODELS = (
    b'{"object":"list","data":[{"id":"words-200-5","object":"model","created":0,"owned_by":"benchmark"}]}'
)
USAGE = {"prompt_tokens": 10, "completion_tokens": 200, "total_tokens": 210}


def event(choices: list[object], usage: object = None) -> bytes:
    """Return one server-sent event as one chunk of a chunked body."""
    body = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "words", "choices": choices}
    data = b"data: " + json.dumps(body | ({"usage": usage} if usage else {})).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


def delta(content: dict[str, str], finish: str | None = None) -> bytes:
    return event([{"index": 0, "delta": content, "finish_reason": finish}])


FIRST = delta({"role": "assistant", "content": ""})
WORDS = [delta({"content": f"{number} "}) for number in range(1000)]
LAST = delta({}, "stop") + event([], USAGE) + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = LENGTH.search(head)
            body = await reader.readexactly(int(length[1])) if length else b""
            if head.startswith(b"GET"):
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                    % (len(MODELS), MODELS)
                )
            else:
                await answer(body, writer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def answer(body: bytes, writer: asyncio.StreamWriter) -> None:
    found = NAME.search(body)
    count, milliseconds = (int(found[1]), int(found[2])) if found else (1, 0)
    writer.write(HEAD + FIRST)
    if not milliseconds:
        writer.write(b"".join(WORDS[:count]))
    else:
        loop = asyncio.get_running_loop()
        due = loop.time()
        for word in WORDS[:count]:
            writer.write(word)
            due += milliseconds / 1000
            await asyncio.sleep(max(0.0, due - loop.time()))
    writer.write(LAST)


async def main(port: int) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=512)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
