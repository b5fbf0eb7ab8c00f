"""A conversation in the terminal: send messages, show the answers, cancel on Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import httpx

from copilot_project.terminal import api
from copilot_project.terminal.api import ChatFailed
from copilot_project.terminal.screen import Screen
from copilot_project.terminal.stream import TurnEvents

ANSWERED, FAILED, CANCELLED = 0, 1, 130
EXIT_CODES = {"answered": ANSWERED, "failed": FAILED, "cancelled": CANCELLED}
LEAVE_WORDS = {"/exit", "/quit", "exit", "quit"}


class TerminalConversation:
    """One session, many messages."""

    def __init__(
        self,
        client: httpx.Client,
        session_id: str = "",
        *,
        model: str = "",
        make_screen: Callable[[], Screen] = Screen,
    ) -> None:
        self.client = client
        self.session_id = session_id
        self.model = model
        self.make_screen = make_screen

    def ask(self, message: str) -> int:
        """Send one message and show its answer; return the exit code."""
        self.session_id = self.session_id or api.create_session(self.client)
        turn_id = api.submit_turn(self.client, self.session_id, message, self.model)
        screen = self.make_screen()
        try:
            with cancelled_by_interrupt(self.client, turn_id):
                for chunk in TurnEvents(self.client, turn_id):
                    screen.show(chunk)
        except KeyboardInterrupt:
            screen.outcome = "cancelled"
        finally:
            screen.end()
        return EXIT_CODES.get(screen.outcome, FAILED)

    def talk(self, read_line: Callable[[str], str], say: Callable[[str], None]) -> int:
        """Read and send messages until the user leaves; a failed message does not end the conversation."""
        while True:
            try:
                line = read_line("> ").strip()
            except (EOFError, KeyboardInterrupt):
                return ANSWERED
            if line in LEAVE_WORDS:
                return ANSWERED
            if not line:
                continue
            try:
                self.ask(line)
            except ChatFailed as error:
                say(str(error))


@contextlib.contextmanager
def cancelled_by_interrupt(client: httpx.Client, turn_id: str) -> Iterator[None]:
    """Cancel the turn on the first Ctrl-C and keep reading until it ends; leave on the second."""
    presses = 0

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal presses
        presses += 1
        if presses > 1:
            raise KeyboardInterrupt
        threading.Thread(target=cancel, args=(client, turn_id), daemon=True).start()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def cancel(client: httpx.Client, turn_id: str) -> None:
    # If this fails, the turn continues and is shown; a second Ctrl-C leaves it running.
    with contextlib.suppress(ChatFailed):
        api.cancel_turn(client, turn_id)
