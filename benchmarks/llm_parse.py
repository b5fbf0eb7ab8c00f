"""What a streamed chunk costs, and how many streams one process holds: our reading against the SDK's own.

python -m benchmarks.llm_parse            # all parts
python -m benchmarks.llm_parse parse      # CPU per chunk, without a network
python -m benchmarks.llm_parse dialects   # CPU per chunk and the first word over HTTP, per dialect
python -m benchmarks.llm_parse hold       # concurrent streams of 50 events/s over HTTP
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import django
import httpx2
import openai
from django.conf import settings

import llm
from durable.stop_signal import StopSignal
from llm import endpoint_rows
from llm.dialects import DIALECTS
from llm.dialects.chat import ChatAnswer
from llm.offline.conversation import OfflineConversation
from llm.offline.reply import Reply
from llm.offline.wire import DONE, Wire
from llm.transport import EventSplitter

ROOT = Path(__file__).resolve().parent.parent
CHUNKS = 20_000
REPETITIONS = 5
EVENTS_PER_STREAM = 150
DELAY_SECONDS = 0.02
LAG_LIMIT_SECONDS = 0.1
FIRST_WORDS = 100
DEARER_AT_MOST = 1.3  # of one dialect against another, per chunk and to the first word
START_APART_SECONDS = 0.005  # people do not all press Enter in the same millisecond
SIZES = (32, 64, 96, 128, 192, 256, 384, 512)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "copilot_project.settings")
    django.setup()
    endpoint_rows.remember(endpoint_rows.EndpointRows())  # those of no database
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    wanted = sys.argv[1:] or ["parse", "dialects", "hold"]
    if "parse" in wanted:
        compare_parsing()
    if "dialects" in wanted:
        compare_dialects()
    if "hold" in wanted:
        compare_holding()


def compare_parsing() -> None:
    """CPU per chunk of the same bytes, alternating, one chunk per network read as a model sends them."""
    wire = Wire(OfflineConversation({"model": "offline"}), Reply())
    reads = [wire.delta({"content": f"word{n} "}) for n in range(CHUNKS)] + [wire.finish() + DONE]
    runs: dict[str, Callable[[list[bytes]], None]] = {
        "ours": parse_ours,
        "SDK": parse_sdk,
        "json.loads": parse_json,
    }
    costs: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(REPETITIONS):
        for name, run in runs.items():
            started = time.process_time()
            run(reads)
            costs[name].append((time.process_time() - started) / CHUNKS * 1e6)
    print(f"CPU per chunk, {CHUNKS} chunks, median of {REPETITIONS} (lowest - highest)")
    for name, values in costs.items():
        print(f"  {name:12} {statistics.median(values):7.1f} us  ({min(values):.1f} - {max(values):.1f})")
    print(f"  SDK / ours   {statistics.median(costs['SDK']) / statistics.median(costs['ours']):7.1f} x")


def parse_ours(reads: list[bytes]) -> None:
    answer, splitter = ChatAnswer(lambda delta: None), EventSplitter()
    for read in reads:
        events = splitter.feed(read)
        if events:
            answer.take(events)
    assert answer.finish() == "stop"


def parse_sdk(reads: list[bytes]) -> None:
    def respond(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=iter(reads))

    with openai.OpenAI(
        api_key="x",
        base_url="http://x/v1",
        http_client=httpx2.Client(transport=httpx2.MockTransport(respond)),
    ) as client:
        stream = client.chat.completions.create(
            model="x", messages=[{"role": "user", "content": "x"}], stream=True
        )
        pieces = [chunk.choices[0].delta.content for chunk in stream]
    assert len(pieces) == CHUNKS + 1


def parse_json(reads: list[bytes]) -> None:
    """The floor: nothing but the JSON."""
    for read in reads[:-1]:
        json.loads(read[6:])


# --- dialects, side by side -----------------------------------------------------------------------


def as_chat(text: str) -> dict[str, Any]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


def as_anthropic(text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def as_responses(text: str) -> dict[str, Any]:
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "sequence_number": 4}
    return {"type": "response.output_text.delta", **place, "delta": text, "logprobs": []}


@dataclass(frozen=True, kw_only=True)
class DialectStream:
    """How a dialect streams text: what comes before it, a piece of it, and what ends it."""

    before: tuple[dict[str, Any], ...]
    piece: Callable[[str], dict[str, Any]]
    after: tuple[dict[str, Any], ...]

    def reads(self, pieces: int) -> list[bytes]:
        events = [*self.before, *(self.piece(f"word{n} ") for n in range(pieces)), *self.after]
        return [f"data: {json.dumps(event)}\n\n".encode() for event in events]


ITEM = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
STREAMS = {
    "chat": DialectStream(
        before=(),
        piece=as_chat,
        after=({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},),
    ),
    "anthropic": DialectStream(
        before=(
            {
                "type": "message_start",
                "message": {"id": "msg_1", "usage": {"input_tokens": 1, "output_tokens": 1}},
            },
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        ),
        piece=as_anthropic,
        after=(
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
            {"type": "message_stop"},
        ),
    ),
    "responses": DialectStream(
        before=({"type": "response.output_item.added", "output_index": 0, "item": ITEM},),
        piece=as_responses,
        after=({"type": "response.completed", "response": {"object": "response", "status": "completed"}},),
    ),
}


def compare_dialects() -> None:
    """The same text in each dialect: CPU per chunk without a network, and the first word over HTTP, alternating."""
    reads = {name: stream.reads(CHUNKS) for name, stream in STREAMS.items()}
    chunk_costs: dict[str, list[float]] = {name: [] for name in STREAMS}
    first_words: dict[str, list[float]] = {name: [] for name in STREAMS}
    for _ in range(REPETITIONS):
        for name in STREAMS:
            started = time.process_time()
            parse_dialect(name, reads[name])
            chunk_costs[name].append((time.process_time() - started) / CHUNKS * 1e6)
    with first_word_server() as port:
        for turn in range(FIRST_WORDS + 1):
            for name in STREAMS:
                took = first_word(name, port)
                if turn:  # the first of each opens its connection
                    first_words[name].append(took * 1e3)
    print(
        f"\nDialects: {CHUNKS} chunks, median of {REPETITIONS}; first word over HTTP, median of {FIRST_WORDS}"
    )
    for name in STREAMS:
        print(
            f"  {name:12} {spread(chunk_costs[name], 'us')} per chunk, first word {spread(first_words[name], 'ms')}"
        )
    for what, costs in (("per chunk", chunk_costs), ("first word", first_words)):
        medians = [statistics.median(values) for values in costs.values()]
        ratio = max(medians) / min(medians)
        verdict = "ok" if ratio <= DEARER_AT_MOST else "MISS"
        print(f"  dearest / cheapest {what}: {ratio:.2f} x (goal <= {DEARER_AT_MOST} x) {verdict}")


def spread(values: list[float], unit: str) -> str:
    return f"{statistics.median(values):6.2f} {unit} ({min(values):.2f} - {max(values):.2f})"


def parse_dialect(name: str, reads: list[bytes]) -> None:
    answer, splitter = DIALECTS[name]().answer(lambda delta: None), EventSplitter()
    for read in reads:
        events = splitter.feed(read)
        if events:
            answer.take(events)
    assert answer.finish() == "stop"


def first_word(name: str, port: int) -> float:
    """Seconds from asking to the first piece of text."""
    is_anthropic = name == "anthropic"
    settings.OPENAI_BASE_URL = "" if is_anthropic else f"http://127.0.0.1:{port}/v1"
    settings.OPENAI_API_KEY = "" if is_anthropic else "x"
    settings.OPENAI_DIALECT = name if name == "responses" else "chat"
    settings.ANTHROPIC_BASE_URL = f"http://127.0.0.1:{port}" if is_anthropic else ""
    heard: list[float] = []
    question = llm.Request(model="m", messages=[{"role": "user", "content": "go"}])
    started = time.perf_counter()
    llm.stream(question, lambda delta: heard.append(time.perf_counter()), cancelled=StopSignal())
    return heard[0] - started


@contextlib.contextmanager
def first_word_server() -> Iterator[int]:
    """A server that answers every dialect at once, with a few words."""
    bodies = {DIALECTS[name].path: b"".join(stream.reads(3)) for name, stream in STREAMS.items()}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else what is measured is the kernel's wait for an acknowledgement

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = bodies[self.path.removeprefix("/v1")]
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


class Reader:
    """Notes when each numbered event of one stream arrived."""

    def __init__(self) -> None:
        self.arrivals: list[tuple[int, float]] = []

    def hear(self, text: str) -> None:
        numbers = re.findall(r"\d+", text)
        if numbers:
            self.arrivals.append((int(numbers[-1]), time.monotonic()))

    def lags(self) -> list[float]:
        start = min(at - number * DELAY_SECONDS for number, at in self.arrivals)
        return [at - start - number * DELAY_SECONDS for number, at in self.arrivals]

    def is_whole(self) -> bool:
        return bool(self.arrivals) and self.arrivals[-1][0] == EVENTS_PER_STREAM - 1


def compare_holding() -> None:
    """The most streams that one client process holds with 99 % of events less than LAG_LIMIT late."""
    command = [sys.executable, "manage.py", "offline_model", "--port", "0"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    settings.OPENAI_BASE_URL = server.stdout.readline().split()[-1]
    settings.OPENAI_API_KEY = "x"
    print(
        f"\nConcurrent streams of {1 / DELAY_SECONDS:.0f} events/s, p99 lag limit {LAG_LIMIT_SECONDS * 1000:.0f} ms"
    )
    try:
        for name, run in {
            "ours": hold_ours,
            "SDK async": hold_sdk_async,
            "SDK threads": hold_sdk_threads,
        }.items():
            climb(name, run, server.pid)
    finally:
        server.terminate()
        server.wait(10)


def climb(name: str, run: Callable[[list[Reader]], None], server_pid: int) -> None:
    held = 0
    run([Reader() for _ in range(4)])  # warm up
    for size in SIZES:
        readers = [Reader() for _ in range(size)]
        cpu, server_cpu, started = process_cpu(), other_cpu(server_pid), time.monotonic()
        run(readers)
        wall = time.monotonic() - started
        lags = sorted(lag for reader in readers for lag in reader.lags())
        p99 = lags[int(len(lags) * 0.99)]
        used, server_used = process_cpu() - cpu, other_cpu(server_pid) - server_cpu
        events = size * EVENTS_PER_STREAM
        print(
            f"  {name:12} {size:4} streams: p99 lag {p99 * 1000:6.1f} ms, client CPU {used / wall:4.0%} "
            f"({used / events * 1e6:4.0f} us/event), server CPU {server_used / wall:4.0%} "
            f"({server_used / events * 1e6:3.0f} us/event), whole {sum(r.is_whole() for r in readers)}/{size}"
        )
        if p99 > LAG_LIMIT_SECONDS:
            break
        held = size
    print(f"  {name:12} holds {held}")


SCRIPT = json.dumps({"steps": [{"chunks": EVENTS_PER_STREAM, "delay": DELAY_SECONDS}]})
MESSAGES: Any = [{"role": "user", "content": f"SCRIPT: {SCRIPT}"}]


def hold_ours(readers: list[Reader]) -> None:
    def one(reader: Reader) -> None:
        def listen(delta: llm.Delta) -> None:
            if isinstance(delta, llm.TextDelta):
                reader.hear(delta.text)

        llm.stream(llm.Request(model="offline", messages=MESSAGES), listen, cancelled=StopSignal())

    in_threads(one, readers)


def hold_sdk_threads(readers: list[Reader]) -> None:
    client = openai.OpenAI(api_key="x", base_url=settings.OPENAI_BASE_URL)

    def one(reader: Reader) -> None:
        stream: Any = client.chat.completions.create(model="offline", messages=MESSAGES, stream=True)
        for chunk in stream:
            reader.hear(chunk.choices[0].delta.content or "")

    in_threads(one, readers)


def hold_sdk_async(readers: list[Reader]) -> None:
    async def one(client: openai.AsyncOpenAI, number: int, reader: Reader) -> None:
        await asyncio.sleep(number * START_APART_SECONDS)
        stream: Any = await client.chat.completions.create(model="offline", messages=MESSAGES, stream=True)
        async for chunk in stream:
            reader.hear(chunk.choices[0].delta.content or "")

    async def everything() -> None:
        async with openai.AsyncOpenAI(api_key="x", base_url=settings.OPENAI_BASE_URL) as client:
            await asyncio.gather(*(one(client, number, reader) for number, reader in enumerate(readers)))

    asyncio.run(everything())


def in_threads(one: Callable[[Reader], None], readers: list[Reader]) -> None:
    threads = [threading.Thread(target=one, args=(reader,)) for reader in readers]
    for thread in threads:
        thread.start()
        time.sleep(START_APART_SECONDS)
    for thread in threads:
        thread.join()


def process_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def other_cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
