"""The forms of servers and their tools in the HTTP API. No answer contains a secret."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group
from django.utils import timezone
from rest_framework import serializers

from connections import definitions, limits
from connections.models import ServerTool, ToolServer


class ServerToolSerializer(serializers.ModelSerializer[ServerTool]):
    """A tool of a server. `difference` shows the change that waits for approval, `offered_digest` names it."""

    title = serializers.SerializerMethodField()
    description = serializers.SerializerMethodField()
    lowered_effect = serializers.CharField(allow_blank=True)
    difference = serializers.SerializerMethodField()
    offered_digest = serializers.SerializerMethodField()

    class Meta:
        model = ServerTool
        fields = [
            "id",
            "name",
            "known_as",
            "title",
            "description",
            "state",
            "effect",
            "lowered_effect",
            "pinned",
            "difference",
            "offered_digest",
            "approved_at",
        ]
        read_only_fields = fields

    def get_title(self, tool: ServerTool) -> str:
        return str(self._fields(tool).get("title") or "")

    def get_description(self, tool: ServerTool) -> str:
        return str(self._fields(tool).get("description") or "")

    def get_difference(self, tool: ServerTool) -> str:
        return definitions.difference(tool.definition, tool.offered) if tool.offered else ""

    def get_offered_digest(self, tool: ServerTool) -> str:
        return definitions.digest(tool.offered) if tool.offered else ""

    def _fields(self, tool: ServerTool) -> dict[str, Any]:
        return dict(tool.definition or tool.offered or {})


class ToolServerSerializer(serializers.ModelSerializer[ToolServer]):
    """An MCP server that you use."""

    scope = serializers.ChoiceField(choices=["person", "group", "site"])
    group = serializers.CharField(source="group.name", default=None, allow_null=True)
    status = serializers.SerializerMethodField(help_text="ok, failing, sign_in, off or new.")
    signed_in = serializers.SerializerMethodField()
    can_change = serializers.SerializerMethodField()
    tools = ServerToolSerializer(many=True)

    class Meta:
        model = ToolServer
        fields = [
            "id",
            "name",
            "title",
            "url",
            "scope",
            "group",
            "enabled",
            "auth",
            "status",
            "signed_in",
            "can_change",
            "protocol_version",
            "instructions",
            "last_error",
            "retry_at",
            "listed_at",
            "created_at",
            "tools",
        ]
        read_only_fields = fields

    def get_status(self, server: ToolServer) -> str:
        if not server.enabled:
            return "off"
        if server.auth == ToolServer.Auth.SIGN_IN and not self.get_signed_in(server):
            return "sign_in"
        if server.failures and (server.retry_at is None or server.retry_at > timezone.now()):
            return "failing"
        return "ok" if server.listed_at else "new"

    def get_signed_in(self, server: ToolServer) -> bool:
        mine = [row for row in server.sign_ins.all() if row.user_id == self.context["user"].pk]
        return any(row.signed_out_at is None for row in mine)

    def get_can_change(self, server: ToolServer) -> bool:
        return bool(self.context["may_change"](server))


class ServerForm(serializers.Serializer[Any]):
    url = serializers.CharField(max_length=limits.MAX_SERVER_URL_CHARACTERS)
    name = serializers.RegexField(
        r"^[A-Za-z0-9 _.-]*$",
        max_length=limits.MAX_SERVER_NAME_CHARACTERS,
        required=False,
        allow_blank=True,
        default="",
    )
    title = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    auth = serializers.ChoiceField(
        choices=ToolServer.Auth.choices, required=False, default=ToolServer.Auth.NONE
    )
    key = serializers.CharField(
        max_length=limits.MAX_SERVER_KEY_CHARACTERS,
        required=False,
        allow_blank=True,
        default="",
        write_only=True,
        trim_whitespace=False,
    )
    key_header = serializers.CharField(max_length=100, required=False, default="Authorization")
    scope = serializers.ChoiceField(
        choices=["person", "group", "site"],
        required=False,
        default="person",
        help_text="Operators can add servers for a group or the whole site.",
    )
    group = serializers.SlugRelatedField(
        slug_field="name", queryset=Group.objects.all(), required=False, allow_null=True, default=None
    )


class ServerChangeForm(serializers.Serializer[Any]):
    title = serializers.CharField(max_length=200, required=False, allow_blank=True)
    url = serializers.CharField(max_length=limits.MAX_SERVER_URL_CHARACTERS, required=False)
    enabled = serializers.BooleanField(required=False)
    auth = serializers.ChoiceField(choices=ToolServer.Auth.choices, required=False)
    key = serializers.CharField(
        max_length=limits.MAX_SERVER_KEY_CHARACTERS, required=False, write_only=True, trim_whitespace=False
    )
    key_header = serializers.CharField(max_length=100, required=False)


class ToolChangeForm(serializers.Serializer[Any]):
    pinned = serializers.BooleanField(required=False, help_text="Always show it to the model.")
    lowered_effect = serializers.RegexField(
        f"^({'|'.join(ServerTool.Effect.values)}|)$",
        required=False,
        allow_blank=True,
        help_text="Trust it less than the server's hints say; empty: as the hints say.",
    )


class ApproveForm(serializers.Serializer[Any]):
    digest = serializers.RegexField(
        r"^[0-9a-f]{64}$", help_text="`offered_digest` of the change that you have seen."
    )
