"""Answer one message with one tool call and print the product's files that ran: python -m tests.code.walk.

The message is posted to /api/chat as `useChat` does, its turn is run as a worker runs it, and its stream is read to
the end, all in this process. An earlier message warms up what a process loads once. Printed as JSON:

- `files`: every file that ran
- `leading`: those of them that lead on to another file of the product, which a reader follows; the others are leaves,
  such as a clock or a counter, where a name says enough
- `crossings`: the functions of `durable` that `chat` calls and that lead on: where the message passes from one to the
  other
- `facts`: the other functions of `durable` that `chat` calls, which answer by themselves
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

from copilot_project.env import ROOT

PACKAGES = ("accounts", "blocks", "boundary", "chat", "connections", "copilot_project", "doors", "durable",
            "executions", "llm", "tools", "webhooks", "workspace")  # fmt: skip
OWN = {f"{ROOT / package}/": package for package in PACKAGES}
ELSEWHERE = (f"{ROOT / 'llm' / 'offline'}/",)  # the model's side
SECONDS = 60
SCRIPT = {
    "steps": [
        {"tool_calls": [{"id": "c1", "name": "search_docs", "arguments": {"query": "lease"}}]},
        {"text": "Answered."},
    ]
}


class Recorder:
    """Notes which of the product's code objects are called while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.files: set[str] = set()
        self.leading: set[str] = set()
        self.entered: set[tuple[str, str]] = set()
        self.leading_functions: set[tuple[str, str]] = set()

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if not self.on or event != "call":
            return
        name = frame.f_code.co_filename
        package = package_of(name)
        if not package:
            return
        self.files.add(name)
        caller = frame.f_back.f_code.co_filename if frame.f_back is not None else ""
        if caller == name or not package_of(caller):
            return
        self.leading.add(caller)
        self.note_way(frame)
        if package == "durable" and package_of(caller) == "chat":
            self.entered.add((name, frame.f_code.co_qualname))

    def note_way(self, frame: FrameType) -> None:
        """Note the functions through which this file was reached from other files."""
        above = frame.f_back
        while above is not None and package_of(above.f_code.co_filename):
            self.leading_functions.add((above.f_code.co_filename, above.f_code.co_qualname))
            above = above.f_back

    def entries(self, *, leading: bool) -> list[str]:
        """Return the functions of `durable` that `chat` calls: those that lead on, or the others."""
        found = {entry for entry in self.entered if (entry in self.leading_functions) is leading}
        return sorted(f"{relative(name)}:{function}" for name, function in found)


def package_of(name: str) -> str:
    if name.startswith(ELSEWHERE):
        return ""
    return next((package for folder, package in OWN.items() if name.startswith(folder)), "")


def relative(name: str) -> str:
    return name.removeprefix(f"{ROOT}/")


def main() -> None:
    recorder = Recorder()
    threading.setprofile(recorder)
    sys.setprofile(recorder)

    import asyncio
    import json

    import django

    django.setup()
    asyncio.run(converse(recorder))
    recorder.on = False
    found = {
        "files": sorted(map(relative, recorder.files)),
        "leading": sorted(map(relative, recorder.leading)),
        "crossings": recorder.entries(leading=True),
        "facts": recorder.entries(leading=False),
    }
    print(json.dumps(found))


async def converse(recorder: Recorder) -> None:
    from asgiref.sync import sync_to_async
    from django.conf import settings
    from django.test import AsyncClient

    from accounts.models import User
    from durable import limits
    from llm import limits as llm_limits

    settings.ALLOWED_HOSTS = ["testserver"]
    limits.STATUS_CHECK_SECONDS = SECONDS  # profiled code is slow: a reader need not ask after a silent turn
    llm_limits.HEALTH_NOTE_SECONDS = 0  # what is recorded now and then is recorded for this message
    client = AsyncClient()
    user = await sync_to_async(User.objects.create_user)("walker")
    await client.aforce_login(user)
    await answer(client, "first")
    recorder.on = True
    await answer(client, "second")


async def answer(client: Any, name: str) -> None:
    """Post a message, run its turn, read its stream to the end."""
    import asyncio
    import json

    from chat.models import Turn
    from chat.tasks import run_turn

    message = {
        "id": name,
        "role": "user",
        "parts": [{"type": "text", "text": "SCRIPT:\n" + json.dumps(SCRIPT)}],
    }
    response = await client.post("/api/chat", {"id": "chat-1", "messages": [message]}, "application/json")
    assert response.status_code == 200, response
    turn = await Turn.objects.aget(client_id=name)
    worker = asyncio.create_task(asyncio.to_thread(run_turn, str(turn.pk)))
    text = b"".join([piece async for piece in response.streaming_content])
    await asyncio.wait_for(worker, SECONDS)
    assert b'"delta":"Answered."' in text, text
    assert b"tool-output-available" in text, text
    assert text.endswith(b"data: [DONE]\n\n")


if __name__ == "__main__":
    main()
