"""Daily things: search and the palette, instructions and memory."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.harness import Stack, eventually
from tests.system.browser.pages import problems
from tests.system.browser.steps import answers

pytestmark = pytest.mark.browser


def test_search_in_the_palette_jumps_to_an_old_message(page: Page, stack: Stack) -> None:
    client = stack.client()
    session = client.new_session(title="A long talk")
    for number in range(18):
        words = "The walrus was here." if number == 1 else f"Answer {number}. " + "More words. " * 40
        client.wait(client.send(session, {"id": f"walrus-{number}", "steps": [{"text": words}]})["id"])
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to or search")
    palette.get_by_role("combobox").fill("walrus was")
    hit = palette.get_by_role("option").filter(has_text="The walrus was here.")
    expect(hit.locator("mark").first).to_have_text("walrus was")
    assert problems(page) == []
    page.keyboard.press("Enter")
    expect(palette).to_have_count(0)
    old = answers(page).filter(has_text="The walrus was here.")
    expect(old).to_be_in_viewport()
    expect(old).to_have_class(
        "min-w-0 far jumped" if "far" in (old.get_attribute("class") or "") else "min-w-0 jumped"
    )


def test_the_palette_goes_to_pages_by_keyboard(page: Page) -> None:
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to or search")
    palette.get_by_role("combobox").fill("sched")
    expect(palette.get_by_role("option", name="Schedules")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Library")).to_be_visible()
    assert page.url.endswith("/library/schedules")
    page.keyboard.press("Control+k")
    expect(palette).to_be_visible()
    page.keyboard.press("Escape")
    expect(palette).to_have_count(0)


def test_instructions_and_memory_are_changed_and_forgotten(page: Page, stack: Stack) -> None:
    client = stack.client()
    client.http.patch("/api/memory", json={"user_name": "Ann", "software": ["Excel", "Word"]})
    page.get_by_role("link", name="ann").click()
    page.get_by_role("tab", name="Personal").click()
    page.get_by_label("Instructions for every answer").fill("Answer briefly.")
    page.get_by_role("button", name="Save").first.click()
    eventually(
        lambda: client.http.get("/api/me").json()["instructions"] == "Answer briefly.",
        what="the instructions",
    )
    software = page.get_by_role("form", name="Software")
    software.get_by_label("Software").fill("Excel\nCalc")
    software.get_by_role("button", name="Save").click()
    eventually(
        lambda: client.http.get("/api/memory").json()["facts"]["software"]["fact"] == ["Excel", "Calc"],
        what="the change",
    )
    page.get_by_role("form", name="Name").get_by_role("button", name="Forget").click()
    expect(page.get_by_role("form", name="Name")).to_have_count(0)
    page.get_by_role("button", name="Forget everything").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget everything").click()
    expect(page.get_by_text("Nothing yet.")).to_be_visible()
    assert client.http.get("/api/memory").json()["facts"] == {}
    client.http.patch("/api/me", json={"instructions": ""})
