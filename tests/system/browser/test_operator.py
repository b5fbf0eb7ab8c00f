"""What breaks shows on the admin's front page within seconds, and an operator without a shell repairs it by clicks."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import partial

import pytest
from django_otp.oath import TOTP
from playwright.sync_api import Browser, expect

from durable.limits import ALIVE_FRESH_SECONDS
from tests.harness import eventually
from tests.system.browser.operating import TOLD_SECONDS, Room, operations_room
from tests.system.browser.pages import DESK, PHONE

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1_200)]
COUNT_NEWS = """() => {
  window.timesTold = 0;
  new MutationObserver(() => { window.timesTold += 1; }).observe(
    document.getElementById('news'), {childList: true, characterData: true, subtree: true});
}"""


@pytest.fixture(scope="module")
def the_room(chromium: Browser) -> Iterator[Room]:
    with operations_room(chromium) as room:
        yield room


@pytest.fixture
def room(the_room: Room) -> Iterator[Room]:
    """All is well before and after each test, and no page broke its own rules."""
    the_room.front()
    the_room.sees_that_all_is_well()
    yield the_room
    the_room.front()
    the_room.sees_that_all_is_well()
    assert not the_room.errors


def test_a_killed_worker_is_told_and_what_it_held_is_brought_to_an_end_and_done_again(room: Room) -> None:
    turn = room.held_turn("gone", title="A report")
    room.kill_worker(0)
    room.told("No worker serves the queues executions, operations, turns and webhooks.")
    room.told(re.compile(r"The worker .* has not sent a heartbeat for"))
    stuck = room.told("1 turn is stuck")
    row = room.page.locator("#stuck tbody tr")
    expect(row).to_contain_text(re.compile(r"Turn …\w{8}.*:\d+:.* s", re.DOTALL))  # who held it, since when
    stuck.get_by_role("link").click()
    room.choose("Mark failed: end it now, in any state")
    expect(room.page.locator("#asked tbody tr")).to_contain_text(
        re.compile("ann.*A report.*running.*just now", re.DOTALL)
    )
    room.be_sure("Mark 1 turn failed")
    room.hears("1 ended")
    assert room.ann.turn(turn)["status"] == "failed", "its person sees that it is over"

    room.hire_worker(1)
    room.front()
    expect(room.page.locator("#workers").get_by_text("alive")).to_be_visible()
    room.press("Forget")
    room.be_sure("Forget 1 worker")
    room.sees_that_all_is_well()

    room.stack.release("gone")
    room.page.locator("#jobs").get_by_role("row", name="Turns").get_by_role("link", name="1").click()
    room.page.get_by_role("link", name="Timeline").click()
    expect(room.page.locator(".story")).to_contain_text("olga: Marked failed.")
    room.press("Requeue")
    room.hears("1 requeued")
    session = room.ann.turn(turn)["session_id"]
    eventually(lambda: room.answered(session), what="the answer that was asked for again")


def test_a_stopped_model_is_told_and_its_turns_are_asked_again_when_it_is_back(room: Room) -> None:
    client = room.ann
    session = client.new_session()
    room.stop_model()
    assert client.wait(client.send(session, "Hello")["id"])["status"] == "failed"
    line = room.told("1 turn failed in the last hour because of the model.")
    expect(line).to_contain_text("not reachable")
    room.start_model()
    line.get_by_role("link").click()
    room.choose("Requeue: ended turns as new ones, stuck turns to another worker")
    room.hears("1 requeued")
    eventually(lambda: room.answered(session), what="the answer of the model that is back")
    room.front()
    room.told("Every turn was answered all the same.")


def test_a_stopped_redis_is_told_and_what_was_asked_meanwhile_is_answered(room: Room) -> None:
    client = room.ann
    session = client.new_session()
    room.stop("redis")
    room.told("Redis does not answer.")
    client.send(session, "Hello")
    room.stack.start_redis()
    eventually(lambda: room.answered(session), what="the answer")
    room.sees_that_all_is_well()


@pytest.mark.parametrize(
    ("name", "line"),
    [("beat", "Beat is not running."), ("consumer", "No consumer reads the results of external services.")],
)
def test_a_process_that_is_needed_once_is_missed_when_it_is_gone(room: Room, name: str, line: str) -> None:
    room.stop(name)
    room.told(line, within=ALIVE_FRESH_SECONDS + TOLD_SECONDS)
    room.stack.start_beat(name) if name == "beat" else room.stack.start_consumer(name)
    room.sees_that_all_is_well()


def test_a_queue_that_fills_is_told_within_seconds_and_until_it_is_empty(room: Room) -> None:
    sessions = room.fill_the_queue("crowd")
    line = room.told(
        re.compile(r"The queue turns is filling up: \d+ turns could start but no worker is free")
    )
    expect(line.get_by_role("link", name="Show the queued jobs")).to_be_visible()
    room.stack.release("crowd")
    for session in sessions:
        eventually(partial(room.answered, session), what="the answer to what waited")
    room.sees_that_all_is_well()


def test_a_paused_queue_is_told_and_emptied(room: Room) -> None:
    room.pause("turns", reason="a trial")
    client = room.ann
    sessions = [client.new_session() for _ in range(3)]
    for session in sessions:
        client.send(session, "Hello")
    room.front()
    room.told(re.compile(r"The queue turns is paused \(a trial\): 3 turns wait, the oldest for [\d.]+ s\."))
    expect(room.page.locator("#jobs").get_by_role("row", name="Turns")).to_contain_text("paused")
    room.press("Resume the queue turns")
    for session in sessions:
        eventually(partial(room.answered, session), what="the answer to what waited")


def test_a_screen_reader_hears_of_a_trouble_once_and_not_of_the_clock(room: Room) -> None:
    news = room.page.get_by_role("status")
    expect(news).to_have_count(1)
    expect(news).to_be_empty()
    room.pause("turns")
    room.stay_until_refreshed()
    room.page.evaluate(COUNT_NEWS)
    session = room.ann.new_session()
    room.ann.send(session, "Hello")
    expect(news).to_contain_text("The queue turns is paused: 1 turn waits")
    for _ in range(2):
        room.stay_until_refreshed()
    assert room.page.evaluate("window.timesTold") == 1, "the seconds it waits for are no news"
    room.press("Resume the queue turns")
    eventually(partial(room.answered, session), what="the answer to what waited")


def test_a_worker_is_drained_and_takes_up_work_again(room: Room) -> None:
    room.page.locator("#workers").get_by_role("button", name=re.compile("^Drain")).click()
    room.told("No worker serves the queues")
    expect(room.page.locator("#workers").get_by_text("draining")).to_be_visible()
    room.page.locator("#workers").get_by_role("button", name=re.compile("take up work again")).click()
    expect(room.page.locator("#workers").get_by_text("alive")).to_be_visible()


def test_poisoned_entries_are_told_replayed_and_dropped(room: Room) -> None:
    room.poison(2)
    line = room.told("2 results of external services could not be processed.")
    line.get_by_role("link").click()
    expect(room.page.locator("#result_list")).to_contain_text("There is no such operation.")
    room.page.locator("#result_list tbody th a").first.click()
    expect(room.page.get_by_text('"task_id"')).to_be_visible()
    room.press("Replay")
    room.hears("1 replayed")
    room.front()
    room.told("2 results of external services could not be processed.").get_by_role(
        "link"
    ).click()  # it came back
    room.choose("Drop: forget parked and replayed entries", sure="Drop 2 parked entries")
    room.hears("2 dropped")


def test_an_operator_turns_on_a_second_factor_and_enters_with_it(room: Room) -> None:
    page = room.page
    page.get_by_role("link", name="Second factor").first.click()
    expect(page.get_by_alt_text("QR code of the key below")).to_be_visible()
    key = page.locator("code").inner_text().replace(" ", "")
    clock = TOTP(base64.b32decode(key))
    page.get_by_label("Enter the code shown by the app").fill(
        "123123" if clock.token() != 123123 else "321321"
    )
    room.press("Turn on")
    expect(page.get_by_role("alert")).to_contain_text("is wrong or has been used")
    page.get_by_label("Enter the code shown by the app").fill(f"{clock.token():06d}")
    room.press("Turn on")
    codes = page.locator(".codes code").all_inner_texts()
    room.press("Log out")
    page.goto(room.stack.url() + "/admin/")
    page.fill("[name=username]", "olga")
    page.fill("[name=password]", "a good password")
    page.keyboard.press("Enter")
    page.get_by_label("Code from your authenticator app").fill(codes[0])
    room.press("Continue")
    room.sees_that_all_is_well()
    page.get_by_role("link", name="Second factor").first.click()
    expect(page.get_by_text("9 recovery codes left")).to_be_visible()
    page.get_by_label("To make changes").fill(codes[1])
    room.press("Remove the second factor")
    expect(page.get_by_alt_text("QR code of the key below")).to_be_visible()


def test_messages_that_are_not_ours_harm_no_worker(room: Room) -> None:
    trap = room.stack.home / "trap"
    room.smuggle_pickle(trap)
    room.stack.send_task("nobody.knows_this_task", "x", queue="turns")
    client = room.ann
    assert client.wait(client.send(client.new_session(), "Hello")["id"])["status"] == "completed"
    assert not trap.exists()
    room.front()
    expect(room.page.locator("#workers").get_by_text("alive")).to_be_visible()


def test_no_list_is_wider_than_the_page(room: Room) -> None:
    client = room.ann
    client.wait(client.send(client.new_session(title="A title " * 20), "count to 3")["id"])
    lists = room.page.locator("#ways a, .shelves a").evaluate_all("(links) => links.map((link) => link.href)")
    lists = sorted({one for one in lists if not one.endswith("/add/")})
    assert len(lists) > 10
    wide = []
    for size in (DESK, PHONE):
        room.page.set_viewport_size(size)
        for address in lists:
            room.page.goto(address)
            width = room.page.evaluate("document.documentElement.scrollWidth")
            if width > size["width"]:
                wide.append((address, size["width"], width))
    room.page.set_viewport_size(DESK)
    assert wide == []
