"""Which files become pictures a model is shown, and how they are made to fit."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field

from boundary.errors import ParserError
from boundary.isolated import parse_isolated
from boundary.parsers.errors import UnreadableContent
from durable import limits
from workspace.errors import BadImage, WorkspaceError
from workspace.files import open_file
from workspace.models import WorkspaceFile

PARSER = "boundary.parsers.pictures"
FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}


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
    if not is_image(file):
        raise BadImage(f"{file.media_type} is not a kind of picture that can be shown.")
    if file.size > limits.MAX_IMAGE_FILE_BYTES:
        raise BadImage(f"The picture's file is larger than {limits.MAX_IMAGE_FILE_BYTES} bytes.")
    with open_file(file) as stream:
        content = stream.read()
    smaller = fit(content, file.media_type, max_edge, max_bytes)
    if smaller is None:
        return f"data:{file.media_type};base64,{base64.b64encode(content).decode('ascii')}"
    return f"data:{smaller['media_type']};base64,{smaller['data']}"


def fit(content: bytes, media_type: str, max_edge: int, max_bytes: int) -> dict[str, str] | None:
    """Type and base64 of a smaller picture, or None when its own bytes fit; raises BadImage."""
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
    except (ParserError, UnreadableContent) as error:
        raise BadImage(str(error)) from None
    return found
