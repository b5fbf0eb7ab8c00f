"""What a person does on the page, as the tests say it."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.harness import as_text

FOCUSED = """() => {
  const at = document.activeElement;
  const role = at.getAttribute('role') || (at.tagName === 'BUTTON' ? 'button' : at.type || at.tagName.toLowerCase());
  return [role, at.getAttribute('aria-label') || at.innerText || ''];
}"""


def send(page: Page, text: str) -> None:
    page.fill("textarea", text)
    page.keyboard.press("Enter")


def script(name: str, *steps: dict[str, object], **step: object) -> str:
    """A message that tells the offline model what to answer: one step, or several."""
    return as_text({"id": name, "steps": list(steps) or [step]})


def answers(page: Page) -> Locator:
    return page.locator("article")


def answer_text(page: Page) -> str:
    """The words of the newest answer, without its buttons and notes."""
    return " ".join(" ".join(answers(page).last.locator(".answer").all_inner_texts()).split())


def counted(number: int) -> str:
    """What the offline model says when a script gives only a number of chunks."""
    return " ".join(str(count) for count in range(number))


def wait_until_idle(page: Page) -> None:
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    expect(answers(page).last).to_have_attribute("aria-busy", "false")


def menu(page: Page, of: str, entry: str) -> None:
    """Choose an entry of a conversation's menu in the list."""
    row = page.get_by_role("navigation").get_by_role("listitem").filter(has_text=of).first
    row.hover()
    row.get_by_role("button").click()
    page.get_by_role("menuitem", name=entry).click()


def walk_to(page: Page, role: str, name: str = "", *, back: bool = False) -> None:
    """Tab until an element of this role and name has the focus."""
    seen = []
    for _ in range(80):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        here = page.evaluate(FOCUSED)
        seen.append(here)
        if here[0] == role and here[1].startswith(name):
            return
    raise AssertionError(f"Nobody gets to {role} {name!r} by Tab; seen {seen}")
