"""Branches as a person uses them: arrows between versions, and forks."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.system.browser.steps import answers, script, send, wait_until_idle

pytestmark = pytest.mark.browser


def bubbles(page: Page) -> list[str]:
    return page.locator(".bg-mine").all_inner_texts()


def test_versions_of_messages_and_answers_are_kept_and_chosen(page: Page) -> None:
    send(page, script("branch-1", text="The first answer."))
    expect(answers(page).last).to_contain_text("The first answer.")
    wait_until_idle(page)
    send(page, "What can you do?")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    page.get_by_role("button", name="Answer again").last.click()
    of_answer = page.get_by_role("group", name="Answers to this message")
    expect(of_answer).to_contain_text("2 / 2")
    wait_until_idle(page)
    mine = page.locator(".group\\/mine").first
    mine.hover()
    mine.get_by_role("button", name="Edit message").click()
    page.get_by_role("textbox", name="Edit message").fill(script("branch-2", text="The other answer."))
    page.get_by_role("button", name="Send", exact=True).first.click()
    expect(answers(page).last).to_contain_text("The other answer.")
    wait_until_idle(page)
    expect(answers(page)).to_have_count(1)
    of_message = page.get_by_role("group", name="Versions of this message")
    expect(of_message).to_contain_text("2 / 2")
    of_message.get_by_role("button", name="Previous version").click()
    expect(answers(page).first).to_contain_text("The first answer.")
    expect(answers(page)).to_have_count(2)
    expect(of_answer).to_contain_text("2 / 2")
    of_answer.get_by_role("button", name="Previous answer").click()
    expect(of_answer).to_contain_text("1 / 2")
    page.reload()
    expect(of_answer).to_contain_text("1 / 2")
    expect(of_message).to_contain_text("1 / 2")
    of_message.get_by_role("button", name="Next version").click()
    expect(answers(page).last).to_contain_text("The other answer.")
    expect(answers(page)).to_have_count(1)


def test_a_conversation_is_forked_at_an_answer_and_at_ones_own_message(page: Page) -> None:
    send(page, script("fork-1", text="Kept in both."))
    expect(answers(page).last).to_contain_text("Kept in both.")
    wait_until_idle(page)
    send(page, "What can you do?")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    source = page.url
    answers(page).first.hover()
    answers(page).first.get_by_role("button", name="Continue in a new conversation").click()
    page.wait_for_url(lambda url: url != source)
    expect(answers(page)).to_have_count(1)
    expect(answers(page).first).to_contain_text("Kept in both.")
    page.get_by_role("link", name="Forked from another conversation").click()
    page.wait_for_url(re.compile(re.escape(source)))
    expect(answers(page)).to_have_count(2)
    second = page.locator(".group\\/mine").nth(1)
    second.hover()
    second.get_by_role("button", name="Continue in a new conversation").click()
    page.wait_for_url(lambda url: url != source)
    expect(answers(page)).to_have_count(1)
    expect(page.get_by_role("textbox", name="Message")).to_have_value("What can you do?")
