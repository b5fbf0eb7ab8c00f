"""Resources: the files of the workspace, and the outputs of executions."""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from doors.callers import Caller
from doors.mcp import limits, results, rows
from doors.mcp.errors import BadParams
from doors.mcp.providers import Provider, ResourcePage
from durable.event_log import encode
from executions.models import Execution
from workspace import files
from workspace.errors import FileMissing, WorkspaceError
from workspace.models import WorkspaceFile

FILE = "workspace://"
EXECUTION = "execution://"
PATHS = "path/"
RUNS = "runs:"
OFFSET = re.compile(r"\?offset=([0-9]{1,15})$")
TEXTUAL = ("text/", "application/json", "application/xml", "application/x-ndjson", "image/svg+xml")
LIST_FILES = "list_workspace_files"
READ_FILE = "read_workspace_file"
GET_EXECUTION = "get_execution"


class ResourceProvider(Provider):
    """Offers files to keys that may read them, and outputs to keys that may fetch executions."""

    def resources(self, caller: Caller, cursor: str | None) -> ResourcePage:
        """Return files by path, then the outputs of recent executions."""
        if cursor is None or not cursor.startswith(RUNS):
            found = file_page(caller, cursor)
            return found if found.next else ResourcePage(resources=found.resources, next=RUNS)
        return ResourcePage(resources=run_list(caller))

    def templates(self) -> Iterable[Mapping[str, Any]]:
        return TEMPLATES

    def read(self, caller: Caller, uri: str) -> Sequence[Mapping[str, Any]] | None:
        if uri.startswith(FILE):
            return [file_content(caller, uri)]
        if uri.startswith(EXECUTION):
            return [outputs_content(caller, uri)]
        return None


def file_page(caller: Caller, cursor: str | None) -> ResourcePage:
    if not caller.may_use_tool(LIST_FILES):
        return ResourcePage(resources=())
    page = files.list_files(caller.user, cursor=cursor, limit=limits.RESOURCES_PER_PAGE)
    return ResourcePage(resources=[file_entry(file) for file in page.files], next=page.next)


def file_entry(file: WorkspaceFile) -> dict[str, Any]:
    return {
        "uri": file.reference,
        "name": file.path,
        "title": file.name,
        "mimeType": file.media_type,
        "size": file.size,
    }


def run_list(caller: Caller) -> list[dict[str, Any]]:
    if not caller.may_use_tool(GET_EXECUTION):
        return []
    ended = Execution.objects.filter(user=caller.user, parent=None, status=Execution.COMPLETED)
    newest = ended.select_related("agent").order_by("-queued_at")[: limits.MAX_RECENT_EXECUTIONS]
    return [run_entry(row) for row in newest if rows.may_see(caller, row)]


def run_entry(execution: Execution) -> dict[str, Any]:
    return {
        "uri": f"{EXECUTION}{execution.pk}/outputs",
        "name": f"{execution.agent.name} {execution.queued_at:%Y-%m-%d %H:%M}",
        "description": f"Outputs of a run of {execution.agent.name}.",
        "mimeType": "application/json",
    }


# --- contents -------------------------------------------------------------------------------------


def file_content(caller: Caller, uri: str) -> dict[str, Any]:
    """Return a file, or the part of it that begins at `?offset=`; text as text, the rest as base64."""
    if not caller.may_use_tool(READ_FILE):
        raise missing(uri)
    place = OFFSET.search(uri)
    offset = int(place[1]) if place else 0
    name = OFFSET.sub("", uri).removeprefix(FILE)
    try:
        if name.startswith(PATHS):
            file = files.find(caller.user, path=unquote(name.removeprefix(PATHS)))
        else:
            file = files.find(caller.user, file_id=name)
        data = files.read_range(file, offset, limits.MAX_RESOURCE_BYTES)
    except (FileMissing, WorkspaceError):
        raise missing(uri) from None
    end = offset + len(data)
    rest = {"_meta": {"ratchet/size": file.size, "ratchet/next": f"{file.reference}?offset={end}"}}
    entry = {"uri": uri, "mimeType": file.media_type} | (rest if end < file.size else {})
    text = text_in(data) if file.media_type.startswith(TEXTUAL) and end >= file.size and not offset else None
    if text is not None:
        return entry | {"text": text}
    return entry | {"blob": base64.b64encode(data).decode()}


def text_in(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def outputs_content(caller: Caller, uri: str) -> dict[str, Any]:
    """Return the outputs of an execution as JSON."""
    name, _, part = uri.removeprefix(EXECUTION).partition("/")
    if part != "outputs" or not caller.may_use_tool(GET_EXECUTION):
        raise missing(uri)
    try:
        row = rows.find(caller, f"{rows.EXECUTION}{uuid.UUID(name).hex}")
    except (ValueError, BadParams):
        raise missing(uri) from None
    assert isinstance(row, Execution)
    text = encode(results.outputs_of(row))
    if len(text) > limits.MAX_RESOURCE_BYTES:
        raise BadParams(f"The outputs have {len(text):,} characters; they are too long to be read here.")
    return {"uri": uri, "mimeType": "application/json", "text": text}


def missing(uri: str) -> BadParams:
    return BadParams("There is no such resource, or it is not yours.", data={"uri": uri[:2_000]})


TEMPLATES: tuple[dict[str, Any], ...] = (
    {
        "uriTemplate": f"{FILE}{{file_id}}",
        "name": "workspace-file",
        "title": "File by id",
        "description": "A file of the workspace. Of a long one the first part; `?offset=` reads on.",
    },
    {
        "uriTemplate": f"{FILE}{PATHS}{{+path}}",
        "name": "workspace-path",
        "title": "File by path",
        "description": "A file of the workspace by its path, such as reports/may.csv.",
    },
    {
        "uriTemplate": f"{EXECUTION}{{execution_id}}/outputs",
        "name": "execution-outputs",
        "title": "Outputs of a run",
        "description": "The outputs of one run of an agent.",
        "mimeType": "application/json",
    },
)
