"""Make the pictures of the admin guide from a broken system: `python -m tests.system.browser.admin_screenshots`.

`--dark FOLDER` puts those of the dark theme there instead.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path

from playwright.sync_api import FloatRect, expect, sync_playwright

from tests.harness import ROOT, eventually
from tests.needs import browser_program
from tests.system.browser.operating import Room, operations_room
from tests.system.browser.samples import finished_run, greeter, in_django

WIDTH, MARGIN = 1280, 24
PICTURES = ROOT / "docs" / "images"
A_DAY = """
import random
from datetime import timedelta
from decimal import Decimal
from django.utils import timezone
from accounts.models import LedgerEntry, User
from chat.models import Session, Turn
from durable.redis import client
from durable.counters import key_of, span_of
ann, chance, now = User.objects.get(username="ann"), random.Random(7), timezone.now()
session = Session.objects.create(user=ann, title="A day's work")
busy = [2, 1, 0, 0, 1, 3, 9, 17, 24, 31, 28, 19, 22, 34, 37, 29, 21, 14, 11, 8, 6, 5, 4, 3]
for hour, count in enumerate(busy):
    for number in range(count):
        at = now - timedelta(hours=23 - hour, minutes=chance.randint(0, 50))
        failed = hour in (13, 14) and number % 6 == 0
        status, reason = ("failed", "model_error") if failed else ("completed", "done")
        turn = Turn.objects.create(
            session=session, user=ann, status=status, end_reason=reason, started_at=at,
            ended_at=at + timedelta(seconds=9),
        )
        Turn.objects.filter(pk=turn.pk).update(queued_at=at)
        tokens = chance.randint(300, 4_000)
        LedgerEntry.objects.create(
            user=ann, key=f"day:{turn.pk}", kind="model", amount=Decimal(tokens) / 100_000,
            input_tokens=5 * tokens, output_tokens=tokens, created_at=at, job_id=turn.pk, description="offline",
        )
        if failed:
            client().hincrby(key_of(span_of(at.timestamp())), "model_errors:rate_limited", 3)
"""
FORGET_ERRORS = """
import time
from durable.redis import client
from durable.counters import key_of, span_of
for span in range(span_of(time.time() - 3600), span_of(time.time()) + 1):
    client().delete(key_of(span))
"""


class Camera:
    folder = PICTURES


def shoot(room: Room, name: str) -> None:
    """The page down to the end of what it tells; the list of everything is the same in all."""
    room.page.evaluate("document.activeElement.blur()")
    room.page.mouse.move(0, 0)
    last = room.page.locator(".charts, .story, form.acts, #changelist").last.bounding_box()
    assert last is not None
    clip: FloatRect = {"x": 0, "y": 0, "width": WIDTH, "height": last["y"] + last["height"] + MARGIN}
    path = Camera.folder / f"admin-{name}.png"
    room.page.screenshot(path=path, animations="disabled", full_page=True, clip=clip)


def a_good_day(room: Room) -> None:
    client = room.ann
    for words in ("Show me a markdown table", "Keep a note in ideas.txt: a bench by the river", "Hello"):
        client.wait(client.send(client.new_session(), words)["id"])
    finished_run(room.stack, greeter(room.stack), "Anna")
    in_django(room.stack, A_DAY)
    room.front()
    room.sees_that_all_is_well()
    shoot(room, "well")


def a_worker_gone(room: Room) -> None:
    room.held_turn("report", title="The report for the third quarter")
    room.front()
    room.kill_worker(0)
    room.told(re.compile(r"The worker .* has not sent a heartbeat for"))
    room.told("1 turn is stuck").get_by_role("link").hover()
    shoot(room, "worker-gone")
    room.told("1 turn is stuck").get_by_role("link").click()
    room.choose("Mark failed: end it now, in any state")
    expect(room.page.get_by_role("heading", name="Are you sure?")).to_be_visible()
    shoot(room, "sure")
    room.be_sure("Mark 1 turn failed")
    room.hire_worker(1)
    room.front()
    expect(room.page.locator("#workers").get_by_text("alive")).to_be_visible()
    room.press("Forget")
    room.be_sure("Forget 1 worker")
    room.sees_that_all_is_well()


def a_failed_turn(room: Room) -> None:
    client = room.ann
    steps = [
        {"tool_calls": [{"name": "find_block", "arguments": {"query": "mail"}}]},
        {"fault": {"drop": True, "times": None}},
    ]
    session = client.new_session()
    client.wait(client.send(session, {"id": "dropped", "steps": steps})["id"])
    room.page.goto(room.stack.url() + "/admin/chat/turn/?unanswered=yes&end_reason=model_error")
    room.page.get_by_role("link", name="Timeline").first.click()
    expect(room.page.locator(".story")).to_contain_text("find_block")
    shoot(room, "timeline")
    client.wait(client.send(session, "Hello")["id"])
    all_is_forgotten(room)


def all_is_forgotten(room: Room) -> None:
    """The next picture shows one trouble, and not those before."""
    in_django(room.stack, FORGET_ERRORS)
    room.front()
    room.sees_that_all_is_well()


def a_model_down(room: Room) -> None:
    client = room.ann
    room.stop_model()
    sessions = [client.new_session() for _ in range(3)]
    for turn in [client.send(session, "Hello")["id"] for session in sessions]:
        client.wait(turn)
    room.front()
    room.told("turns failed in the last hour because of the model.")
    shoot(room, "model-down")
    room.start_model()
    room.told("turns failed in the last hour because of the model.").get_by_role("link").click()
    room.choose("Requeue: ended turns as new ones, stuck turns to another worker")
    for session in sessions:
        eventually(partial(room.answered, session), what="the answer")
    all_is_forgotten(room)


def a_paused_queue(room: Room) -> None:
    room.pause("turns", reason="the provider is down until noon")
    client = room.ann
    sessions = [client.new_session() for _ in range(4)]
    for session in sessions:
        client.send(session, "Hello")
    room.told(re.compile("4 turns wait, the oldest for [2-9]"))
    shoot(room, "queue")
    room.press("Resume the queue turns")
    for session in sessions:
        eventually(partial(room.answered, session), what="the answer")


def a_full_queue(room: Room) -> None:
    sessions = room.fill_the_queue("crowd")
    room.front()
    room.told("The queue turns is filling up")
    shoot(room, "queue-fills")
    room.stack.release("crowd")
    for session in sessions:
        eventually(partial(room.answered, session), what="the answer")


def a_redis_down(room: Room) -> None:
    room.front()
    room.stop("redis")
    room.told("Redis does not answer.")
    shoot(room, "redis-gone")
    room.stack.start_redis()
    room.sees_that_all_is_well()


def poison(room: Room) -> None:
    room.poison(2)
    room.front()
    room.told("2 results of external services could not be processed.").get_by_role("link").click()
    expect(room.page.locator("#result_list")).to_contain_text("There is no such operation.")
    shoot(room, "parked")


SCENES = (
    a_good_day,
    a_worker_gone,
    a_failed_turn,
    a_model_down,
    a_paused_queue,
    a_full_queue,
    a_redis_down,
    poison,
)


def main() -> None:
    dark = "--dark" in sys.argv
    Camera.folder = Path(sys.argv[sys.argv.index("--dark") + 1]) if dark else PICTURES
    Camera.folder.mkdir(exist_ok=True, parents=True)
    program = browser_program()
    assert program is not None, "Chromium is needed: apt install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        with operations_room(browser) as room:
            room.page.emulate_media(color_scheme="dark" if dark else "light")
            for scene in SCENES:
                scene(room)
        browser.close()


if __name__ == "__main__":
    main()
