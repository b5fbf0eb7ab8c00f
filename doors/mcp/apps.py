"""The Django app of the MCP server; it has no models."""

from django.apps import AppConfig


class McpDoorConfig(AppConfig):
    name = "doors.mcp"
    label = "mcp_door"
    verbose_name = "MCP server"
