"""The model picker as a person uses it: by mouse, by keyboard, in German, and not at all where nothing is to choose."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.harness import Stack, running_stack
from tests.llm.dialect_servers import KEY, Anthropic, Chat, ModelServer, Script, running
from tests.needs import BROWSER, INTERFACE, require
from tests.system.browser.conftest import PROFILE, log_in, opened
from tests.system.browser.steps import answers, send

pytestmark = pytest.mark.browser
TITLE = Script(text=("Colours",))


@pytest.fixture(scope="module")
def models() -> Iterator[tuple[ModelServer, ModelServer]]:
    with running(Chat()) as small, running(Anthropic()) as big:
        usage = {"fresh": 900, "cached": 600, "output": 40}
        small.play(Script(text=("Green, says the small one.",), usage=usage))
        big.play(Script(text=("Blue, says the big one.",), usage=usage))
        small.choose = lambda body: None if body.get("tools") else TITLE
        yield small, big


@pytest.fixture(scope="module")
def two_models(models: tuple[ModelServer, ModelServer]) -> Iterator[Stack]:
    """A stack with two endpoints."""
    require(BROWSER, INTERFACE)
    small, big = models
    price = {"input": 3, "output": 15, "cached": 0.3}
    endpoints = [
        {"name": "house", "url": small.url, "key": KEY, "models": ["qwen-small"], "window": 32_000},
        {"name": "far", "url": big.url, "key": KEY, "dialect": "anthropic", "models": ["claude-big"]}
        | {"vision": True, "prices": {"claude-big": price}},
    ]
    env = {"COPILOT_ENDPOINTS": json.dumps(endpoints), "OPENAI_BASE_URL": "", "OPENAI_API_KEY": ""}
    env |= {"COPILOT_MODEL": "house/qwen-small"}
    home = Path(tempfile.mkdtemp(prefix="rm-"))
    with running_stack(home / "s", workers=1, env=env) as stack:
        yield stack
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def picking(chromium: Browser, two_models: Stack) -> Iterator[Page]:
    context = chromium.new_context(**PROFILE)
    log_in(context.new_page(), two_models)
    errors: list[str] = []
    yield opened(context, two_models.url(), errors)
    context.close()
    assert not errors


def test_a_model_is_picked_by_keyboard_answers_and_stays_with_the_conversation(picking: Page) -> None:
    page = picking
    button = page.get_by_role("button", name="Model: qwen-small")
    button.focus()
    page.keyboard.press("Enter")
    menu = page.get_by_role("menu", name="Model")
    expect(menu.get_by_role("menuitemradio")).to_have_count(2)
    expect(menu.get_by_role("menuitemradio", name=re.compile("qwen-small"))).to_have_attribute(
        "aria-checked", "true"
    )
    expect(menu).to_contain_text("far · reads 200K tokens · sees images")
    wanted = menu.get_by_role("menuitemradio", name=re.compile("claude-big"))
    for _ in range(4):  # an opening menu moves the focus by itself, sooner or later
        page.keyboard.press("ArrowDown")
        if wanted.evaluate("item => item === document.activeElement"):
            break
    expect(wanted).to_be_focused()
    page.keyboard.press("Enter")
    chosen = page.get_by_role("button", name="Model: claude-big")
    expect(chosen).to_be_focused()
    send(page, "Which colour?")
    expect(answers(page).last).to_contain_text("Blue, says the big one.")
    expect(answers(page).last).to_contain_text(
        re.compile(r"claude-big · \$0\.0035 · \d+:\d\d\s[AP]M · 40 tokens")
    )
    written = answers(page).last.get_by_text("40 tokens")
    expect(written).to_have_attribute("title", "1,500 tokens read, 600 of them cached")
    page.reload()
    expect(chosen).to_be_visible()


def test_another_model_answers_again_and_both_answers_can_be_read(picking: Page) -> None:
    page = picking
    send(page, "Which colour?")
    expect(answers(page).last).to_contain_text("Green, says the small one.")
    page.get_by_role("button", name="Answer again").click()
    page.get_by_role("menu", name="Answer again").get_by_role(
        "menuitemradio", name=re.compile("claude")
    ).click()
    expect(answers(page).last).to_contain_text("Blue, says the big one.")
    expect(answers(page)).to_have_count(1)
    versions = page.get_by_role("group", name="Answers to this message")
    expect(versions).to_contain_text("2 / 2")
    versions.get_by_role("button", name="Previous answer").click()
    expect(answers(page).last).to_contain_text("Green, says the small one.")
    expect(versions).to_contain_text("1 / 2")
    versions.get_by_role("button", name="Next answer").click()
    expect(answers(page).last).to_contain_text("Blue, says the big one.")
    expect(page.get_by_role("button", name="Model: qwen-small")).to_be_visible()


def test_a_default_is_kept_for_the_person(picking: Page) -> None:
    page = picking
    page.goto(page.url.rstrip("/") + "/account/settings")
    choice = page.get_by_label("Model for new messages")
    choice.select_option("far/claude-big")
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.goto(re.sub("/account/settings$", "/", page.url))
    expect(page.get_by_role("button", name="Model: claude-big")).to_be_visible()
    page.goto(page.url.rstrip("/") + "/account/settings")
    choice.select_option("")
    expect(page.get_by_text("Saved.")).to_be_visible()


def test_it_speaks_german(chromium: Browser, two_models: Stack) -> None:
    context = chromium.new_context(**(PROFILE | {"locale": "de-DE"}))
    log_in(context.new_page(), two_models)
    page = opened(context, two_models.url(), [])
    page.get_by_role("button", name="Modell: qwen-small").click()
    expect(page.get_by_role("menu", name="Modell")).to_contain_text("sieht Bilder")
    context.close()


def test_nothing_is_shown_where_there_is_nothing_to_choose(page: Page) -> None:
    expect(page.get_by_text("Built-in offline model")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Model: "))).to_have_count(0)
