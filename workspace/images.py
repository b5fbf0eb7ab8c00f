"""Which files become pictures a model is shown, and how they are made to fit."""

from __future__ import annotations

import base64
import io
import struct
import uuid
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import BinaryIO

from PIL import Image, ImageOps

from durable import limits
from workspace.errors import BadImage, WorkspaceError
from workspace.files import open_file
from workspace.models import WorkspaceFile

FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}
QUALITIES = (85, 70, 50)
SMALLEST_EDGE = 64
BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    struct.error,
    zlib.error,
)  # what Pillow raises on bad files


@dataclass(frozen=True, kw_only=True)
class ShownImage:
    """A picture as the model gets it."""

    file_id: uuid.UUID
    data_url: str


@dataclass(frozen=True, kw_only=True)
class ImageChoice:
    """Which pictures are shown, and why the others are not."""

    shown: list[ShownImage] = field(default_factory=list)
    left_out: dict[uuid.UUID, str] = field(default_factory=dict)


def is_image(file: WorkspaceFile) -> bool:
    """Whether models can be shown this kind of file at all."""
    return file.media_type in FORMATS


def choose_images(
    files: Iterable[WorkspaceFile],
    *,
    max_images: int = limits.MAX_IMAGES_PER_REQUEST,
    max_total_bytes: int = limits.MAX_IMAGES_TOTAL_BYTES,
) -> ImageChoice:
    """The pictures among files that fit into one request, the first ones first: hand in the newest first."""
    choice, total = ImageChoice(), 0
    for file in dict.fromkeys(file for file in files if is_image(file)):
        if len(choice.shown) >= max_images:
            choice.left_out[file.id] = f"Only {max_images} pictures are shown at a time."
            continue
        try:
            url = to_data_url(file)
        except WorkspaceError as error:
            choice.left_out[file.id] = str(error.detail)
            continue
        if total + len(url) > max_total_bytes:
            choice.left_out[file.id] = "The pictures together are too large."
            continue
        total += len(url)
        choice.shown.append(ShownImage(file_id=file.id, data_url=url))
    return choice


def to_data_url(
    file: WorkspaceFile, max_edge: int = limits.MAX_IMAGE_EDGE, max_bytes: int = limits.MAX_IMAGE_BYTES
) -> str:
    """The picture as a data URL, scaled down when it is too large; raises BadImage."""
    with open_file(file) as content:
        media_type, data = fit(content, file, max_edge, max_bytes)
    return f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"


def fit(content: BinaryIO, file: WorkspaceFile, max_edge: int, max_bytes: int) -> tuple[str, bytes]:
    """The picture's own bytes when they fit, else a smaller picture."""
    if not is_image(file):
        raise BadImage(f"{file.media_type} is not a kind of picture that can be shown.")
    try:
        with Image.open(content, formats=[FORMATS[file.media_type]]) as image:
            check_pixels(image)
            if (
                max(image.size) <= max_edge
                and file.size <= max_bytes
                and not getattr(image, "is_animated", False)
            ):
                image.draft(None, (1, 1))
                image.load()
                content.seek(0)
                return file.media_type, content.read()
            return shrink(image, max_edge, max_bytes)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise BadImage("The picture has too many pixels.") from None
    except BROKEN as error:
        raise BadImage("The picture is damaged.") from error


def check_pixels(image: Image.Image) -> None:
    """Before anything is decoded: a small file can claim a picture of gigabytes."""
    if image.width * image.height > limits.MAX_IMAGE_PIXELS:
        raise BadImage(
            f"The picture has {image.width} x {image.height} pixels; {limits.MAX_IMAGE_PIXELS} are the most."
        )


def shrink(image: Image.Image, max_edge: int, max_bytes: int) -> tuple[str, bytes]:
    """A still picture of at most that edge and that many bytes."""
    image.draft("RGB", (max_edge, max_edge))  # JPEG decodes straight to about this size
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
            raise BadImage("The picture cannot be made small enough.")
        picture.thumbnail((max(picture.size) // 2, max(picture.size) // 2))


def encode(image: Image.Image, kind: str, quality: int = 85) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, quality=quality, optimize=True)
    return out.getvalue()


def on_white(image: Image.Image) -> Image.Image:
    ground = Image.new("RGBA", image.size, "white")
    ground.alpha_composite(image)
    return ground
