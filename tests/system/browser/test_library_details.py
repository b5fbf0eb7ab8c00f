"""Blocks, runs, schedules and triggers of the library in detail, and what deleting an agent takes along."""

from __future__ import annotations

import re
import subprocess

import pytest
from playwright.sync_api import Page, expect

from tests.harness import Stack, eventually
from tests.system.browser.pages import problems
from tests.system.browser.samples import GREETER, answer_of, asking_agent, finished_run, greeter

pytestmark = pytest.mark.browser
INPUTS = {"name": "Ada"}


def named_greeter(stack: Stack, name: str) -> str:
    return str(answer_of(stack.client().http.post("/api/agents", json=GREETER | {"name": name}))["id"])


def test_block_of_a_graph_shows_its_settings_and_what_went_through_it(page: Page, stack: Stack) -> None:
    agent = greeter(stack)
    page.goto(f"{stack.url()}/library/agents/{agent}")
    page.locator(".react-flow__node", has_text="Fill Text Template").click()
    panel = page.get_by_role("region", name="Fill Text Template")
    expect(panel).to_contain_text("Hello {{name}}!")
    expect(panel).to_contain_text("values / name: result of name")
    page.goto(f"{stack.url()}/library/runs/{finished_run(stack, agent, 'Ada')}")
    page.locator(".react-flow__node", has_text="Fill Text Template").click()
    expect(panel).to_contain_text("Hello {{name}}!")
    expect(panel.get_by_role("definition").filter(has_text="Hello Ada!")).to_be_visible()
    assert problems(page) == []


def test_runs_are_filtered_show_their_inputs_and_are_run_again(page: Page, stack: Stack) -> None:
    agent = named_greeter(stack, "Run again and again")
    finished_run(stack, agent, "Ada")
    page.goto(f"{stack.url()}/library/agents/{agent}/runs")
    rows = page.get_by_role("tabpanel").get_by_role("listitem")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Started by hand · name: Ada")
    page.get_by_role("combobox", name="Started by").select_option("By schedule")
    expect(page.get_by_text("No matching runs")).to_be_visible()
    page.get_by_role("combobox", name="Started by").select_option("Started by hand")
    page.get_by_role("combobox", name="State").select_option("Completed")
    rows.get_by_role("link").click()
    page.get_by_role("button", name="Run again").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("name")).to_have_value("Ada")
    dialog.get_by_label("name").fill("Bea")
    dialog.get_by_role("button", name="Run").click()
    expect(page.get_by_text("Hello Bea!")).to_be_visible()


def test_rejected_run_is_not_shown_as_a_success(page: Page, stack: Stack) -> None:
    http = stack.client().http
    agent = answer_of(http.post("/api/agents", json=asking_agent("May it go out?")))["id"]
    run = answer_of(http.post(f"/api/agents/{agent}/execute", json={"inputs": INPUTS}))["id"]
    page.goto(f"{stack.url()}/library/runs/{run}")
    page.get_by_role("region", name="May it go out?").get_by_role("button", name="Reject").click()
    expect(page.get_by_text("It ended without outputs.")).to_be_visible()
    expect(page.get_by_text("Rejected", exact=True).first).to_be_visible()
    expect(page.get_by_role("main").get_by_text("No outputs yet.")).to_have_count(0)
    page.goto(f"{stack.url()}/library/agents/{agent}/runs")
    expect(page.get_by_role("tabpanel").get_by_role("listitem")).to_contain_text("Rejected")


