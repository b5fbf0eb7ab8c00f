"""HTTP requests of an agent: what is sent, and on which pin the answer comes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from boundary.errors import FetchError
from boundary.http import OutboundRequest, OutboundResponse, UploadPart
from boundary.readable import decode_text
from executions.blocks.base import Emissions, Leaves
from executions.blocks.coercion import parse_json
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.families.sources import load_source
from executions.blocks.families.texts import as_text
from executions.blocks.schema import (
    JSON,
    BlockInputs,
    BlockOutputs,
    Boolean,
    Files,
    Object,
    Text,
    TextMap,
    pin,
)

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class RequestFields(BlockInputs):
    """The pins of a web request."""

    url: Text = pin(description="Where to.")
    method: Literal["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"] = pin(
        "POST", description="The HTTP method.", advanced=True
    )
    headers: TextMap = pin({}, description="Headers to send.", advanced=True)
    json_format: Boolean = pin(True, description="Send the body as JSON; as a form otherwise.", advanced=True)
    body: Object | None = pin(
        None, description="What to send; text becomes {value: text}.", advanced=True, scalar_key="value"
    )
    files_name: Text = pin("file", description="The form field of the files.", advanced=True)
    files: Files = pin([], description="Files to upload; needs json_format off.", advanced=True)


class AnswerPins(BlockOutputs):
    """The pins of its answer."""

    response: JSON
    client_error: JSON
    server_error: JSON


def leaves_by_method(inputs: RequestFields) -> Leaves:
    """For `leaves`: a plain GET only asks for an address; whatever carries more is sent to somebody."""
    carries = (
        inputs.body is not None or inputs.files or inputs.headers or inputs.method not in ("GET", "HEAD")
    )
    return Leaves.MESSAGE if carries else Leaves.ADDRESS


def send(inputs: RequestFields, headers: Mapping[str, str], context: BlockContext) -> Emissions:
    """One request, without retry; emits the answer on the pin its status belongs to."""
    if inputs.files and inputs.json_format:
        raise BlockFailed("Files are sent as a form. Switch `json_format` off.")
    try:
        response = context.ports.http.fetch(make_request(inputs, headers, context))
    except FetchError as error:
        raise BlockFailed(str(error)) from error
    yield pin_for(response.status), read_body(response)


def make_request(inputs: RequestFields, headers: Mapping[str, str], context: BlockContext) -> OutboundRequest:
    sent = dict(headers)
    if inputs.method in CHANGING and not any(name.lower() == "idempotency-key" for name in sent):
        sent["Idempotency-Key"] = context.idempotency_key  # a second attempt is the same request
    as_form = inputs.body is not None and not inputs.json_format
    return OutboundRequest(
        url=inputs.url,
        method=inputs.method,
        headers=sent,
        json=inputs.body if inputs.json_format else None,
        form={name: as_text(value) for name, value in (inputs.body or {}).items()} if as_form else None,
        files=tuple(load_part(reference, inputs.files_name, context) for reference in inputs.files),
    )


def load_part(reference: str, field: str, context: BlockContext) -> UploadPart:
    source = load_source(reference, context)
    return UploadPart(field=field, filename=source.name, content=source.content, media_type=source.media_type)


def pin_for(status: int) -> str:
    if 200 <= status < 300:
        return "response"
    return "client_error" if 400 <= status < 500 else "server_error"


def read_body(response: OutboundResponse) -> JSON:
    """Parsed when it is JSON, else text."""
    text = decode_text(response.body, response.charset)
    if response.media_type.endswith("json"):
        try:
            return parse_json(text)
        except ValueError:
            return text
    return text
