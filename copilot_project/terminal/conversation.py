"""A conversation in the terminal: send messages, show the answers, cancel on Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import httpx

from copilot_project import limits
from copilot_project.terminal import api
from copilot_project.terminal.api import ChatFailed
from copilot_project.terminal.later_answers import Follower, LaterAnswers
from copilot_project.terminal.screen import Screen
from copilot_project.terminal.stream import TurnEvents

ANSWERED, FAILED, CANCELLED = 0, 1, 130
EXIT_CODES = {"answered": ANSWERED, "failed": FAILED, "cancelled": CANCELLED}
PROMPT = "> "
CAME_BACK = "The work is done, and the conversation continues:"
WAITS = "Work goes on in the background; its result will appear here. Ctrl-C leaves it running."
LEFT = "It goes on. To see its result later: ./copilot chat --session {session}"
LEAVE_WORDS = {"/exit", "/quit", "exit", "quit"}
DECISIONS = {"/approve": (True, ""), "/always": (True, "always"), "/reject": (False, "")}


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
        self._later: LaterAnswers | None = None
        self.asked: list[str] = []  # reviews that wait for the person

    def ask(self, message: str) -> int:
        """Send one message and show its answer, and what long work brings after it; return the exit code."""
        screen = self.answer(message)
        try:
            while screen.outcome == "answered" and screen.pending:
                screen.note(WAITS)
                turn_id = self.later.wait(threading.Event(), limits.CHAT_WAIT_SECONDS)
                if turn_id is None:
                    break
                screen = self.show(turn_id)
        except KeyboardInterrupt:
            screen.note(LEFT.format(session=self.session_id))
        return EXIT_CODES.get(screen.outcome, FAILED)

    def answer(self, message: str) -> Screen:
        """Send one message and show its answer."""
        if not self.session_id:
            self.session_id = api.create_session(self.client)
        later = self.later  # asks the site, so before the message is sent: a stream resumes, this does not
        turn_id = api.submit_turn(self.client, self.session_id, message, self.model)
        later.note(turn_id)
        return self.show(turn_id)

    @property
    def later(self) -> LaterAnswers:
        """The answers of this session that nobody asked for here."""
        if self._later is None:
            self._later = LaterAnswers(self.client, self.session_id)
            self._later.skip_existing()
        return self._later

    def show(self, turn_id: str) -> Screen:
        """Show a turn as it runs; Ctrl-C cancels it."""
        screen = self.make_screen()
        try:
            with cancelled_by_interrupt(self.client, turn_id):
                for chunk in TurnEvents(self.client, turn_id):
                    screen.show(chunk)
        except KeyboardInterrupt:
            screen.outcome = "cancelled"
        finally:
            screen.end()
        self.asked += screen.asked
        return screen

    def show_later(self, turn_id: str) -> None:
        """Show an answer that comes while the prompt waits, and the prompt again."""
        screen = self.make_screen()
        screen.note(f"\n{CAME_BACK}")
        for chunk in TurnEvents(self.client, turn_id):
            screen.show(chunk)
        screen.end()
        self.asked += screen.asked
        screen.prompt(PROMPT)

    def decide(self, word: str, say: Callable[[str], None]) -> None:
        """Decide the oldest call that waits for the person, and show how the conversation goes on."""
        if not self.asked:
            say("Nothing waits for your approval.")
            return
        approved, remember = DECISIONS[word]
        review_id = self.asked.pop(0)
        api.post(
            self.client, f"/api/reviews/{review_id}/decide", {"approved": approved, "remember": remember}
        )
        say("Decided. What comes of it appears here.")

    def talk(self, read_line: Callable[[str], str], say: Callable[[str], None]) -> int:
        """Read and send messages until the user leaves; a failed message does not end the conversation."""
        while True:
            try:
                line = self.next_line(read_line)
            except (EOFError, KeyboardInterrupt):
                return ANSWERED
            if line in LEAVE_WORDS:
                return ANSWERED
            if not line:
                continue
            try:
                if line in DECISIONS:
                    self.decide(line, say)
                else:
                    self.answer(line)
            except ChatFailed as error:
                say(str(error))

    def next_line(self, read_line: Callable[[str], str]) -> str:
        """Return what the user types; until then, answers that come by themselves are shown."""
        if not self.session_id:
            return read_line(PROMPT).strip()
        with Follower(self.later, self.show_later):
            return read_line(PROMPT).strip()


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
