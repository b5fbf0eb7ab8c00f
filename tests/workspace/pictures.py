"""Small pictures made on the spot, and one that lies about its size."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image


def picture(kind: str = "PNG", size: tuple[int, int] = (8, 6), mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Image.new(mode, size, "red" if mode == "RGB" else 0).save(out, kind)
    return out.getvalue()


def noise(kind: str, size: tuple[int, int], mode: str = "RGB") -> bytes:
    """A picture that does not compress."""
    out = io.BytesIO()
    Image.effect_noise(size, 90).convert(mode).save(out, kind)
    return out.getvalue()


def huge_png(width: int = 50_000, height: int = 50_000) -> bytes:
    """A few hundred bytes that claim 2.5 gigapixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in parts)


def animated_gif() -> bytes:
    out = io.BytesIO()
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "green", "blue")]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    return out.getvalue()
