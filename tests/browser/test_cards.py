"""Tool cards: questions as forms, long work that survives a reload, the game, and every card of the style guide."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import answers, script, send, wait_until_idle
from tests.rig import Stack

pytestmark = pytest.mark.browser


def test_question_is_a_form_and_its_answers_go_back_as_a_message(page: Page) -> None:
    questions = [
        {"question": "Which colour?", "options": ["red", "blue"], "keyword": "colour"},
        {"question": "How many?", "keyword": "number"},
    ]
    call = {"name": "ask_question", "arguments": {"questions": questions}}
    send(page, script("asks", {"tool_calls": [call]}, {"text": "Tell me."}))
    card = page.get_by_role("region", name="A question for you")
    expect(card.get_by_role("button", name="Send answers")).to_be_disabled()
    card.get_by_role("radio", name="blue").check()
    card.get_by_role("textbox", name="How many?").fill("three")
    card.get_by_role("button", name="Send answers").click()
    expect(page.get_by_role("log")).to_contain_text("colour: blue\nnumber: three")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    expect(card.get_by_role("button", name="Send answers")).to_have_count(0)


def test_long_work_goes_on_over_a_reload_and_comes_back_once(page: Page, stack: Stack) -> None:
    hold = stack.home / "hold-operation"
    call = {"name": "test_operation", "arguments": {"hold": str(hold), "note": "baked"}}
    send(page, script("long", {"tool_calls": [call]}, {"text": "It bakes."}))
    card = page.get_by_role("region", name="Test operation")
    expect(card).to_contain_text("At work")
    expect(card).to_contain_text("seconds gone")
    wait_until_idle(page)
    page.reload()
    expect(card).to_contain_text("seconds gone")
    Path(hold).touch()
    expect(card).to_contain_text("The long work is done: baked")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)


def test_long_work_can_be_cancelled(page: Page) -> None:
    call = {"name": "test_operation", "arguments": {"seconds": 600}}
    send(page, script("cancelled", {"tool_calls": [call]}, {"text": "It runs."}))
    card = page.get_by_role("region", name="Test operation")
    expect(card).to_contain_text("At work")
    card.get_by_role("button", name="Cancel this work").click()
    expect(card).to_contain_text("The operation was cancelled.")


def test_single_tool_is_stopped_while_the_answer_goes_on(page: Page) -> None:
    call = {"name": "test_sleep", "arguments": {"seconds": 60}}
    send(page, script("one-stopped", {"tool_calls": [call]}, {"text": "Went on without it."}))
    page.get_by_role("button", name="Stop this").click()
    expect(answers(page)).to_contain_text("Went on without it.")
    expect(answers(page)).to_contain_text("The user stopped this call.")


def test_failed_tool_says_so_and_its_data_is_folded(page: Page) -> None:
    call = {"name": "test_fail", "arguments": {"how": "final"}}
    send(page, script("failing", {"tool_calls": [call]}, {"text": "Sorry."}))
    card = page.get_by_role("region", name="Test fail")
    expect(card).to_contain_text("It cannot be done.")
    wait_until_idle(page)
    expect(card.get_by_role("button", name="Try again")).to_be_visible()
    expect(card.get_by_text('"how": "final"')).to_have_count(0)
    card.get_by_role("button", name="Details").click()
    expect(card.get_by_text('"how": "final"')).to_be_visible()


def test_style_guide_shows_every_card_and_the_game_is_played_by_keyboard(page: Page, stack: Stack) -> None:
    page.goto(f"{stack.url()}/styleguide")
    expect(page.locator("[data-example]").first).to_be_visible()
    assert page.locator("[data-example]").count() >= 36
    expect(page.locator(".react-flow__node").first).to_be_visible()
    game = page.get_by_role("application", name="Snake")
    game.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_text("Score 0")).to_be_visible()
    expect(page.get_by_text("Over, with")).to_be_visible()  # it ran on until the wall
