"""Decode Content-Encoding block by block, so that a small response cannot expand without limit."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from boundary.errors import BadAnswer

BLOCK_BYTES = 64 * 1024
GZIP_WINDOW = 16 + zlib.MAX_WBITS


def decode_body(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Yield the body in blocks of at most BLOCK_BYTES; the reader stops when it has enough."""
    match [name.strip().lower() for name in encoding.split(",") if name.strip()]:
        case [] | ["identity"]:
            yield from chunks
        case ["gzip" | "x-gzip"]:
            yield from inflate(chunks, GZIP_WINDOW)
        case ["deflate"]:
            yield from inflate(chunks, zlib.MAX_WBITS)
        case _:
            raise BadAnswer(f"The response has the encoding {encoding[:100]!r}, which was not requested.")


def inflate(chunks: Iterable[bytes], window: int) -> Iterator[bytes]:
    """Decompress block by block, never more than one block ahead of the reader."""
    decoder = zlib.decompressobj(window)
    started = False
    for chunk in chunks:
        pending = chunk
        while pending:
            if decoder.eof:
                if window != GZIP_WINDOW or not pending.startswith(b"\x1f\x8b"):
                    return  # ignore padding after the end, as browsers do
                decoder = zlib.decompressobj(window)  # gzip files may be concatenated
            try:
                block = decoder.decompress(pending, BLOCK_BYTES)
            except zlib.error:
                if started or window == GZIP_WINDOW:
                    raise BadAnswer("The compressed response is damaged.") from None
                decoder = zlib.decompressobj(-zlib.MAX_WBITS)  # many servers send raw deflate
                started = True
                continue
            started = True
            if block:
                yield block
            pending = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
            if not pending and not decoder.eof and len(block) == BLOCK_BYTES:
                yield from drain(decoder)
    if not started:
        return
    if not decoder.eof:
        raise BadAnswer("The compressed response is truncated.")


def drain(decoder: zlib._Decompress) -> Iterator[bytes]:
    """Yield what the decoder still holds after its input has been consumed."""
    while block := decoder.decompress(b"", BLOCK_BYTES):
        yield block
