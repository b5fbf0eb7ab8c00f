"""mcp add URL | list | remove NAME | tools NAME: the MCP servers of the site, or of one person."""

from __future__ import annotations

import getpass
import sys
from typing import Any

from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import QuerySet

from accounts.models import User
from connections import servers, tool_lists
from connections.errors import ToolServerError
from connections.models import ServerTool, ToolServer
from durable.errors import Refusal


class Command(BaseCommand):
    help = "Add, list and remove MCP servers: of the whole site, of a group, or of one person."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        add = verbs.add_parser("add", help="Add a server by its URL and list its tools.")
        add.add_argument("url")
        add.add_argument("--name", default="", help="Begins the names of its tools.")
        add.add_argument("--user", default="", help="Whose server it is; without it, everybody's.")
        add.add_argument("--group", default="", help="Only for the members of this group.")
        add.add_argument(
            "--key", action="store_true", help="Ask for a key, or read it from the standard input."
        )
        add.add_argument("--key-header", default="Authorization")
        add.add_argument(
            "--sign-in", action="store_true", help="Everybody signs in at the server by themselves."
        )
        listing = verbs.add_parser("list", help="List the servers.")
        listing.add_argument("--user", default="")
        for verb, text in (("remove", "Remove a server."), ("tools", "List the tools of a server now.")):
            one = verbs.add_parser(verb, help=text)
            one.add_argument("name")
            one.add_argument("--user", default="")

    def handle(self, *args: Any, verb: str, **options: Any) -> None:
        getattr(self, verb)(**options)

    def add(self, **options: Any) -> None:
        auth = "sign_in" if options["sign_in"] else "key" if options["key"] else "none"
        try:
            server = servers.add_server(
                servers.NewServer(
                    url=options["url"],
                    name=options["name"],
                    user=self.person(options["user"]),
                    group=self.group(options["group"]),
                    auth=auth,
                    key=read_key() if options["key"] else "",
                    key_header=options["key_header"],
                )
            )
        except Refusal as refusal:
            raise CommandError(refusal.advice) from None
        self.stdout.write(f"Added {server.name} ({server.url}).")
        if auth != "sign_in":
            self.show_tools(server)

    def list(self, **options: Any) -> None:
        for server in self.rows(options["user"]):
            state = "off" if not server.enabled else server.last_error or "ok"
            self.stdout.write(f"{server.name}  {server.url}  {server.scope}  {server.auth}  {state}")

    def remove(self, **options: Any) -> None:
        self.one(**options).delete()
        self.stdout.write(f"Removed {options['name']}.")

    def tools(self, **options: Any) -> None:
        self.show_tools(self.one(**options))

    def show_tools(self, server: ToolServer) -> None:
        try:
            tool_lists.refresh(server, server.user_id)
        except ToolServerError as error:
            self.stdout.write(f"It does not answer now, and is asked again when it is used: {error}")
            return
        for tool in ServerTool.objects.filter(server=server):
            self.stdout.write(f"  {tool.known_as}  {tool.state}  {tool.trusted_effect}")

    def person(self, username: str) -> User | None:
        if not username:
            return None
        found = User.objects.filter(username=username, is_active=True).first()
        if found is None:
            raise CommandError(f"There is no active user {username!r}.")
        return found

    def group(self, name: str) -> Group | None:
        found = Group.objects.filter(name=name).first() if name else None
        if name and found is None:
            raise CommandError(f"There is no group {name!r}.")
        return found

    def rows(self, username: str) -> QuerySet[ToolServer]:
        return ToolServer.objects.filter(user=self.person(username))

    def one(self, **options: Any) -> ToolServer:
        found = self.rows(options["user"]).filter(name=options["name"]).first()
        if found is None:
            raise CommandError(f"There is no server {options['name']!r}. `mcp list` shows them.")
        return found


def read_key() -> str:
    return getpass.getpass("Key: ") if sys.stdin.isatty() else sys.stdin.readline().strip()
