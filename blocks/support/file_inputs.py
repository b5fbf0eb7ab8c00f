"""Load files given as URL, data URI, workspace reference or workspace path."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes, urlsplit

from blocks import limits
from blocks.base import Emissions, Leaves
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.schema import BlockInputs
from boundary.http import OutboundRequest

DATA_URI = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?P<parameters>(?:;[^;,]*)*),", re.ASCII)
OTHER_SCHEME = re.compile(r"(?!workspace:)[a-zA-Z][a-zA-Z0-9+.-]*:", re.ASCII)
DEFAULT_TYPE = "application/octet-stream"


@dataclass(frozen=True, kw_only=True)
class LoadedFile:
    """A loaded file."""

    name: str
    media_type: str
    content: bytes

    @property
    def text(self) -> str:
        """Return the content decoded as UTF-8, else as Latin-1."""
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError:
            return self.content.decode("latin-1")


def load_file(reference: str, context: BlockContext) -> LoadedFile:
    """Fetch, decode or open a file; raise BlockFailed."""
    if reference.startswith("data:"):
        source = _decode(reference)
    elif is_url(reference):
        source = _fetch(reference, context)
    elif OTHER_SCHEME.match(reference):
        raise BlockFailed("A file must be an http(s) URL, a data URI or a workspace reference.")
    else:
        stored = context.ports.files.open(reference)
        source = LoadedFile(name=stored.name, media_type=stored.media_type, content=stored.content)
    if len(source.content) > limits.MAX_BLOCK_FILE_BYTES:
        raise BlockFailed(f"The file is larger than {limits.MAX_BLOCK_FILE_BYTES} bytes.")
    return source


def leaves_by_file(inputs: BlockInputs) -> Leaves:
    """Return `leaves` of a block that takes files: a URL among the inputs is fetched."""
    given = (value for value in inputs.model_dump().values() if isinstance(value, str))
    return Leaves.ADDRESS if any(map(is_url, given)) else Leaves.NOTHING


def is_url(reference: str) -> bool:
    return reference.lower().startswith(("http://", "https://"))


def store_file(reference: str, pin: str, context: BlockContext, *, base_64: bool) -> Emissions:
    """Store a file in the workspace and emit a reference in a chat, or a data URI in an agent."""
    source = load_file(reference, context)
    stored = context.ports.files.save(
        name=source.name, content=source.content, media_type=source.media_type, key=context.key(pin)
    )
    inline = base_64 or not context.from_chat
    yield pin, to_data_uri(source) if inline else stored.reference


def to_data_uri(source: LoadedFile) -> str:
    return f"data:{source.media_type};base64,{base64.b64encode(source.content).decode('ascii')}"


def _fetch(url: str, context: BlockContext) -> LoadedFile:
    response = context.ports.http.fetch(OutboundRequest(url=url, max_bytes=limits.MAX_BLOCK_FILE_BYTES))
    if response.status >= 400:
        raise BlockFailed(f"The server returned status {response.status} for this file.")
    name = urlsplit(url).path.rsplit("/", 1)[-1] or "download"
    return LoadedFile(name=name, media_type=response.media_type or DEFAULT_TYPE, content=response.body)


def _decode(uri: str) -> LoadedFile:
    head = DATA_URI.match(uri)
    if head is None:
        raise BlockFailed("This data URI is invalid. A valid one looks like data:text/plain;base64,SGVsbG8=.")
    payload = uri[head.end() :]
    media_type = (head["type"] or "text/plain").lower()
    if ";base64" in head["parameters"].lower():
        try:
            packed = "".join(payload.split()).rstrip("=")
            content = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise BlockFailed("The data URI contains invalid base64.") from None
    else:
        content = unquote_to_bytes(payload)
    extension = mimetypes.guess_extension(media_type) or ""
    return LoadedFile(name=f"file{extension}", media_type=media_type, content=content)
