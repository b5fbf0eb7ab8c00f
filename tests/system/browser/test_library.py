"""The library and the account as a person uses them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from chat.limits import PAGE_SIZE
from tests.harness import Stack
from tests.system.browser.pages import DESK, PHONE
from tests.system.browser.samples import (
    GREETER,
    answer_of,
    asking_agent,
    greeter,
    slow_agent,
    twice_asking_agent,
)
from tests.system.browser.steps import answers, script, send, wait_until_idle

pytestmark = pytest.mark.browser
FITS = """() => {
  const frame = document.querySelector('.graph').getBoundingClientRect();
  const buttons = document.querySelector('.react-flow__controls').getBoundingClientRect();
  const boxes = [...document.querySelectorAll('.react-flow__node')].map((node) => node.getBoundingClientRect());
  return boxes.every((box) =>
    box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= buttons.top
  );
}"""


def test_agent_is_built_in_chat_run_and_looked_at(page: Page) -> None:
    send(page, "Build an agent that greets people by name")
    card = page.get_by_role("region", name="Built the agent")
    expect(card.locator(".react-flow__node")).to_have_count(3)
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    send(page, "run it with name=Anna")
    run = page.get_by_role("region", name="Results of the agent")
    expect(run).to_contain_text("Hello Anna!")
    run.get_by_role("link", name="Open run").click()
    expect(page.get_by_role("heading", name="Outputs")).to_be_visible()
    expect(page.get_by_text("Hello Anna!")).to_be_visible()
    expect(page.locator(".react-flow__node")).to_have_count(3)
    page.get_by_role("button", name=re.compile("Fill Text Template")).first.click()
    expect(page.get_by_role("region", name="Fill Text Template")).to_contain_text("Hello Anna!")


def test_missing_blocks_of_an_import_are_named_and_replaced_in_one_step(
    page: Page, stack: Stack, tmp_path: Path
) -> None:
    gmail, calendar = "6c27abc2-e51d-499e-a85f-5a0041ba94f0", "80bc3ed1-e9a4-449e-8163-a8fc86f74f6a"

    def uses(node: str, block: str, x: int, **values: object) -> dict[str, object]:
        place = {"position": {"x": x, "y": 0}}
        return {"id": node, "block_id": block, "input_default": values, "metadata": place}

    mail = {"to": ["a@example.com"], "subject": "Hello", "body": "Hi"}
    nodes = [uses("one", gmail, 0, **mail), uses("two", gmail, 500, **mail), uses("three", calendar, 1000)]
    document = tmp_path / "mailer.json"
    document.write_text(json.dumps({"name": "From elsewhere", "nodes": nodes, "links": []}))
    page.goto(f"{stack.url()}/library")
    page.locator("input[type=file]").set_input_files(document)
    expect(page.get_by_text("Gmail Send (Google), used by 2 nodes, is not installed here.")).to_have_count(1)
    expect(page.get_by_text("Google Calendar Read Events is not installed here.")).to_be_visible()
    expect(page.locator(".react-flow__node", has_text="Gmail Send")).to_have_count(2)
    expect(page.get_by_text("find_block")).to_have_count(0)
    page.get_by_role("button", name="Repair").click()
    expect(page.locator(".react-flow__node", has_text="Send Email")).to_have_count(2)
    done = page.get_by_role("status").filter(has_text="fixed.")
    expect(done).to_contain_text("Put Send Email in the place of Gmail Send (Google)")
    expect(done).to_contain_text("It needs a credential with the address and an app password")
    expect(page.get_by_text("Gmail Send (Google), used by 2 nodes")).to_have_count(0)
    expect(page.get_by_text("Google Calendar Read Events is not installed here.")).to_be_visible()


def test_agent_is_imported_run_by_its_form_and_its_problems_named(
    page: Page, stack: Stack, tmp_path: Path
) -> None:
    document = tmp_path / "greeter.json"
    document.write_text(json.dumps(GREETER | {"name": "From a file"}))
    page.goto(f"{stack.url()}/library")
    page.locator("input[type=file]").set_input_files(document)
    expect(page.get_by_role("heading", name="From a file")).to_be_visible()
    page.get_by_role("button", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Run").click()
    expect(dialog).to_contain_text("This field is required.")
    dialog.get_by_label("name").fill("Bob")
    dialog.get_by_role("button", name="Run").click()
    expect(page.get_by_text("Hello Bob!")).to_be_visible()
    expect(page.get_by_text("Completed").first).to_be_visible()


def test_review_is_shown_changed_and_approved_and_the_run_goes_on(page: Page, stack: Stack) -> None:
    http = stack.client().http
    agent = answer_of(http.post("/api/agents", json=asking_agent("Is this the right name?")))["id"]
    run = answer_of(http.post(f"/api/agents/{agent}/execute", json={"inputs": {"name": "Ana"}}))["id"]
    page.goto(f"{stack.url()}/library/runs/{run}")
    review = page.get_by_role("region", name="Is this the right name?")
    review.get_by_role("textbox").first.fill("Anna")
    review.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Completed").first).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="Anna")).to_be_visible()
    page.goto(f"{stack.url()}/library/reviews")
    page.get_by_role("button", name="Show all").click()
    expect(review).to_contain_text("Approved")


def test_run_that_asks_twice_shows_both_questions_one_after_the_other(page: Page, stack: Stack) -> None:
    http = stack.client().http
    agent = answer_of(http.post("/api/agents", json=twice_asking_agent()))["id"]
    run = answer_of(http.post(f"/api/agents/{agent}/execute", json={"inputs": {"name": "Ana"}}))["id"]
    page.goto(f"{stack.url()}/library/runs/{run}")
    answered_twice(page)
    expect(page.get_by_role("definition").filter(has_text="Ana")).to_have_count(2)


def test_run_of_a_conversation_that_asks_twice_does_so_in_its_card(page: Page, stack: Stack) -> None:
    agent = answer_of(stack.client().http.post("/api/agents", json=twice_asking_agent()))["id"]
    call = {"name": "run_agent", "arguments": {"library_agent_id": agent, "inputs": {"name": "Ana"}}}
    send(page, script("twice", {"tool_calls": [call]}, {"text": "It asks."}))
    card = page.get_by_role("region", name="Started the agent")
    answered_twice(page)
    expect(card).to_contain_text("Completed")


def answered_twice(page: Page) -> None:
    for question in ("Is the name right?", "Really?"):
        review = page.get_by_role("region", name=question)
        review.get_by_role("button", name="Approve").click()
        expect(review).to_have_count(0)
    expect(page.get_by_text("Completed").first).to_be_visible()


def test_graph_fits_its_frame_and_its_buttons_lie_beside_it(page: Page, stack: Stack) -> None:
    agent = greeter(stack)
    for size in (DESK, PHONE):
        page.set_viewport_size(size)
        page.goto(f"{stack.url()}/library/agents/{agent}")
        fits(page)
    page.set_viewport_size(DESK)  # the frame of an open page changes, too
    fits(page)
    page.set_viewport_size({"width": 1280, "height": 800})


def fits(page: Page) -> None:
    """Every box lies inside the frame, and under none of the buttons."""
    expect(page.locator(".react-flow__node")).to_have_count(3)
    expect(page.locator(".react-flow__node").last).to_be_in_viewport()
    page.wait_for_function(FITS)


def test_run_is_watched_live_node_by_node(page: Page, stack: Stack, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    http = stack.client().http
    agent = answer_of(http.post("/api/agents", json=slow_agent(str(hold))))["id"]
    run = answer_of(http.post(f"/api/agents/{agent}/execute", json={"inputs": {"name": "Ana"}}))["id"]
    page.goto(f"{stack.url()}/library/runs/{run}")
    graph = page.get_by_role("group", name="Graph with 3 blocks")
    expect(graph.get_by_role("group", name="name, Completed")).to_be_visible()
    expect(graph.get_by_role("group", name="Test Sleep, Running")).to_be_visible()
    expect(page.get_by_text("No outputs yet.")).to_be_visible()
    hold.touch()
    expect(graph.get_by_role("group", name="Test Sleep, Completed")).to_be_visible()
    expect(graph.get_by_role("group", name="slept, Completed")).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="Ana")).to_have_count(
        2
    )  # what came in and what came out


def test_agent_is_published_found_in_the_store_and_taken(page: Page, stack: Stack) -> None:
    agent = answer_of(stack.client().http.post("/api/agents", json=GREETER | {"name": "Door greeter"}))["id"]
    page.goto(f"{stack.url()}/library/agents/{agent}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Publish in the store").click()
    dialog = page.get_by_role("dialog", name="Publish Door greeter")
    preview = dialog.get_by_role("region", name="What others will see")
    dialog.get_by_label("Categories").fill("Greetings, Doors")
    expect(preview).to_contain_text("ann/door-greeter")
    expect(preview).to_contain_text("Greetings")
    expect(preview.locator(".react-flow__node")).to_have_count(3)
    dialog.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("status").filter(has_text="Published as ann/door-greeter.")).to_be_visible()
    expect(page).to_have_url(f"{stack.url()}/library/store/ann/door-greeter")
    expect(page.locator(".react-flow__node")).to_have_count(3)
    bobs = stack.client("bob").http
    theirs = answer_of(bobs.post("/api/agents", json=GREETER | {"name": "Window greeter"}))["id"]
    answer_of(bobs.post("/api/store", json={"agent_id": theirs}))
    page.get_by_role("navigation", name="Library").get_by_role("link", name="Store").click()
    page.get_by_role("searchbox", name="Search the store").fill("window greeter")
    page.get_by_role("listitem").filter(has_text="bob/window-greeter").get_by_role(
        "button", name="Add to library"
    ).click()
    expect(page.get_by_role("heading", name="Window greeter")).to_be_visible()
    assert theirs not in page.url, "a copy of one's own"


def test_versions_show_what_changed_and_lead_back(page: Page, stack: Stack) -> None:
    agent = greeter(stack)
    changed = json.loads(json.dumps(GREETER))
    changed["nodes"][1]["input_default"]["format"] = "Goodbye {{name}}!"
    answer_of(stack.client().http.patch(f"/api/agents/{agent}", json={"graph": changed, "note": "Part ways"}))
    page.goto(f"{stack.url()}/library/agents/{agent}")
    page.get_by_role("tab", name="Versions").click()
    panel = page.get_by_role("tabpanel", name="Versions")
    panel.get_by_role("button", name="Changes").click()
    expect(panel).to_contain_text("Goodbye {{name}}!")
    expect(panel).to_contain_text("Hello {{name}}!")
    panel.get_by_role("button", name="Restore this version").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore this version").click()
    expect(panel).to_contain_text("Version 3")


def test_schedule_trigger_and_credential_are_made_and_shown(page: Page, stack: Stack) -> None:
    agent = greeter(stack)
    page.goto(f"{stack.url()}/library/agents/{agent}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Run on a schedule").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("Every morning")
    dialog.get_by_label("name", exact=True).fill("Anna")
    dialog.get_by_role("button", name="Create schedule").click()
    expect(page.get_by_role("listitem").filter(has_text="Every morning")).to_contain_text("Next:")

    page.goto(f"{stack.url()}/library/agents/{agent}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Run by webhook").click()
    dialog.get_by_role("button", name="Create trigger").click()
    expect(dialog).to_contain_text("/api/hooks/")

    page.goto(f"{stack.url()}/library/credentials")
    page.get_by_role("button", name="Add a credential").click()
    dialog.get_by_label("Provider").fill("smtp")
    dialog.get_by_label("API key").last.fill("very secret")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("listitem").filter(has_text="smtp").first).to_be_visible()
    expect(page.get_by_text("very secret")).to_have_count(0)


def test_tabs_have_addresses_of_their_own(page: Page, stack: Stack) -> None:
    agent = greeter(stack)
    for place, tab in ((f"/library/agents/{agent}", "Versions"), ("/account", "API keys")):
        page.goto(stack.url() + place)
        page.get_by_role("tab", name=tab).click()
        expect(page).to_have_url(re.compile(f"{place}/(versions|keys)$"))
        page.reload()
        expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
        page.get_by_role("tab").first.click()
        expect(page).to_have_url(stack.url() + place)


def test_account_shows_usage_and_keeps_what_is_chosen(page: Page, stack: Stack) -> None:
    page.goto(f"{stack.url()}/account")
    expect(page.get_by_role("figure")).to_have_count(2)
    page.get_by_role("tab", name="API keys").click()
    page.get_by_label("Name of the new key").fill("For the kitchen")
    page.get_by_role("button", name="Create key").click()
    expect(page.locator("code").filter(has_text=re.compile(r"^rk_\w+_[\w-]{20,}"))).to_be_visible()
    page.get_by_role("button", name="Revoke For the kitchen").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("listitem").filter(has_text="For the kitchen")).to_have_count(0)

    page.get_by_role("tab", name="Settings").click()
    page.get_by_label("Time zone").fill("Nowhere/Else")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("Time zone")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Time zone").fill("Europe/Lisbon")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    page.get_by_role("radio", name="Dark").check(force=True)
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.get_by_role("tab", name="Settings").click()
    page.get_by_role("radio", name="System").check(force=True)


def test_a_long_list_goes_on_after_its_first_page(page: Page, stack: Stack) -> None:
    http = stack.client().http
    kept = [
        answer_of(
            http.post(
                "/api/credentials",
                json={"provider": "listed", "kind": "api_key", "title": f"key {number}", "api_key": "x" * 12},
            )
        )["id"]
        for number in range(PAGE_SIZE + 1)
    ]
    page.goto(f"{stack.url()}/library/credentials")
    oldest = page.get_by_role("button", name="Delete key 0", exact=True)
    expect(page.get_by_role("button", name=f"Delete key {PAGE_SIZE}", exact=True)).to_be_visible()
    expect(oldest).to_have_count(0)
    page.get_by_role("button", name="Show more").click()
    expect(oldest).to_be_visible()
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    for one in kept:
        assert http.delete(f"/api/credentials/{one}").status_code == 204
