"""The operations room with somebody in it: an operator at a browser, and a system whose parts can be broken."""

from __future__ import annotations

import math
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from kombu import Connection
from playwright.sync_api import Browser, Locator, Page, expect

from tests.harness import Client, Stack, eventually, running_stack
from tests.system.browser.conftest import PROFILE
from tests.system.browser.samples import in_django

REFRESH_SECONDS = 4.0  # how often the page asks
TOLD_SECONDS = 15.0  # what broke needs a few to be noticed
HEARD_SECONDS = 3.0
THREADS = 8  # of a worker, so that a queue is soon full
MANY = 48  # turns, more than the workers of any stack hold at once
ENV = {"COPILOT_MAX_RUNNING_TURNS_PER_USER": str(MANY), "COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER": str(2 * MANY)}
PASSWORD = "a good password"
MAKE_OPERATOR = """
from django.contrib.auth.models import Group
from accounts.models import User
user = User.objects.create_user("olga", password="a good password", is_staff=True)
user.groups.add(Group.objects.get(name="operate"))
"""
POISON = """
from durable.redis import bytes_client
for number in range(%d):
    bytes_client().xadd("chat:completions", {"task_id": f"order-{number}", "success": "true", "result": "{}"})
"""


class Trap:
    """Unpacking it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@dataclass
class Room:
    """An operator of the group *operate*, who has a browser and nothing else, before the front page of the admin."""

    stack: Stack
    page: Page
    errors: list[str] = field(default_factory=list)  # of the page's scripts and its content security policy

    @property
    def ann(self) -> Client:
        return self.stack.client()

    # --- what breaks ------------------------------------------------------------------------------

    def kill_worker(self, number: int) -> None:
        self.stack.kill(f"worker{number}", signal.SIGKILL)
        del self.stack.processes[f"worker{number}"]

    def hire_worker(self, number: int) -> None:
        """As the machine's service manager does it."""
        self.stack.start_worker(number, threads=THREADS)

    def stop_model(self) -> None:
        self.stop("model")

    def stop(self, name: str) -> None:
        """End a process that is needed once."""
        self.stack.kill(name)
        del self.stack.processes[name]

    def start_model(self) -> None:
        self.stack.start_model()
        eventually(self._model_answers, what="the model")

    def _model_answers(self) -> bool:
        try:
            return isinstance(self.stack.model_requests(), list)
        except httpx.HTTPError:
            return False

    def poison(self, entries: int) -> None:
        in_django(self.stack, POISON % entries)

    def smuggle_pickle(self, trap: Path) -> None:
        """A message in the queue of turns that would make a file if somebody unpacked it."""
        headers = {"task": "chat.run_turn", "id": "smuggled", "lang": "py"}
        with Connection(
            f"redis+socket://{self.stack.socket}", transport_options={"global_keyprefix": "ratchet:"}
        ) as broker:
            broker.Producer(serializer="pickle").publish(
                ((Trap(trap),), {}, {}), routing_key="turns", headers=headers
            )

    def held_turn(self, gate: str, *, title: str) -> str:
        """The id of a turn that runs until the gate is released."""
        client = self.ann
        script = {"id": gate, "steps": [{"chunks": 4, "gate": gate, "gate_at": 2}]}
        turn = str(client.send(client.new_session(title=title), script)["id"])
        eventually(lambda: client.turn(turn)["status"] == "running", what="the held turn")
        return turn

    def fill_the_queue(self, gate: str) -> list[str]:
        """More turns than the workers hold at once, none of which ends before the gate is released."""
        client = self.ann
        sessions = [client.new_session(title=f"{gate} {number}") for number in range(MANY)]
        for session in sessions:
            client.send(session, {"id": gate, "steps": [{"chunks": 2, "gate": gate, "gate_at": 1}]})
        return sessions

    def answered(self, session: str) -> bool:
        """Whether the newest turn of this conversation has completed."""
        newest = "SELECT status FROM chat_turn WHERE session_id = ? ORDER BY queued_at DESC LIMIT 1"
        return self.stack.sql(newest, session.replace("-", "")) == [("completed",)]

    # --- what the operator does -------------------------------------------------------------------

    def front(self) -> None:
        self.page.goto(self.stack.url() + "/admin/")

    def pause(self, queue: str, *, reason: str = "") -> None:
        """By hand; and wait until workers have heard of it with their next sweep."""
        self.page.get_by_role("link", name=f"Pause the queue {queue}").click()
        self.page.fill("[name=reason]", reason)
        self.press("Save", exact=True)
        time.sleep(HEARD_SECONDS)
        self.front()

    def stay_until_refreshed(self) -> None:
        """Until the open page has drawn itself anew."""
        seen = self.page.locator(".as-of time").inner_text()
        expect(self.page.locator(".as-of time")).not_to_have_text(seen)

    def told(self, text: str | re.Pattern[str], *, within: float = TOLD_SECONDS) -> Locator:
        """The line about what is wrong; the open page must show it by itself, after as many refreshes as it makes
        within that time on a quiet machine."""
        line = self.page.get_by_label("Alerts").locator("p").filter(has_text=text)
        for _ in range(math.ceil(within / REFRESH_SECONDS)):
            if line.is_visible():
                return line
            self.stay_until_refreshed()
        expect(line).to_be_visible()
        return line

    def sees_that_all_is_well(self) -> None:
        expect(self.page.get_by_label("Alerts").get_by_text("Nothing is wrong.")).to_be_visible()

    def press(self, name: str, *, exact: bool = False) -> None:
        self.page.get_by_role("button", name=name, exact=exact).click()

    def choose(self, action: str, *, rows: str = "", sure: str = "") -> None:
        """An action on all rows of a list, or on those with these words in them; `sure` is the button that says so."""
        if rows:
            self.page.get_by_role("row").filter(has_text=rows).get_by_role("checkbox").check()
        else:
            self.page.locator("#action-toggle").check()
        self.page.get_by_label("Action:").select_option(label=action)
        self.press("Go")
        if sure:
            self.be_sure(sure)

    def be_sure(self, button: str) -> None:
        expect(self.page.get_by_role("heading", name="Are you sure?")).to_be_visible()
        self.press(button, exact=True)

    def hears(self, text: str) -> None:
        expect(self.page.locator(".messagelist")).to_contain_text(text)


@contextmanager
def operations_room(browser: Browser) -> Iterator[Room]:
    home = Path(tempfile.mkdtemp(prefix="ro-"))
    try:
        with running_stack(home / "s", workers=0, env=ENV) as stack:
            stack.start_worker(0, threads=THREADS)
            stack.wait_ready(1)
            stack.start_consumer()
            if "beat" not in stack.processes:
                stack.start_beat("beat")
            in_django(stack, MAKE_OPERATOR)
            context = browser.new_context(**(PROFILE | {"viewport": {"width": 1280, "height": 900}}))
            room = Room(stack, context.new_page())
            listen(room.page, room.errors)
            enter(room)
            yield room
            context.close()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def listen(page: Page, errors: list[str]) -> None:
    def hear(said: Any) -> None:
        if "Security Policy" in said.text:
            errors.append(said.text)

    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", hear)


def enter(room: Room) -> None:
    expect.set_options(timeout=60_000)
    room.page.set_default_timeout(60_000)
    room.page.goto(room.stack.url() + "/admin/")
    room.page.fill("[name=username]", "olga")
    room.page.fill("[name=password]", PASSWORD)
    room.page.keyboard.press("Enter")
    expect(room.page.locator("#board")).to_be_visible()
