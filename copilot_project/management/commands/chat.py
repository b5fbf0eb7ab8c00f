"""chat: chat in the terminal."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.api_keys import create_api_key
from copilot_project import secrets
from copilot_project.launcher.instance import find_instance
from copilot_project.launcher.product import demo_user
from copilot_project.terminal.api import ChatFailed, SiteRefused, check_key, open_client
from copilot_project.terminal.conversation import TerminalConversation

KEY_NAME = "terminal"


class Command(BaseCommand):
    help = "Chat in the terminal: send MESSAGE, or type one message after another. Ctrl-C cancels an answer."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--session", default="", metavar="ID", help="Continue this session.")
        parser.add_argument("--model", default="", metavar="NAME", help="Answer with this model.")
        parser.add_argument("message", nargs="*", metavar="MESSAGE", help="Message to send.")

    def handle(self, *args: Any, **options: Any) -> None:
        logging.getLogger("httpx").setLevel(
            logging.WARNING
        )  # it would log every request into the conversation
        message = " ".join(options["message"])
        try:
            sys.exit(self.converse(options["session"], options["model"], message))
        except SiteRefused as error:
            if error.status != 401 or settings.ENV.chat_api_key or not key_file().exists():
                raise CommandError(str(error)) from error
        except ChatFailed as error:
            raise CommandError(str(error)) from error
        key_file().unlink()  # the stored key belongs to another database: create a new one, once
        try:
            sys.exit(self.converse(options["session"], options["model"], message))
        except ChatFailed as error:
            raise CommandError(str(error)) from error

    def converse(self, session_id: str, model: str, message: str) -> int:
        with open_client(find_url(), find_api_key()) as client:
            check_key(client)
            conversation = TerminalConversation(client, session_id, model=model)
            if message:
                return conversation.ask(message)
            code = conversation.talk(line_reader(), self.stderr.write)
            if conversation.session_id:
                self.stderr.write(f"To continue: ./copilot chat --session {conversation.session_id}")
            return code


def find_url() -> str:
    if settings.ENV.chat_url:
        return str(settings.ENV.chat_url).rstrip("/")
    running = find_instance(settings.HOME)
    if running is None:
        raise CommandError(
            "Ratchet is not running here. Start it with ./copilot up, or set COPILOT_URL to a running site."
        )
    return running.url


def find_api_key() -> str:
    """Return COPILOT_API_KEY, or a key of the demo user that is created once and kept."""
    if settings.ENV.chat_api_key:
        return str(settings.ENV.chat_api_key)
    if settings.ENV.chat_url or settings.PRODUCTION:
        raise CommandError("Set COPILOT_API_KEY to an API key; ./copilot apikey USERNAME creates one.")
    return secrets.kept(key_file(), lambda: create_api_key(demo_user(settings.ENV), KEY_NAME))


def key_file() -> Path:
    path: Path = settings.HOME / "keys" / "terminal_api_key"
    return path


def line_reader() -> Any:
    """Return a function like `input`, with history and line editing on a terminal."""
    if sys.stdin.isatty():
        import readline  # noqa: F401  (importing it adds line editing to `input`)

        return input
    return lambda prompt: read_piped_line()


def read_piped_line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line
