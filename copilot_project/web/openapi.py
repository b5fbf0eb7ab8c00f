"""The parts of the OpenAPI document that all operations share: error responses and tags."""

from __future__ import annotations

from typing import Any

METHODS = {"get", "post", "put", "patch", "delete"}
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "description": "For programs; stable."},
                "message": {"type": "string", "description": "For people."},
                "hint": {"type": "string", "description": "What to do next."},
                "fields": {
                    "type": "object",
                    "additionalProperties": {"type": "array", "items": {"type": "string"}},
                    "description": "The problems of each field, by its path.",
                },
            },
        }
    },
}
TAGS = {
    "agents": "Agents of your library: import, export, versions, validation, runs.",
    "attention": "How much waits for you.",
    "blocks": "The blocks that agents consist of, and single block runs.",
    "chat": "The endpoint of AI SDK clients: one request per message, answered as a stream.",
    "connections": "MCP servers that you use, and their tools.",
    "config": "What a client needs to know about this site.",
    "credentials": "Keys, logins and OAuth2 sign-ins that agents use for you.",
    "executions": "Runs of agents.",
    "files": "Files of your workspace.",
    "grants": "Programs that you let use your account.",
    "hooks": "Addresses that start an agent when another service calls them.",
    "keys": "API keys.",
    "me": "Your profile.",
    "memory": "What the copilot remembers about you, and your instructions for it.",
    "models": "The language models that you may pick.",
    "follow-ups": "What the copilot will do later.",
    "notifications": "Which events notify you, and when.",
    "operations": "Long-running tool calls.",
    "push": "Browsers that receive push messages.",
    "reviews": "Questions that wait for your decision.",
    "schedules": "Agents that run by the clock.",
    "search": "Search in the messages of your conversations.",
    "sessions": "Conversations and the messages in them.",
    "store": "Agents that people published.",
    "tools": "The tools of the copilot, and your rules for them.",
    "triggers": "The addresses under /api/hooks/, their secrets and their log.",
    "turns": "Single answers: progress, stream, cancellation.",
    "usage": "Tokens and money you used.",
    "webhooks": "Your endpoints that receive events about ended jobs, and the delivery log.",
    "ws-ticket": "Access to websockets for clients without cookies.",
}
IN_WORDS = {"text/plain": {"schema": {"type": "string"}}}


def add_errors(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """drf-spectacular's hook: the one error form as the default answer of every operation."""
    result.setdefault("components", {}).setdefault("schemas", {})["Error"] = ERROR
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for methods in result["paths"].values():
        for operation in (methods[name] for name in METHODS & methods.keys()):
            told = content | IN_WORDS if is_streamed(operation) else content
            operation["responses"].setdefault("default", {"description": "Any error.", "content": told})
    return result


def is_streamed(operation: dict[str, Any]) -> bool:
    """Return whether it answers a `useChat` client, which shows the text of an error as it is."""
    return "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
