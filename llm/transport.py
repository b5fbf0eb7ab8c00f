"""The connection to a model server: the `openai` client over aiohttp, without its retries and parsing.

All dialects use it; here they differ only in path, headers and body.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping

import aiohttp
import httpx2
import openai

from durable import storable
from durable.per_process import background_loop
from llm.dialects import DIALECTS
from llm.dialects.base import Dialect
from llm.endpoint import Endpoint
from llm.failures import TryFailed
from llm.retry import Failure, Kind, Policy

MAX_CONNECTIONS = 10_000  # the number of concurrent turns is limited elsewhere
DRAIN_SECONDS = 0.1
CLOSE_SECONDS = 1.0


class Refused(Exception):
    """The server answered with an HTTP error."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.body = body
        self.headers = headers


@contextlib.asynccontextmanager
async def open_stream(
    endpoint: Endpoint, dialect: Dialect, body: bytes, policy: Policy
) -> AsyncIterator[httpx2.Response]:
    """Send the request; inside the context the response's bytes can be read, leaving it closes the connection."""
    response = await _send(endpoint, dialect.path, body, policy)
    try:
        yield response
    finally:
        await response.aclose()


async def read_chunks(response: httpx2.Response, *, max_bytes: int) -> AsyncIterator[bytes]:
    """Yield the body as it arrives; a silent server is IDLE, a broken connection is CUT."""
    size = 0
    try:
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > max_bytes:
                raise TryFailed(
                    Failure(kind=Kind.NONSENSE, detail=f"The answer is larger than {max_bytes} bytes")
                )
            yield chunk
    except httpx2.ReadTimeout:
        raise TryFailed(Failure(kind=Kind.IDLE, detail="The server stopped responding")) from None
    except (httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
        raise TryFailed(
            Failure(kind=Kind.CUT, detail=f"The connection broke ({type(error).__name__})")
        ) from None


async def drain(chunks: AsyncIterator[bytes]) -> None:
    """Read the end of a finished answer, so that its connection can be used again; do not wait for it long."""
    with contextlib.suppress(TimeoutError, TryFailed):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in chunks:
                pass


async def post_json(endpoint: Endpoint, path: str, body: bytes, policy: Policy, *, max_bytes: int) -> bytes:
    """Send a request that is answered whole, and return the answer; raise Refused or TryFailed."""
    response = await _send(endpoint, path, body, policy)
    try:
        return b"".join([chunk async for chunk in read_chunks(response, max_bytes=max_bytes)])
    finally:
        await response.aclose()


async def list_models(endpoint: Endpoint, policy: Policy) -> list[str]:
    """Return the ids of the models that the server offers."""
    client = _client(asyncio.get_running_loop(), endpoint)
    try:
        page = await client.models.list(
            timeout=_timeout(policy), extra_headers=_headers(endpoint), extra_query=_whole_list(endpoint)
        )
        return [storable.text(model.id) for model in page.data or ()]
    except openai.APIStatusError as error:
        raise Refused(error.status_code, error.response.content, error.response.headers) from None
    except (openai.APIConnectionError, aiohttp.ClientError) as error:
        raise TryFailed(_unsent(error)) from None
    except (openai.OpenAIError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise TryFailed(Failure(kind=Kind.NONSENSE, detail=type(error).__name__)) from None


def _headers(endpoint: Endpoint) -> dict[str, str | openai.Omit]:
    """Return the dialect's own headers; some omit one that the client would send."""
    own = DIALECTS[endpoint.dialect].headers(endpoint)
    return {name: openai.Omit() if value is None else value for name, value in own.items()}


def _whole_list(endpoint: Endpoint) -> dict[str, int]:
    """Return what makes a server name all of its models at once; Anthropic's names twenty unless asked."""
    return {"limit": 1000} if endpoint.dialect == "anthropic" else {}


async def _send(endpoint: Endpoint, path: str, body: bytes, policy: Policy) -> httpx2.Response:
    client = _client(asyncio.get_running_loop(), endpoint)
    try:
        return await client.post(
            path,
            cast_to=httpx2.Response,
            content=body,
            options={
                "headers": {
                    "Content-Type": "application/json",
                    "Accept": "text/event-stream, application/json",
                    **_headers(endpoint),
                },
                "timeout": _timeout(policy),
            },
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )  # type: ignore[return-value]  # with this `cast_to` the client hands the response through
    except openai.APIStatusError as error:
        refused = Refused(error.status_code, error.response.content, error.response.headers)
    except (openai.APIConnectionError, aiohttp.ClientError, OSError) as error:
        raise TryFailed(_unsent(error)) from None
    raise refused


def _unsent(error: Exception) -> Failure:
    """Return the failure of a request that got no answer at all."""
    cause = error.__cause__ or error
    if isinstance(cause, httpx2.ReadTimeout):
        return Failure(kind=Kind.IDLE, detail="The server accepted the request and did not answer")
    if isinstance(cause, aiohttp.ClientResponseError):
        return Failure(kind=Kind.NONSENSE, detail="The server does not speak HTTP")
    return Failure(kind=Kind.UNAVAILABLE, detail=f"No connection ({type(cause).__name__})")


def _timeout(policy: Policy) -> httpx2.Timeout:
    return httpx2.Timeout(policy.idle_seconds, connect=policy.connect_seconds, pool=None)


def _client(loop: asyncio.AbstractEventLoop, endpoint: Endpoint) -> openai.AsyncOpenAI:
    """Return the client of a loop and endpoint, with its pool of connections; only called on the loop."""
    client = _clients.get((loop, endpoint))
    if client is None:
        client = _clients[loop, endpoint] = _make_client(endpoint)
        atexit.register(_close, loop, client)
    return client


def _make_client(endpoint: Endpoint) -> openai.AsyncOpenAI:
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it would log a line for every request
    return openai.AsyncOpenAI(
        api_key=endpoint.api_key,
        base_url=endpoint.base_url,
        max_retries=0,
        http_client=openai.DefaultAioHttpClient(
            limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=30.0),
            trust_env=not endpoint.is_loopback,  # a machine's proxy settings do not apply to itself
        ),
    )


def _close(loop: asyncio.AbstractEventLoop, client: openai.AsyncOpenAI) -> None:
    """Close the connections when the process ends, if its loop still runs: a forked child's does not."""
    if loop is background_loop():
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(client.close(), loop).result(CLOSE_SECONDS)


_clients: dict[tuple[asyncio.AbstractEventLoop, Endpoint], openai.AsyncOpenAI] = {}


class EventSplitter:
    """Splits bytes into the data of complete events; comments and other fields are dropped."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of a line that has not ended yet
        self._data: list[bytes] = []  # of an event that has not ended yet
        self.strange = b""  # the first line that is not a field of an event stream

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the events that this chunk completes."""
        if b"\n" not in chunk:  # kept apart, so that a huge line costs no repeated copying
            self._pieces.append(chunk)
            return []
        if self._pieces:
            chunk = b"".join((*self._pieces, chunk))
        lines = chunk.split(b"\n")
        rest = lines.pop()
        self._pieces = [rest] if rest else []
        return self._events(lines)

    def close(self) -> list[bytes]:
        """Return the last event of a server that sent no empty line after it."""
        last = b"".join(self._pieces)
        self._pieces = []
        return self._events([last, b""])

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].strip())
            elif not line or line == b"\r":
                if self._data:
                    events.append(b"\n".join(self._data))
                    self._data = []
            elif not self.strange and not line.startswith((b":", b"event:", b"id:", b"retry:")):
                self.strange = line[:200]
        return events