def test_schedule_is_edited(page: Page, stack: Stack) -> None:
    http = stack.client().http
    agent = named_greeter(stack, "By the clock")
    given = {"name": "Mornings", "agent_id": agent, "cron": "0 9 * * *", "inputs": INPUTS}
    made = answer_of(http.post("/api/schedules", json=given))["id"]
    page.goto(f"{stack.url()}/library/schedules")
    row = page.get_by_role("listitem").filter(has_text="Mornings")
    row.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog", name="Edit the schedule of By the clock")
    expect(dialog.get_by_label("name", exact=True)).to_have_value("Ada")
    dialog.get_by_label("Name", exact=True).fill("Noons")
    dialog.get_by_label("When").select_option("Custom")
    dialog.get_by_label("Cron expression").fill("nonsense")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_label("Cron expression")).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("Cron expression").fill("0 12 * * *")
    dialog.get_by_label("name", exact=True).fill("Bea")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("listitem").filter(has_text="Noons")).to_contain_text("12:00")
    kept = http.get(f"/api/schedules/{made}").json()
    assert (kept["cron"], kept["inputs"]) == ("0 12 * * *", {"name": "Bea"})


@pytest.mark.parametrize("scheme", ["Not signed", "HMAC-SHA256", "Standard Webhooks"])
def test_trigger_is_called_by_the_command_it_shows_and_tested_from_the_page(
    page: Page, stack: Stack, scheme: str
) -> None:
    http = stack.client().http
    agent = named_greeter(stack, f"Hooked {scheme}")
    page.goto(f"{stack.url()}/library/agents/{agent}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Run by webhook").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Signature").select_option(scheme)
    dialog.get_by_role("button", name="Create trigger").click()
    command = re.sub(
        r"https?://[^/']+/api/hooks", f"{stack.url()}/api/hooks", dialog.locator("pre").inner_text()
    )
    done = subprocess.run(
        ["bash", "-c", command + " -sS --noproxy '*'"], capture_output=True, text=True, timeout=60, check=True
    )
    assert '"state":"started"' in done.stdout, done.stdout + done.stderr
    page.keyboard.press("Escape")

    page.goto(f"{stack.url()}/library/triggers")
    row = page.get_by_role("listitem").filter(has_text=f"Hooked {scheme}").first
    row.get_by_role("button", name="Test").click()
    expect(dialog.get_by_label("Payload")).to_have_value(re.compile('"name"'))
    dialog.get_by_label("Payload").fill("{}")
    dialog.get_by_role("button", name="Test").click()
    expect(dialog.get_by_role("alert")).to_contain_text("name: ")
    dialog.get_by_label("Payload").fill('{"name": "Bea"}')
    dialog.get_by_role("button", name="Test").click()
    expect(dialog).to_contain_text("The agent was started.")
    dialog.get_by_role("link", name="Open run").click()
    expect(page.get_by_text("Hello Bea!")).to_be_visible()
    assert len(http.get(f"/api/executions?agent={agent}&source=trigger").json()["results"]) == 2


def test_deleting_an_agent_says_what_ends_and_its_runs_keep_their_graph(page: Page, stack: Stack) -> None:
    http = stack.client().http
    agent = named_greeter(stack, "Soon gone")
    run = finished_run(stack, agent, "Ada")
    given = {"name": "Orphan", "agent_id": agent}
    answer_of(http.post("/api/schedules", json=given | {"cron": "0 9 * * *", "inputs": INPUTS}))
    answer_of(http.post("/api/triggers", json=given))
    answer_of(http.post("/api/store", json={"agent_id": agent}))
    page.goto(f"{stack.url()}/library/agents/{agent}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete this agent?")
    for words in ("One schedule will be switched off.", "One trigger will be switched off.", "ann/soon-gone"):
        expect(dialog).to_contain_text(words)
    dialog.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(f"{stack.url()}/library")
    assert http.get("/api/store/ann/soon-gone").status_code == 404
    page.goto(f"{stack.url()}/library/schedules")
    row = page.get_by_role("listitem").filter(has_text="Orphan")
    expect(row).to_contain_text("Agent deleted")
    expect(row.get_by_role("button", name="Switch on")).to_have_count(0)
    page.goto(f"{stack.url()}/library/runs/{run}")
    expect(page.locator(".react-flow__node")).to_have_count(3)
    expect(page.get_by_text("Soon gone")).to_be_visible()
    expect(page.get_by_text("Agent deleted")).to_be_visible()
    eventually(lambda: http.get(f"/api/executions/{run}").json()["agent_removed"], what="the mark")
