"""Look at every page in every theme, language and size: `python -m tests.system.browser.matrix [FOLDER]`.

Prints what is wrong (axe, too wide, the wrong language) and ends with 1 if anything is. With a folder it takes
pictures, too.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, ViewportSize, expect, sync_playwright

from copilot_project.launcher import ui
from tests.harness import Stack, running_stack
from tests.system.browser.conftest import launch, log_in
from tests.system.browser.pages import (
    DESK,
    OUTSIDE,
    PHONE,
    all_pages,
    english_words,
    problems,
    settled,
    too_wide,
)
from tests.system.browser.samples import spend_for_a_month

THEMES = ("light", "dark")
LANGUAGES = ("en-US", "de-DE")
SIZES = {"desk": DESK, "phone": PHONE}


def main(folder: Path | None) -> int:
    if ui.state() != "fresh":
        ui.build()
    expect.set_options(timeout=60_000)
    with (
        tempfile.TemporaryDirectory(prefix="rm-") as home,
        running_stack(Path(home) / "s", workers=1) as stack,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        spend_for_a_month(stack)
        places = all_pages(stack) | {place.strip("/"): place for place in OUTSIDE}
        wrong = [
            line
            for theme, language, (size, viewport) in itertools.product(THEMES, LANGUAGES, SIZES.items())
            for line in look(browser, stack, places, theme, language, size, viewport, folder)
        ]
        browser.close()
    print("\n".join(wrong) or "Nothing is wrong.")
    return 1 if wrong else 0


def look(
    browser: Browser,
    stack: Stack,
    places: dict[str, str],
    theme: str,
    language: str,
    size: str,
    viewport: ViewportSize,
    folder: Path | None,
) -> list[str]:
    context = browser.new_context(viewport=viewport, locale=language)
    page = context.new_page()
    log_in(page, stack)
    page.evaluate(f"localStorage.setItem('ratchet.theme', '{theme}')")
    wrong = []
    for name, place in places.items():
        settled(page, stack.url() + place)
        found = problems(page) + too_wide(page)
        if language == "de-DE" and place not in OUTSIDE:
            found += [f"in English: {words!r}" for words in english_words(page)]
        wrong += [f"{name}, {theme}, {language}, {size}: {line}" for line in found]
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=folder / f"{name}-{size}-{theme}-{language[:2]}.png", animations="disabled")
    context.close()
    return wrong


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
