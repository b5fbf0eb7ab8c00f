"""Every page there is, and what may be wrong with one: what axe finds, how wide it is, in which language it speaks."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, ViewportSize, expect

from copilot_project.launcher.ui import FRONTEND
from tests.harness import Stack
from tests.system.browser.samples import answer_of, asking_agent, finished_run, greeter

PHONE: ViewportSize = {"width": 375, "height": 812}
DESK: ViewportSize = {"width": 1440, "height": 900}
SERIOUS = {"serious", "critical"}
WIDTH = "Math.max(document.documentElement.scrollWidth, document.querySelector('main').scrollWidth)"
SAID = """() => {
  const own = [...document.querySelectorAll('body *')].filter((element) => !element.closest('nav li')); // titles
  const said = own.flatMap((element) => [
    ...[...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data),
    ...['aria-label', 'placeholder', 'title', 'alt'].map((name) => element.getAttribute(name) ?? ''),
  ]);
  return [...new Set(said.map((words) => words.trim()))];
}"""
ENTRY = re.compile(r"^ +'[\w.]+':\s+(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"),$", re.MULTILINE)
QUESTION = {"name": "ask_question", "arguments": {"questions": [{"question": "Why?", "options": ["A", "B"]}]}}
RICH = (
    "A table:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nprint(1)\n```\n\n[A link](https://example.com)"
)
OUTSIDE = ["/login/", "/signup/", "/password/", "/nowhere"]  # pages that need no script


def two_versions(stack: Stack) -> str:
    """A conversation with two answers to a message, forked off another one; and something to remember."""
    client = stack.client()
    first = client.new_session(title="Asked twice")
    client.wait(client.send(first, {"id": "twice", "steps": [{"text": "An answer."}]})["id"])
    at = client.session(first)["messages"][-1]["id"]
    session = str(answer_of(client.http.post(f"/api/sessions/{first}/fork", json={"message_id": at}))["id"])
    body = {"id": session, "trigger": "regenerate-message", "messages": []}
    client.http.post("/api/chat", json=body).raise_for_status()
    answer_of(client.http.patch("/api/memory", json={"user_name": "Ann", "software": ["Excel", "Word"]}))
    return session


def all_pages(stack: Stack) -> dict[str, str]:
    """The address of one page of every kind, by name."""
    client = stack.client()
    session = client.new_session(title="Everything at once")
    client.wait(
        client.send(
            session, {"id": "rich", "steps": [{"text": RICH, "tool_calls": [QUESTION]}, {"text": "?"}]}
        )["id"]
    )
    agent = greeter(stack)
    run = finished_run(stack, agent, "Anna")
    asking = answer_of(client.http.post("/api/agents", json=asking_agent("Shall this go out?")))["id"]
    waiting = answer_of(client.http.post(f"/api/agents/{asking}/execute", json={"inputs": {"name": "Ana"}}))
    library = ["runs", "reviews", "schedules", "triggers", "credentials", "store", "nowhere"]
    return {
        "welcome": "/",
        "conversation": f"/c/{session}",
        "no-conversation": "/c/00000000-0000-0000-0000-000000000000",
        "agents": "/library",
        **{name: f"/library/{name}" for name in library},
        "agent": f"/library/agents/{agent}",
        "agent-runs": f"/library/agents/{agent}/runs",
        "agent-versions": f"/library/agents/{agent}/versions",
        "run": f"/library/runs/{run}",
        "review": f"/library/runs/{waiting['id']}",
        "account": "/account",
        "versions": f"/c/{two_versions(stack)}",
        "settings": "/account/settings",
        "personal": "/account/personal",
        "keys": "/account/keys",
        "styleguide": "/styleguide",
    }


def settled(page: Page, url: str) -> None:
    """Open a page and wait until all of it is there."""
    page.goto(url)
    if not url.endswith(tuple(OUTSIDE)) or "/library/" in url:
        expect(page.get_by_role("main").locator("header")).to_be_visible()
    expect(page.get_by_text(re.compile("^(Loading…|Wird geladen …)$"))).to_have_count(0)


def problems(page: Page) -> list[str]:
    """What axe finds serious, each with the first element it concerns."""
    page.evaluate((FRONTEND / "node_modules" / "axe-core" / "axe.min.js").read_text())
    found: dict[str, Any] = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['id']}: {one['help']} ({one['nodes'][0]['html'][:200]}; {one['nodes'][0]['failureSummary']})"
        for one in found["violations"]
        if one["impact"] in SERIOUS
    ]


def too_wide(page: Page) -> list[str]:
    width = page.evaluate(WIDTH)
    most = page.viewport_size["width"] if page.viewport_size else width
    return [f"{width} pixels wide, with room for {most}"] if width > most else []


def english_words(page: Page) -> list[str]:
    """Words of the English catalogue that a German page shows."""
    english = catalogue("en") - catalogue("de")
    return sorted(english.intersection(page.evaluate(SAID)))


def catalogue(language: str) -> set[str]:
    """The texts of a language that are said as they stand."""
    files = sorted((FRONTEND / "src" / "i18n" / language).glob("*.ts"))
    texts = [one or other for file in files for one, other in ENTRY.findall(file.read_text())]
    assert len(texts) > 300, "the catalogue is read"
    return {text for text in texts if "{" not in text and "|" not in text}
