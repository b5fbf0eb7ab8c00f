"""Tool cards: questions as forms, long work that survives a reload, the game, and every card of the style guide."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.harness import Stack, eventually
from tests.system.browser.samples import answer_of, locked_agent
from tests.system.browser.steps import answers, script, send, wait_until_idle, walk_to

pytestmark = pytest.mark.browser
SEND_EMAIL = "4335878a-394e-4e67-adf2-919877ff49ae"
SQL_QUERY = "4dc35c0f-4fd8-465e-9616-5a216f1ba2bc"
CANARY = "canary-7f3a-of-a-key"


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
    expect(card).to_contain_text("In progress")
    expect(card).to_contain_text("seconds gone")
    wait_until_idle(page)
    page.reload()
    expect(card).to_contain_text("seconds gone")
    Path(hold).touch()
    expect(card).to_contain_text("The long work is done: baked")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)


def test_game_is_offered_while_long_work_runs_and_is_played_by_keyboard(
    new_page: Callable[..., Page], stack: Stack
) -> None:
    page = new_page()  # its clock is a profile's
    hold = stack.home / "hold-game"
    call = {"name": "test_operation", "arguments": {"hold": str(hold), "note": "built"}}
    page.clock.install()
    send(page, script("game", {"tool_calls": [call]}, {"text": "It takes a while."}))
    card = page.get_by_role("region", name="Test operation")
    expect(card).to_contain_text("In progress")
    wait_until_idle(page)
    offer = card.get_by_role("button", name="Play a game while you wait")
    expect(offer).to_have_count(0)
    page.clock.fast_forward(10_000)
    walk_to(page, "button", "Play a game", back=True)
    page.keyboard.press("Enter")
    expect(card.get_by_role("application", name="Snake")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(card.get_by_text("Score 0")).to_be_visible()
    page.keyboard.press("Escape")
    expect(offer).to_be_visible()
    Path(hold).touch()
    expect(card).to_contain_text("The long work is done: built")
    expect(offer).to_have_count(0)
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)


def test_conversation_of_its_own_is_opened_from_its_card_and_leads_back(page: Page) -> None:
    send(page, "start a sub-session to research leases")
    card = page.get_by_role("region", name="Started a separate conversation")
    expect(card.get_by_role("link", name="Open")).to_be_visible()
    wait_until_idle(page)
    conversation = page.url
    card.get_by_role("link", name="Open").click()
    expect(page).not_to_have_url(conversation)
    expect(answers(page).first).to_be_visible()
    page.get_by_role("link", name="Part of another conversation").click()
    expect(page).to_have_url(conversation)
    expect(card).to_contain_text("Done")


def test_failed_conversation_of_its_own_is_not_shown_as_done(page: Page) -> None:
    fault = {"status": 400, "error": {"message": "The model is on holiday."}}
    task = script("child-fails", text="never", fault=fault)
    call = {"name": "run_sub_session", "arguments": {"prompt": task}}
    send(page, script("parent", {"tool_calls": [call]}, {"text": "It went wrong."}))
    card = page.get_by_role("region", name="Started a separate conversation")
    expect(card).to_contain_text("Failed")
    wait_until_idle(page)
    page.reload()
    expect(card).to_contain_text("Failed")
    expect(card.get_by_text("Done", exact=True)).to_have_count(0)


def test_missing_credential_is_a_form_and_its_secret_is_not_said(page: Page) -> None:
    letter = {
        "to_email": "a@example.com",
        "subject": "Hello",
        "body": "Hi",
        "config": {"smtp_server": "mail"},
    }
    call = {"name": "run_block", "arguments": {"block_id": SEND_EMAIL, "input_data": letter}}
    send(page, script("credential", {"tool_calls": [call]}, {"text": "I need your mail account."}))
    card = page.get_by_role("region", name="Some setup is needed first")
    card.get_by_label("Host").fill("mail.example.com")
    card.get_by_label("User name").fill("ann")
    card.get_by_label("Password").fill("very secret indeed")
    wait_until_idle(page)
    card.get_by_role("button", name="Save").click()
    card.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("log")).to_contain_text("The credentials are in place. Go on.")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    expect(page.get_by_text("very secret indeed")).to_have_count(0)


def test_secret_input_of_an_agent_runs_it_without_a_word_in_the_chat(page: Page, stack: Stack) -> None:
    agent = answer_of(stack.client().http.post("/api/agents", json=locked_agent()))["id"]
    call = {"name": "run_agent", "arguments": {"library_agent_id": agent}}
    send(page, script("locked", {"tool_calls": [call]}, {"text": "It wants a key."}))
    card = page.get_by_role("region", name="Inputs of the agent")
    wait_until_idle(page)
    runs_past_the_chat(page, stack, card)


def test_secret_input_of_a_built_agent_runs_it_without_a_word_in_the_chat(page: Page, stack: Stack) -> None:
    guide = {"name": "get_agent_building_guide", "arguments": {}}
    build = {"name": "create_agent", "arguments": {"agent_json": locked_agent()}}
    steps: list[dict[str, object]] = [{"tool_calls": [guide]}, {"tool_calls": [build]}, {"text": "Building."}]
    send(page, script("built-locked", *steps))
    card = page.get_by_role("region", name="Built the agent")
    card.get_by_role("button", name="Run").click()
    runs_past_the_chat(page, stack, card)


def runs_past_the_chat(page: Page, stack: Stack, card: Locator) -> None:
    """Fill in a secret and run: the card shows the run, and the conversation has nothing of it."""
    session = page.url.rpartition("/")[2]
    before = stack.client().session(session)["messages"]
    expect(card.locator("input")).to_have_attribute("type", "password")
    card.locator("input").fill(CANARY)
    card.get_by_role("button", name="Run", exact=True).click()
    expect(card).to_contain_text("The door is open.")
    page.reload()
    expect(card).to_contain_text("The door is open.")
    expect(card.get_by_role("link", name="Open run")).to_be_visible()
    after = stack.client().session(session)
    assert len(after["messages"]) == len(before)
    assert CANARY not in json.dumps(after)
    expect(page.get_by_text(CANARY)).to_have_count(0)


def test_secret_input_of_a_block_is_not_said(page: Page, stack: Stack) -> None:
    call = {"name": "run_block", "arguments": {"block_id": SQL_QUERY}}
    send(page, script("sql", {"tool_calls": [call]}, {"text": "It wants a host."}))
    card = page.get_by_role("region", name="Inputs of the block")
    wait_until_idle(page)
    expect(card.get_by_label("host")).to_have_attribute("type", "password")
    card.get_by_label("host").fill(CANARY)
    card.get_by_label("query").fill("select 1")
    card.get_by_label("database", exact=True).fill("x")
    card.get_by_role("button", name="Run", exact=True).click()
    expect(card.get_by_role("alert")).to_be_visible()
    session = stack.client().session(page.url.rpartition("/")[2])
    assert len(session["messages"]) == 2
    assert CANARY not in json.dumps(session)


def test_goal_that_cannot_be_reached_offers_one_that_can(page: Page) -> None:
    send(page, "build an agent that makes coffee")
    card = page.get_by_role("region", name="A suggested goal")
    goal = card.get_by_role("blockquote").inner_text()
    wait_until_idle(page)
    card.get_by_role("button", name="Use this goal").click()
    expect(page.get_by_role("log")).to_contain_text(goal)
    expect(card.get_by_role("button", name="Use this goal")).to_have_count(0)
    wait_until_idle(page)


def test_failed_long_work_says_why_and_is_tried_again(page: Page, stack: Stack) -> None:
    call = {"name": "test_operation", "arguments": {"fail": True}}
    send(page, script("fails", {"tool_calls": [call]}, {"text": "It runs."}))
    card = page.get_by_role("region", name="Test operation")
    expect(card).to_contain_text("It could not be done.")
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    session = page.url.rpartition("/")[2]
    before = stack.client().session(session)["messages"][1]["id"]
    card.get_by_role("button", name="Try again").click()
    eventually(lambda: before not in ids_in(stack, session), what="another answer in its place")
    expect(card).to_have_count(1)
    wait_until_idle(page)


def ids_in(stack: Stack, session: str) -> list[str]:
    return [message["id"] for message in stack.client().session(session)["messages"]]


def test_long_work_can_be_cancelled(page: Page) -> None:
    call = {"name": "test_operation", "arguments": {"seconds": 600}}
    send(page, script("cancelled", {"tool_calls": [call]}, {"text": "It runs."}))
    card = page.get_by_role("region", name="Test operation")
    expect(card).to_contain_text("In progress")
    card.get_by_role("button", name="Cancel this task").click()
    expect(card).to_contain_text("The operation was cancelled.")


def test_single_tool_is_stopped_while_the_answer_goes_on(page: Page) -> None:
    call = {"name": "test_sleep", "arguments": {"seconds": 60}}
    send(page, script("one-stopped", {"tool_calls": [call]}, {"text": "Went on without it."}))
    page.get_by_role("button", name="Stop this call").click()
    expect(answers(page)).to_contain_text("Went on without it.")
    expect(answers(page)).to_contain_text("The call was stopped by the user.")


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


def test_to_do_list_ticks_and_the_rest_is_shown_above_the_composer(page: Page) -> None:
    def todos(*states: str) -> dict[str, object]:
        items = [{"text": f"Part {n}", "status": state} for n, state in enumerate(states, start=1)]
        return {"tool_calls": [{"name": "update_todo_list", "arguments": {"items": items}}]}

    first, last = todos("in_progress", "pending"), todos("done", "in_progress")
    send(page, script("todos", first, last, {"text": "One is left."}))
    wait_until_idle(page)
    cards = page.get_by_role("region", name="To-do list")
    expect(cards).to_have_count(2)
    expect(cards.last).to_contain_text("Part 1 (done)")
    expect(page.locator("[data-todos]")).to_contain_text("1 of 2 done")
    expect(page.locator("[data-todos]")).to_contain_text("Part 2")
    page.reload()
    expect(page.locator("[data-todos]")).to_contain_text("1 of 2 done")
    send(page, script("ticked", todos("done", "done"), {"text": "All done."}))
    wait_until_idle(page)
    expect(page.locator("[data-todos]")).to_have_count(0)


def test_follow_up_is_shown_and_cancelled_on_its_card(page: Page) -> None:
    arguments = {"prompt": "Look whether the offer has come", "in_minutes": 600}
    send(
        page,
        script(
            "later", {"tool_calls": [{"name": "schedule_followup", "arguments": arguments}]}, {"text": "Yes."}
        ),
    )
    wait_until_idle(page)
    card = page.get_by_role("region", name="Scheduled a follow-up")
    expect(card).to_contain_text("Look whether the offer has come")
    card.get_by_role("button", name="Cancel this follow-up").click()
    expect(card).to_contain_text("Over")
    page.reload()
    expect(card).to_contain_text("Over")


def test_failed_build_is_headed_as_failed_and_can_be_tried_again_or_simplified(page: Page) -> None:
    broken = {"name": "Broken", "nodes": [{"id": "x", "block_id": "invented"}], "links": []}
    guide: dict[str, object] = {"tool_calls": [{"name": "get_agent_building_guide", "arguments": {}}]}
    build: dict[str, object] = {"tool_calls": [{"name": "create_agent", "arguments": {"agent_json": broken}}]}
    send(page, script("broken", guide, build, {"text": "It is being built."}))
    card = page.get_by_role("region", name="The agent was not built")
    expect(card).to_contain_text("The agent cannot run yet")
    expect(card.get_by_role("button", name="Try again")).to_be_visible()
    expect(answers(page)).to_have_count(2)
    wait_until_idle(page)
    card.get_by_role("button", name="Simplify goal").click()
    expect(page.get_by_role("log")).to_contain_text("Build the agent again with a simpler goal")
    wait_until_idle(page)


def test_style_guide_shows_every_card_and_the_game_is_played_by_keyboard(page: Page, stack: Stack) -> None:
    page.goto(f"{stack.url()}/styleguide")
    expect(page.locator("[data-example]").first).to_be_visible()
    assert page.locator("[data-example]").count() >= 36
    expect(page.locator(".react-flow__node").first).to_be_visible()
    game = page.get_by_role("application", name="Snake")
    game.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_text("Score 0")).to_be_visible()
    expect(page.get_by_text("Game over")).to_be_visible()  # it ran on until the wall
