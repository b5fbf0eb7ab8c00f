"""Names and numbers of the Model Context Protocol that this server speaks, in both eras."""

from __future__ import annotations

from typing import Any, Final

SERVER_VERSION: Final = "0.1.0"  # of this product, as in pyproject.toml
MODERN: Final = "2026-07-28"
HANDSHAKE: Final = ("2025-11-25", "2025-06-18")
TASKS: Final = "io.modelcontextprotocol/tasks"

META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_SERVER: Final = "io.modelcontextprotocol/serverInfo"
META_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
META_IDEMPOTENCY_KEY: Final = "ratchet/idempotencyKey"

VERSION_HEADER: Final = "Mcp-Protocol-Version"
METHOD_HEADER: Final = "Mcp-Method"
NAME_HEADER: Final = "Mcp-Name"
PARAMETER_PREFIX: Final = "Mcp-Param-"
MIRRORED: Final = "x-mcp-header"  # in the schema of an argument that clients send as a header too
SESSION_HEADER: Final = "Mcp-Session-Id"
NAMED_BY: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}

INSTRUCTIONS: Final = (
    "Ratchet runs durable work for one person: the copilot (`ask_copilot`), agents of their library (`agent__…`), and "
    "their files. Work that was accepted goes on even if this connection breaks: repeat the same call to join it, or "
    "fetch it with `get_execution`."
)


def server_info() -> dict[str, Any]:
    return {"name": "ratchet", "title": "Ratchet", "version": SERVER_VERSION}
