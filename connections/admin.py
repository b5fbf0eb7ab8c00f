"""Admin pages of MCP servers and their tools."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from connections import definitions, servers, tool_lists
from connections.errors import ToolServerError
from connections.models import ServerTool, ToolServer
from durable.admin_actions import ActionsMixin
from durable.admin_rows import GeneratedRows
from durable.encryption import seal
from durable.errors import Refusal


class ToolServerForm(forms.ModelForm):  # type: ignore[type-arg]
    """A server of the site or of a group; the key is entered, and never shown again."""

    key = forms.CharField(
        required=False, widget=forms.PasswordInput, help_text="Leave it empty to keep the one that is stored."
    )

    class Meta:
        model = ToolServer
        fields = ["name", "title", "url", "group", "enabled", "auth", "key_header"]

    def clean_url(self) -> str:
        try:
            return servers.check_url(self.cleaned_data["url"])
        except Refusal as refusal:
            raise forms.ValidationError(refusal.advice) from None

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        changed = "url" in self.changed_data and bool(self.instance.sealed_key)
        needs_key = given.get("auth") == ToolServer.Auth.KEY and not given.get("key")
        if needs_key and (changed or not self.instance.sealed_key):
            raise forms.ValidationError("Enter the key: it is not sent to another address unseen.")
        return given


@admin.register(ToolServer)
class ToolServerAdmin(ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """MCP servers. Operators add those of the site and of groups; people add their own."""

    form = ToolServerForm
    list_display = [
        "name",
        "url",
        "user",
        "group",
        "enabled",
        "auth",
        "era",
        "failures",
        "retry_at",
        "listed_at",
    ]
    list_filter = ["enabled", "auth", "era"]
    list_select_related = ["user", "group"]
    search_fields = ["=id", "name", "title", "url", "user__username"]
    readonly_fields = (
        "user",
        "from_setting",
        "era",
        "protocol_version",
        "failures",
        "retry_at",
        "last_error",
        "listed_at",
        "created_at",
    )
    actions = ["list_tools", "try_again"]

    def save_model(self, request: HttpRequest, server: ToolServer, form: Any, change: bool) -> None:
        if key := form.cleaned_data.get("key"):
            server.sealed_key = seal(key)
        elif "url" in form.changed_data:
            server.sealed_key = ""
        if "url" in form.changed_data and change:
            server.era, server.oauth, server.sealed_client_secret = "", {}, ""
            server.sign_ins.all().delete()
        super().save_model(request, server, form, change)

    @admin.action(description="List the tools now", permissions=["change"])
    def list_tools(self, request: HttpRequest, chosen: QuerySet[ToolServer]) -> None:
        for server in chosen:
            try:
                found = tool_lists.refresh(server, getattr(request.user, "pk", None))
            except ToolServerError as error:
                self.message_user(request, f"{server}: {error}", level="ERROR")
            else:
                self.log_change(request, server, "Listed its tools.")
                self.message_user(
                    request, f"{server}: {found.usable} usable, {found.waiting} to be approved."
                )

    @admin.action(description="Try again now: end the pause after failures", permissions=["change"])
    def try_again(self, request: HttpRequest, chosen: QuerySet[ToolServer]) -> None:
        for server in chosen:
            self.log_change(request, server, "Ended its pause.")
        chosen.update(failures=0, retry_at=None, last_error="")


@admin.register(ServerTool)
class ServerToolAdmin(GeneratedRows, ActionsMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Tools of servers. A new or changed one is not used before somebody has seen the difference and approved it."""

    list_display = ["known_as", "server", "state", "effect", "lowered_effect", "pinned", "approved_at"]
    list_filter = ["state", "effect", "pinned"]
    list_select_related = ["server"]
    search_fields = ["=id", "known_as", "server__name"]
    fields = readonly_fields = (
        "server",
        "name",
        "known_as",
        "state",
        "effect",
        "lowered_effect",
        "pinned",
        "definition",
        "difference",
        "approved_at",
        "approved_by",
    )
    actions = ["approve"]

    @admin.display(description="difference to what was approved")
    def difference(self, tool: ServerTool) -> str:
        return definitions.difference(tool.definition, tool.offered) if tool.offered else ""

    @admin.action(description="Approve the change that its page shows", permissions=["change"])
    def approve(self, request: HttpRequest, chosen: QuerySet[ServerTool]) -> None:
        waiting = [tool for tool in chosen if tool.offered is not None]
        for tool in waiting:
            by: Any = request.user
            tool_lists.approve(tool, digest=definitions.digest(tool.offered), by=by)
            self.log_change(request, tool, "Approved its change.")
        self.message_user(request, f"Approved: {len(waiting)}.")
