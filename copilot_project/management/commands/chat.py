"""chat: talk in the terminal."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.api_keys import create_api_key
from copilot_project import secrets
from copilot_project.embedded.instance import find_instance
from copilot_project.embedded.product import demo_user
from copilot_project.terminal.api import check_key, open_client
from copilot_project.terminal.conversation import Conversation
from copilot_project.terminal.errors import ChatFailed, Refused

KEY_NAME = "terminal"


class Command(BaseCommand):
    help = "Talk in the terminal. Ctrl-C cancels the answer; without MESSAGE it asks for one after the other."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--session", default="", metavar="ID", help="Go on with this session.")
        parser.add_argument("message", nargs="*", metavar="MESSAGE", help="What to say.")

    def handle(self, *args: Any, **options: Any) -> None:
        logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs every request, into the conversation
        message = " ".join(options["message"])
        try:
            sys.exit(self.converse(options["session"], message))
        except Refused as error:
            if error.status != 401 or settings.ENV.chat_api_key or not key_file().exists():
                raise CommandError(str(error)) from error
        except ChatFailed as error:
            raise CommandError(str(error)) from error
        key_file().unlink()  # the kept key is of another database: make a new one, once
        try:
            sys.exit(self.converse(options["session"], message))
        except ChatFailed as error:
            raise CommandError(str(error)) from error

    def converse(self, session_id: str, message: str) -> int:
        with open_client(find_url(), find_api_key()) as client:
            check_key(client)
            conversation = Conversation(client, session_id)
            if message:
                return conversation.ask(message)
            code = conversation.talk(line_reader(), self.stderr.write)
            if conversation.session_id:
                self.stderr.write(f"Go on with: ./copilot chat --session {conversation.session_id}")
            return code


def find_url() -> str:
    if settings.ENV.chat_url:
        return str(settings.ENV.chat_url).rstrip("/")
    running = find_instance(settings.HOME)
    if running is None:
        raise CommandError("Nothing runs here. Start it with ./copilot up, or set COPILOT_URL to a site.")
    return running.url


def find_api_key() -> str:
    """The one given, or the demo user's own, made once and kept."""
    if settings.ENV.chat_api_key:
        return str(settings.ENV.chat_api_key)
    if settings.ENV.chat_url or settings.PRODUCTION:
        raise CommandError("Set COPILOT_API_KEY to a key of yours; ./copilot apikey USERNAME makes one.")
    return secrets.kept(key_file(), lambda: create_api_key(demo_user(settings.ENV), KEY_NAME))


def key_file() -> Path:
    path: Path = settings.HOME / "keys" / "terminal_api_key"
    return path


def line_reader() -> Any:
    """`input` with history and editing where there is a terminal."""
    if sys.stdin.isatty():
        import readline  # noqa: F401  (importing it is what gives `input` its editing)

        return input
    return lambda prompt: read_piped_line()


def read_piped_line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line
