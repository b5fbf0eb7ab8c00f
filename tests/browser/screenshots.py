"""Make the pictures in docs/images: `python -m tests.browser.screenshots`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from copilot_project.embedded import ui
from tests.browser.conftest import PROGRAMS, log_in
from tests.rig import ROOT, running_stack

PICTURES = ROOT / "docs" / "images"


def main() -> None:
    if ui.state() != "fresh":
        ui.build()
    PICTURES.mkdir(exist_ok=True)
    program = next(found for name in PROGRAMS if (found := shutil.which(name)))
    home = Path(tempfile.mkdtemp(prefix="rs-"))
    with running_stack(home / "s", workers=1) as stack, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(60_000)
        log_in(page, stack)
        page.screenshot(path=PICTURES / "welcome.png")
        page.fill("textarea", "What can you do?")
        page.keyboard.press("Enter")
        page.wait_for_selector("article >> text=offline")
        page.get_by_role("button", name="Stop").wait_for(state="detached")
        page.fill("textarea", "Show me a markdown table")
        page.keyboard.press("Enter")
        page.wait_for_selector("article table")
        page.get_by_role("button", name="Stop").wait_for(state="detached")
        page.screenshot(path=PICTURES / "chat.png")
        browser.close()


if __name__ == "__main__":
    main()
