"""Shared code of the web request blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from blocks.base import Emissions, Leaves
from blocks.coercion import as_text, parse_json
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Files, Object, Text, TextMap, pin
from blocks.support.file_inputs import load_file
from boundary.http import OutboundRequest, OutboundResponse, UploadPart
from boundary.readable import decode_text

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class RequestFields(BlockInputs):
    """The pins of a web request."""

    url: Text = pin(description="URL to send the request to.")
    method: Literal["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"] = pin(
        "POST", description="HTTP method.", advanced=True
    )
    headers: TextMap = pin({}, description="HTTP headers.", advanced=True)
    json_format: Boolean = pin(True, description="Send the body as JSON instead of a form.", advanced=True)
    body: Object | None = pin(
        None, description="Request body; text is sent as {value: text}.", advanced=True, scalar_key="value"
    )
    files_name: Text = pin("file", description="Form field for the files.", advanced=True)
    files: Files = pin([], description="Files to upload; requires json_format to be off.", advanced=True)


class AnswerPins(BlockOutputs):
    """The pins of the response."""

    response: JSON
    client_error: JSON
    server_error: JSON


def leaves_by_method(inputs: RequestFields) -> Leaves:
    """Return `leaves` of a request: a plain GET only requests an address; anything else sends data."""
    carries = (
        inputs.body is not None or inputs.files or inputs.headers or inputs.method not in ("GET", "HEAD")
    )
    return Leaves.MESSAGE if carries else Leaves.ADDRESS


def send(inputs: RequestFields, headers: Mapping[str, str], context: BlockContext) -> Emissions:
    """Send one request without retries and emit the response on the pin for its status."""
    if inputs.files and inputs.json_format:
        raise BlockFailed("Files can only be sent as a form. Switch `json_format` off.")
    response = context.ports.http.fetch(make_request(inputs, headers, context))
    yield pin_for(response.status), read_body(response)


def make_request(inputs: RequestFields, headers: Mapping[str, str], context: BlockContext) -> OutboundRequest:
    sent = dict(headers)
    if inputs.method in CHANGING and not any(name.lower() == "idempotency-key" for name in sent):
        sent["Idempotency-Key"] = (
            context.idempotency_key
        )  # so that a second attempt counts as the same request
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
    source = load_file(reference, context)
    return UploadPart(field=field, filename=source.name, content=source.content, media_type=source.media_type)


def pin_for(status: int) -> str:
    if 200 <= status < 300:
        return "response"
    return "client_error" if 400 <= status < 500 else "server_error"


def read_body(response: OutboundResponse) -> JSON:
    """Return the body, parsed if it is JSON."""
    text = decode_text(response.body, response.charset)
    if response.media_type.endswith("json"):
        try:
            return parse_json(text)
        except ValueError:
            return text
    return text
