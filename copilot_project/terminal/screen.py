"""Show a turn in the terminal: its text as it arrives, and one line for each other event."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from typing import Any, TextIO

from copilot_project.terminal.sanitize import Cleaner, clean
from copilot_project.terminal.stream import Chunk

DIM, PLAIN = "\x1b[2m", "\x1b[0m"
ARGUMENT_CHARACTERS = 200
NOTE_CHARACTERS = 2_000  # a sentence is shown whole; a terminal wraps it
GOING_ON = {"operation_started", "operation_accepted", "operation_in_progress", "operation_pending"}
RUNS = {"QUEUED", "RUNNING", "queued", "running", "started"}
TAKEN_OVER = "The answer was interrupted and continues from here."


class Screen:
    """Shows chunks. On a terminal, text appears at once and void text is erased. Into a pipe, where nothing can be
    erased, the answer is written at the end and notes go to standard error."""

    def __init__(
        self, out: TextIO = sys.stdout, notes: TextIO = sys.stderr, *, live: bool | None = None
    ) -> None:
        self.out = out
        self.notes = notes
        self.live = out.isatty() if live is None else live
        self.outcome = ""
        self.asked: list[str] = []  # reviews that wait for the person
        self.pending: set[str] = set()  # calls whose work goes on after the answer
        self._steps: list[str] = []  # the text of each step
        self._shown: list[str] = [""]  # what the terminal shows: before the first step, then per step
        self._cleaner = Cleaner()
        self._tools: dict[str, str] = {}

    @property
    def text(self) -> str:
        return "\n\n".join(text.strip() for text in self._steps if text.strip())

    def show(self, chunk: Chunk) -> None:
        match chunk:
            case {"type": "start-step"}:
                self._steps.append("")
                self._shown.append("")
            case {"type": "text-start"}:
                self._cleaner = Cleaner()
                self._begin_line()
            case {"type": "text-delta", "delta": str(delta)}:
                self._say(self._cleaner.feed(delta))
            case {"type": "tool-input-available", "toolCallId": call, "toolName": name, "input": value}:
                self._tools[call] = name
                self.note(f"→ {name}({arguments(value)})")
            case {"type": "tool-output-available", "toolCallId": call, "output": output}:
                mark = "…" if chunk.get("preliminary") else "✓"
                self.note(f"{mark} {self._tools.get(call, 'tool')}: {summary(output)}")
                (self.pending.add if goes_on(output) else self.pending.discard)(call)
            case {"type": "tool-output-error" | "tool-input-error", "toolCallId": call, "errorText": text}:
                self.note(f"✗ {self._tools.get(call, 'tool')}: {text}")
            case {"type": "tool-approval-request", "approvalId": str(review)}:
                self.asked.append(review)
                self.note("? This needs your approval: type /approve, /always or /reject.")
            case {"type": "data-status", "data": {"message": str(message)}}:
                self.note(message)
            case {"type": "data-turn", "data": {"reset_to_step": int(step)}}:
                self._reset(step)
            case {"type": "data-turn", "data": {"queue_position": int(position)}}:
                self.note(f"Queued: number {position} in your queue.")
            case {"type": "data-operation" | "data-execution", "data": dict(data)}:
                self.note(progress(data))
            case {"type": "error", "errorText": text}:
                self.outcome = "failed"
                self.note(f"✗ {text}")
            case {"type": "abort"}:
                self.outcome = self.outcome or "cancelled"
                self.note("Stopped. The text so far is kept.")
            case {"type": "finish"}:
                reason = chunk.get("finishReason")
                self.outcome = self.outcome or ("failed" if reason == "error" else "answered")

    def end(self) -> None:
        """End the output of the turn; into a pipe, write the answer now."""
        if not self.live and self.text:
            self.out.write(f"{self.text}\n")
        self._begin_line()
        self.out.flush()

    # --- writing --------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        if not self._steps:
            self._steps.append("")
            self._shown.append("")
        self._steps[-1] += text
        self._write(text)

    def note(self, text: str) -> None:
        """Write a line about what happens, apart from the answer."""
        line = shortened(clean(text).strip().replace("\n", " "), NOTE_CHARACTERS)
        if not self.live:
            self.notes.write(f"{line}\n")
            self.notes.flush()
            return
        self._begin_line()
        self._write(f"{line}\n", dim=True)

    def prompt(self, text: str) -> None:
        """Show the prompt again, below something that came while it waited."""
        if self.live:
            self.out.write(text)
            self.out.flush()

    def _begin_line(self) -> None:
        shown = "".join(self._shown)
        if self.live and shown and not shown.endswith("\n"):
            self._write("\n")

    def _write(self, text: str, *, dim: bool = False) -> None:
        if self.live and text:
            self._shown[-1] += text
            self.out.write(f"{DIM}{text}{PLAIN}" if dim else text)
            self.out.flush()

    def _reset(self, step: int) -> None:
        """Erase what was shown of this step and later ones."""
        if len(self._steps) <= step:
            return
        del self._steps[step:]
        shown, kept = "".join(self._shown), self._shown[: step + 1]
        self._shown = kept
        size = shutil.get_terminal_size()
        up = rows(shown, size.columns) - 1
        if self.live and up < size.lines:
            self.out.write(f"\r\x1b[{up}A\x1b[J" if up else "\r\x1b[J")
            self.out.write("".join(kept))
        elif self.live:
            self.out.write("\n\n" + "".join(kept))
        self.note(TAKEN_OVER)


def goes_on(output: Any) -> bool:
    """Return whether a tool answered before its work has ended, so that another answer follows."""
    if not isinstance(output, dict):
        return False
    if output.get("type") in GOING_ON:
        return True
    told = output.get("type") in ("sub_session_status", "execution_started") and output.get("notify", True)
    return bool(told) and output.get("status") in RUNS


def shortened(text: str, most: int) -> str:
    """Return the text, cut after a whole word if it is longer than `most`."""
    if len(text) <= most:
        return text
    kept = text[:most]
    return f"{kept[: kept.rfind(' ')] if ' ' in kept else kept} …"


def arguments(value: Any) -> str:
    """Return the arguments of a tool call in one line."""
    if not isinstance(value, dict):
        return shortened(str(value), ARGUMENT_CHARACTERS)
    return shortened(", ".join(f"{name}={item!r}" for name, item in value.items()), ARGUMENT_CHARACTERS)


def summary(output: Any) -> str:
    """Return the result of a tool in one line."""
    if isinstance(output, dict) and isinstance(output.get("message"), str):
        return str(output["message"])
    return str(output)


def progress(data: dict[str, Any]) -> str:
    share = data.get("progress")
    percent = f" {share:.0%}" if isinstance(share, int | float) else ""
    words = [str(data[name]) for name in ("tool", "status", "message") if data.get(name)]
    return f"… {' · '.join(words)}{percent}"


def rows(text: str, width: int) -> int:
    """Return the rows that the text takes on a terminal of this width."""
    return sum(max(1, -(-columns(line) // max(width, 1))) for line in text.split("\n"))


def columns(line: str) -> int:
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in line)
    narrow = sum(bool(unicodedata.combining(letter)) for letter in line)
    return len(line) + wide - narrow
