"""The tour of agents in chat: from the printed link to an agent that was built, run, changed and approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.harness import Stack
from tests.system.browser.samples import login_address
from tests.system.browser.steps import answers, send, wait_until_idle

pytestmark = pytest.mark.browser


def test_tour_from_the_printed_link_to_an_agent_that_runs(
    new_page: Callable[..., Page], stack: Stack
) -> None:
    page = new_page(storage_state=None)
    page.goto(login_address(stack))
    nav = page.get_by_role("navigation")
    expect(nav.get_by_role("link", name="ann")).to_be_visible()

    send(page, "build me an agent that fills a letter template")
    question = page.get_by_role("region", name="A question for you")
    question.get_by_role("textbox").fill("Dear {{name}}, welcome to {{city}}.")
    wait_until_idle(page)
    expect(nav.get_by_role("listitem").first.get_by_role("img", name="Needs you")).to_be_visible()
    question.get_by_role("button", name="Send answers").click()
    built = page.get_by_role("region", name="Built the agent")
    expect(built.locator(".react-flow__node")).to_have_count(4)
    expect(answers(page)).to_have_count(4)
    expect(answers(page).last).to_contain_text("Continued automatically")
    wait_until_idle(page)
    expect(nav.get_by_role("listitem").first.get_by_role("img")).to_have_count(0)

    built.get_by_role("button", name="Run").click()
    takes = page.get_by_role("region", name="Inputs of the agent")
    takes.get_by_label("name").fill("Ada")
    takes.get_by_label("city").fill("Porto")
    wait_until_idle(page)
    takes.get_by_role("button", name="Run").click()
    expect(page.get_by_role("region", name="Results of the agent")).to_contain_text(
        "Dear Ada, welcome to Porto."
    )
    wait_until_idle(page)

    send(page, "also count the words")
    changed = page.get_by_role("region", name="Changed the agent")
    expect(changed).to_contain_text("Version 2")
    expect(changed.locator(".react-flow__node").filter(has_text="Word Character Count")).to_be_visible()


def test_long_work_comes_back_while_the_page_is_elsewhere_and_waits_for_approval(
    page: Page, stack: Stack
) -> None:
    send(page, "build an agent that greets people by name but asks me first")
    expect(page.get_by_role("log")).to_contain_text("asks me first")
    conversation = page.url
    page.goto(f"{stack.url()}/library")
    expect(page.get_by_role("link", name="Greets people by name but asks me first")).to_be_visible()
    page.goto(conversation)
    expect(page.get_by_role("region", name="Built the agent").locator(".react-flow__node")).to_have_count(4)
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)

    send(page, "run it with name=Eve")
    run = page.get_by_role("region", name="Started the agent")
    review = run.get_by_role("region", name="Please approve this.")
    expect(review.get_by_role("textbox").first).to_have_value("Hello Eve!")
    wait_until_idle(page)
    review.get_by_role("textbox").first.fill("Hello dear Eve!")
    review.get_by_role("button", name="Approve").click()
    expect(run).to_contain_text("Completed")
    expect(run).to_contain_text("Hello dear Eve!")
    expect(answers(page)).to_have_count(4)  # it came back, once
    expect(answers(page).last).to_contain_text("Hello dear Eve!")
    wait_until_idle(page)
    assert answers(page).count() == 4
