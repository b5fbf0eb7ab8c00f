"""Files a block is given: a URL, a data URI, a workspace reference or a path in the workspace."""

from __future__ import annotations

import base64
import binascii
import mimetypes
import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes, urlsplit

from boundary.errors import FetchError
from boundary.http import OutboundRequest
from durable import limits
from executions.blocks.base import Emissions, Leaves
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.schema import BlockInputs

DATA_URI = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?P<parameters>(?:;[^;,]*)*),", re.ASCII)
OTHER_SCHEME = re.compile(r"(?!workspace:)[a-zA-Z][a-zA-Z0-9+.-]*:", re.ASCII)
DEFAULT_TYPE = "application/octet-stream"


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file's content, wherever it came from."""

    name: str
    media_type: str
    content: bytes

    @property
    def text(self) -> str:
        """As UTF-8, else as Latin-1, which reads every byte."""
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError:
            return self.content.decode("latin-1")


def load_source(reference: str, context: BlockContext) -> Source:
    """Fetch, decode or open what the reference names; raises BlockFailed."""
    if reference.startswith("data:"):
        source = _decode(reference)
    elif is_url(reference):
        source = _fetch(reference, context)
    elif OTHER_SCHEME.match(reference):
        raise BlockFailed("A file is given by an http(s) URL, a data URI or a workspace reference.")
    else:
        stored = context.ports.files.open(reference)
        source = Source(name=stored.name, media_type=stored.media_type, content=stored.content)
    if len(source.content) > limits.MAX_BLOCK_FILE_BYTES:
        raise BlockFailed(f"The file is larger than {limits.MAX_BLOCK_FILE_BYTES} bytes.")
    return source


def leaves_by_file(inputs: BlockInputs) -> Leaves:
    """For `leaves` of blocks that are given files: a URL among their inputs is fetched."""
    given = (value for value in inputs.model_dump().values() if isinstance(value, str))
    return Leaves.ADDRESS if any(map(is_url, given)) else Leaves.NOTHING


def is_url(reference: str) -> bool:
    return reference.lower().startswith(("http://", "https://"))


def keep_source(reference: str, pin: str, context: BlockContext, *, base_64: bool) -> Emissions:
    """Keep the file in the workspace and emit how to reach it: by reference from a chat, inline in a graph."""
    source = load_source(reference, context)
    stored = context.ports.files.save(
        name=source.name, content=source.content, media_type=source.media_type, key=context.key(pin)
    )
    inline = base_64 or not context.from_chat
    yield pin, to_data_uri(source) if inline else stored.reference


def to_data_uri(source: Source) -> str:
    return f"data:{source.media_type};base64,{base64.b64encode(source.content).decode('ascii')}"


def _fetch(url: str, context: BlockContext) -> Source:
    try:
        response = context.ports.http.fetch(OutboundRequest(url=url, max_bytes=limits.MAX_BLOCK_FILE_BYTES))
    except FetchError as error:
        raise BlockFailed(str(error)) from error
    if response.status >= 400:
        raise BlockFailed(f"The server answered {response.status} for this file.")
    name = urlsplit(url).path.rsplit("/", 1)[-1] or "download"
    return Source(name=name, media_type=response.media_type or DEFAULT_TYPE, content=response.body)


def _decode(uri: str) -> Source:
    head = DATA_URI.match(uri)
    if head is None:
        raise BlockFailed("This data URI cannot be read. It looks like data:text/plain;base64,SGVsbG8=.")
    payload = uri[head.end() :]
    media_type = (head["type"] or "text/plain").lower()
    if ";base64" in head["parameters"].lower():
        try:
            packed = "".join(payload.split()).rstrip("=")
            content = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise BlockFailed("The base64 of this data URI is broken.") from None
    else:
        content = unquote_to_bytes(payload)
    extension = mimetypes.guess_extension(media_type) or ""
    return Source(name=f"file{extension}", media_type=media_type, content=content)
