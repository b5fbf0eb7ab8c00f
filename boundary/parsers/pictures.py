"""Check pictures for a model, and scale and re-encode them where needed."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from collections.abc import Mapping
from typing import Any

from PIL import Image, ImageOps

from boundary.errors import UnreadableContent

Image.init()  # load the formats once, before forking

QUALITIES = (85, 70, 50)
SMALLEST_EDGE = 64
# What Pillow raises on damaged files.
BROKEN = (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error)


def parse(body: bytes, arguments: Mapping[str, Any]) -> dict[str, str] | None:
    """Return media type and base64 data of a smaller picture, or None if the picture fits as it is.

    Raises UnreadableContent if the picture is damaged, has too many pixels or cannot be made small enough.
    """
    max_edge, max_bytes = arguments["max_edge"], arguments["max_bytes"]
    try:
        with Image.open(io.BytesIO(body), formats=[arguments["format"]]) as image:
            check_pixels(image, arguments["max_pixels"])
            if max(image.size) <= max_edge and len(body) <= max_bytes and not is_animated(image):
                image.draft(None, (1, 1))
                image.load()
                return None
            media_type, data = shrink(image, max_edge, max_bytes)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise UnreadableContent("The picture has too many pixels.") from None
    except BROKEN as error:
        raise UnreadableContent("The picture is damaged.") from error
    return {"media_type": media_type, "data": base64.b64encode(data).decode("ascii")}


def is_animated(image: Image.Image) -> bool:
    return bool(getattr(image, "is_animated", False))


def check_pixels(image: Image.Image, max_pixels: int) -> None:
    """Raise UnreadableContent for too many pixels, before decoding: a small file can expand to gigabytes."""
    if image.width * image.height > max_pixels:
        raise UnreadableContent(
            f"The picture has {image.width} x {image.height} pixels; the limit is {max_pixels}."
        )


def shrink(image: Image.Image, max_edge: int, max_bytes: int) -> tuple[str, bytes]:
    """Return a still picture within the given edge length and size."""
    image.draft("RGB", (max_edge, max_edge))  # JPEG decodes directly to about this size
    image.thumbnail((max_edge, max_edge), reducing_gap=2.0)
    image = ImageOps.exif_transpose(image)
    if image.has_transparency_data:
        data = encode(image.convert("RGBA"), "PNG")
        if len(data) <= max_bytes:
            return "image/png", data
        image = on_white(image.convert("RGBA"))
    picture = image.convert("RGB")
    while True:
        for quality in QUALITIES:
            data = encode(picture, "JPEG", quality)
            if len(data) <= max_bytes:
                return "image/jpeg", data
        if max(picture.size) <= SMALLEST_EDGE:
            raise UnreadableContent("The picture cannot be made small enough.")
        picture.thumbnail((max(picture.size) // 2, max(picture.size) // 2))


def encode(image: Image.Image, kind: str, quality: int = 85) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, quality=quality, optimize=True)
    return out.getvalue()


def on_white(image: Image.Image) -> Image.Image:
    ground = Image.new("RGBA", image.size, "white")
    ground.alpha_composite(image)
    return ground
