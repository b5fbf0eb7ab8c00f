"""Undoing Content-Encoding with a cap, so that a small answer cannot become a huge one."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from boundary.errors import BadAnswer

BLOCK_BYTES = 64 * 1024
GZIP_WINDOW = 16 + zlib.MAX_WBITS


def decode_body(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The body in blocks of at most BLOCK_BYTES; the reader decides when it has had enough."""
    match [name.strip().lower() for name in encoding.split(",") if name.strip()]:
        case [] | ["identity"]:
            yield from chunks
        case ["gzip" | "x-gzip"]:
            yield from inflate(chunks, GZIP_WINDOW)
        case ["deflate"]:
            yield from inflate(chunks, zlib.MAX_WBITS)
        case _:
            raise BadAnswer(f"The answer is encoded as {encoding[:100]!r}, which was not asked for.")


def inflate(chunks: Iterable[bytes], window: int) -> Iterator[bytes]:
    """Decompress block by block: never more than one block ahead of the reader."""
    decoder = zlib.decompressobj(window)
    started = False
    for chunk in chunks:
        pending = chunk
        while pending:
            if decoder.eof:
                if window != GZIP_WINDOW or not pending.startswith(b"\x1f\x8b"):
                    return  # padding after the end is ignored, as browsers do
                decoder = zlib.decompressobj(window)  # gzip files may be concatenated
            try:
                block = decoder.decompress(pending, BLOCK_BYTES)
            except zlib.error:
                if started or window == GZIP_WINDOW:
                    raise BadAnswer("The compressed answer is damaged.") from None
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
        raise BadAnswer("The compressed answer ends in the middle.")


def drain(decoder: zlib._Decompress) -> Iterator[bytes]:
    """What the decoder still holds after its input is used up."""
    while block := decoder.decompress(b"", BLOCK_BYTES):
        yield block
