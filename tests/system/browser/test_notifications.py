"""What finds a person: unread marks, title and icon, one notification over all pages, push with approve and reject."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Worker, expect

from tests.harness import Stack, eventually, running_stack
from tests.needs import BROWSER, INTERFACE, require
from tests.system.browser.conftest import PROFILE, log_in, opened
from tests.system.browser.steps import answers
from tests.webhooks.push_service import PushService, push_service

pytestmark = pytest.mark.browser
# A browser without Google's push service: its subscription is pointed at the one of the test.
SUBSCRIBE = """given => {
  PushManager.prototype.subscribe = async function ({ applicationServerKey }) {
    window.applicationServerKey = applicationServerKey;
    return { toJSON: () => given, unsubscribe: async () => true };
  };
}"""
HIDE = "Object.defineProperty(document, 'hasFocus', { value: () => false, configurable: true })"
SHOWN = """async () => {
  const worker = await navigator.serviceWorker.ready;
  const shown = await worker.getNotifications();
  return shown.map(({ title, body, tag, actions }) => ({ title, body, tag, actions: actions.map((a) => a.action) }));
}"""
CLICK = """async ([tag, action]) => {
  const [notification] = await self.registration.getNotifications({ tag });
  const event = new NotificationEvent('notificationclick', { notification, action });
  const waits = [];
  event.waitUntil = (work) => waits.push(work);
  self.dispatchEvent(event);
  await Promise.all(waits);
}"""


@pytest.fixture(scope="module")
def service() -> Iterator[PushService]:
    with push_service() as found:
        yield found


@pytest.fixture(scope="module")
def site(service: PushService) -> Iterator[Stack]:
    require(BROWSER, INTERFACE)
    home = Path(tempfile.mkdtemp(prefix="rn-"))
    env = {"BOUNDARY_ALLOWED_HOSTS": service.host, "COPILOT_TEST_APPS": "tests.testblocks"}
    with running_stack(home / "s", workers=1, env=env) as running:
        yield running
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def person(chromium: Browser, site: Stack) -> Iterator[BrowserContext]:
    context = chromium.new_context(**PROFILE, permissions=["notifications"])
    first = context.new_page()
    log_in(first, site)
    first.close()  # a page that is looked at takes what happens as seen
    yield context
    context.close()


@pytest.fixture
def page(person: BrowserContext, site: Stack) -> Iterator[Page]:
    errors: list[str] = []
    page = opened(person, site.url(), errors)
    yield page
    page.close()
    assert not errors


def worker_of(page: Page) -> Worker:
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    return eventually(lambda: page.context.service_workers, what="the service worker")[0]


def shown(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(SHOWN)
    return found


def deliver(page: Page, site: Stack, told: dict[str, Any], tag: str) -> dict[str, Any]:
    """Hand a message to the service worker, as the push service of the browser would, and return what it shows.

    The browser drops a message for a worker that is just stopping, which its own push service would repeat.
    """
    worker_of(page)
    session = page.context.new_cdp_session(page)
    found: list[str] = []
    session.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: found.extend(
            row["registrationId"] for row in event["registrations"] if not row["isDeleted"]
        ),
    )
    session.send("ServiceWorker.enable")
    eventually(lambda: page.evaluate("1") and found, what="the registration")
    message = {"origin": site.url(), "registrationId": found[-1], "data": json.dumps(told)}

    def deliver_once() -> list[dict[str, Any]]:
        session.send("ServiceWorker.deliverPushMessage", message)
        with suppress(AssertionError):
            return eventually(
                lambda: [one for one in shown(page) if one["tag"] == tag], seconds=10, what="the notification"
            )
        return []

    [notification] = eventually(deliver_once, what="the notification")
    return notification


def test_unread_answers_show_in_list_title_and_icon_on_all_devices(
    person: BrowserContext, page: Page, site: Stack
) -> None:
    session = site.client().new_session(title="Read me later")
    site.client().wait(site.client().send(session, {"id": "later", "steps": [{"text": "Here it is."}]})["id"])
    row = page.get_by_role("navigation").get_by_role("listitem").filter(has_text="Read me later")
    expect(row.get_by_role("img", name="Unread")).to_be_visible()
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    icon = page.locator("link[rel=icon]")
    expect(icon).to_have_attribute("href", re.compile("^data:"))
    other = opened(person, site.url(), [])
    expect(other).to_have_title(re.compile(r"^\(1\) "))
    row.get_by_role("link").click()
    expect(answers(page).last).to_contain_text("Here it is.")
    expect(page).not_to_have_title(re.compile(r"^\("))
    expect(icon).to_have_attribute("href", "/static/site/icon.svg")
    expect(other).not_to_have_title(re.compile(r"^\("))
    page.reload()
    expect(page).not_to_have_title(re.compile(r"^\("))
    other.close()


def test_one_of_several_open_pages_shows_a_notification(
    person: BrowserContext, page: Page, site: Stack
) -> None:
    other = opened(person, site.url(), [])
    for one in (page, other):
        worker_of(one)
        one.evaluate(HIDE)
    session = site.client().new_session(title="Shown once")
    turn = site.client().send(session, {"id": "once", "steps": [{"text": "Done."}]})["id"]
    site.client().wait(turn)
    eventually(lambda: shown(page), what="the notification", progress=lambda: len(shown(other)))
    [told] = shown(page)
    assert told == {
        "title": "Your answer is ready",
        "body": "Shown once",
        "tag": f"turn:{turn}",
        "actions": [],
    }
    claimed = site.sql(
        "SELECT event_id, end_reason FROM webhooks_pushnotice WHERE event_id = ?", f"turn:{turn}"
    )
    assert claimed == [(f"turn:{turn}", "shown")]
    worker_of(page).evaluate(
        "self.registration.getNotifications().then((all) => all.forEach((one) => one.close()))"
    )
    other.close()


def test_push_reaches_who_is_away_and_is_approved_in_the_notification(
    page: Page, site: Stack, service: PushService
) -> None:
    page.evaluate(SUBSCRIBE, service.subscription("chromium"))
    page.get_by_role("link", name="ann").click()
    page.get_by_role("tab", name="Settings").click()
    page.get_by_role("button", name=re.compile("Turn on in this browser|Set up again")).click()
    expect(page.get_by_text("Notifications are on, also while no page is open.")).to_be_visible()
    key = page.evaluate("window.applicationServerKey")
    assert key == site.client().http.get("/api/push").json()["public_key"]
    expect(page.get_by_role("region", name="Devices that take push messages")).to_contain_text("Chrome")
    page.get_by_role("button", name="Send a test").click()
    eventually(lambda: [told for _, told in service.messages if told["kind"] == "test"], what="the test")
    worker_of(page)
    page.goto("about:blank")  # nobody has a page open

    client = site.client()
    call = {"name": "run_block", "arguments": {"block_id": "Print To Console", "input_data": {"text": "hi"}}}
    session = client.new_session(title="Approve me")
    steps = [{"tool_calls": [call]}, {"text": "It waits."}]
    client.wait(client.send(session, {"id": "push", "steps": steps})["id"])
    review = client.http.get("/api/reviews").json()["results"][0]
    told = eventually(
        lambda: next((told for _, told in service.messages if told["review"] == review["id"]), None),
        what="the push of the review",
        progress=lambda: len(service.messages),
    )
    assert told is not None and told["kind"] == "review"

    page.goto(site.url())
    tag = f"review:{review['id']}"
    notification = deliver(page, site, told, tag)
    assert notification["title"] == "Your approval is needed"
    assert notification["actions"] == ["approve", "reject"]
    worker_of(page).evaluate(CLICK, [tag, "approve"])
    state = eventually(
        lambda: client.http.get(f"/api/reviews/{review['id']}").json()["state"] != "waiting",
        what="the decision",
    )
    assert state
    assert client.http.get(f"/api/reviews/{review['id']}").json()["state"] == "approved"
    eventually(
        lambda: [one["title"] for one in shown(page)] and shown(page)[-1]["title"] == "Approved",
        what="thanks",
    )


def test_settings_switch_kinds_off_and_set_quiet_hours(page: Page, site: Stack) -> None:
    page.goto(site.url() + "/account/settings")
    page.get_by_label("an answer is ready").uncheck()
    expect(page.get_by_text("Saved.").first).to_be_visible()
    page.get_by_label("Quiet from").fill("22:00")
    page.get_by_label("until").fill("07:00")
    page.locator("form").filter(has=page.get_by_label("Quiet from")).get_by_role(
        "button", name="Save"
    ).click()
    eventually(
        lambda: site.client().http.get("/api/notifications/settings").json()["quiet_from"] == "22:00:00",
        what="the quiet hours",
    )
    chosen = site.client().http.get("/api/notifications/settings").json()
    assert (chosen["answers"], chosen["reviews"], chosen["quiet_until"]) == (False, True, "07:00:00")


def test_the_site_can_be_installed(page: Page, site: Stack) -> None:
    manifest = page.locator("link[rel=manifest]").get_attribute("href") or ""
    found = page.request.get(site.url() + manifest)
    assert found.json()["display"] == "standalone"
    for icon in found.json()["icons"]:
        assert page.request.get(site.url() + icon["src"]).ok
    worker = page.request.get(site.url() + "/sw.js")
    assert worker.headers["content-type"].startswith("text/javascript")
    assert "default-src 'none'" in worker.headers["content-security-policy"]
    assert page.evaluate("navigator.serviceWorker.ready.then((found) => found.scope)") == site.url() + "/"
