"""Images for the model: which files are shown, scaled down to fit."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field

from boundary.errors import ParserError
from boundary.parser_process import parse_isolated
from workspace import limits
from workspace.errors import BadImage, WorkspaceError
from workspace.files import open_file
from workspace.models import WorkspaceFile

PARSER = "boundary.parsers.pictures"
FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}


@dataclass(frozen=True, kw_only=True)
class ShownImage:
    """An image as the model gets it."""

    file_id: uuid.UUID
    data_url: str


@dataclass(frozen=True, kw_only=True)
class ImageChoice:
    """The images that are shown, and why others are not."""

    shown: list[ShownImage] = field(default_factory=list)
    left_out: dict[uuid.UUID, str] = field(default_factory=dict)


def is_image(file: WorkspaceFile) -> bool:
    """Whether models can be shown this type of file."""
    return file.media_type in FORMATS


def choose_images(
    files: Iterable[WorkspaceFile],
    *,
    max_images: int = limits.MAX_IMAGES_PER_REQUEST,
    max_total_bytes: int = limits.MAX_IMAGES_TOTAL_BYTES,
) -> ImageChoice:
    """Return the first images that fit into one request; pass the newest files first."""
    choice, total = ImageChoice(), 0
    for file in dict.fromkeys(file for file in files if is_image(file)):
        if len(choice.shown) >= max_images:
            choice.left_out[file.id] = f"Only {max_images} images are shown at a time."
            continue
        try:
            url = to_data_url(file)
        except WorkspaceError as error:
            choice.left_out[file.id] = error.message
            continue
        if total + len(url) > max_total_bytes:
            choice.left_out[file.id] = "The images together are too large."
            continue
        total += len(url)
        choice.shown.append(ShownImage(file_id=file.id, data_url=url))
    return choice


def to_data_url(
    file: WorkspaceFile, max_edge: int = limits.MAX_IMAGE_EDGE, max_bytes: int = limits.MAX_IMAGE_BYTES
) -> str:
    """Return the image as a data URL, scaled down if it is too large; raises BadImage."""
    if not is_image(file):
        raise BadImage(f"{file.media_type} is not a type of image that can be shown.")
    if file.size > limits.MAX_IMAGE_FILE_BYTES:
        raise BadImage(f"The image is larger than {limits.MAX_IMAGE_FILE_BYTES} bytes.")
    with open_file(file) as stream:
        content = stream.read()
    smaller = fit(content, file.media_type, max_edge, max_bytes)
    if smaller is None:
        return f"data:{file.media_type};base64,{base64.b64encode(content).decode('ascii')}"
    return f"data:{smaller['media_type']};base64,{smaller['data']}"


def fit(content: bytes, media_type: str, max_edge: int, max_bytes: int) -> dict[str, str] | None:
    """Return the type and base64 of a smaller image, or None if the original fits; raises BadImage."""
    arguments = {
        "format": FORMATS[media_type],
        "max_edge": max_edge,
        "max_bytes": max_bytes,
        "max_pixels": limits.MAX_IMAGE_PIXELS,
    }
    try:
        found: dict[str, str] | None = parse_isolated(
            PARSER, content, arguments, seconds=limits.IMAGE_CPU_SECONDS
        )
    except ParserError as error:
        raise BadImage(str(error)) from None
    return found
