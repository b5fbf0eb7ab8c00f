"""The terminal chat: safe text, exact resumption, honest ends."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
from typing import Any

import pytest

from copilot_project import limits
from copilot_project.env import ROOT
from copilot_project.terminal import api
from copilot_project.terminal.api import ConnectionLost, SiteRefused
from copilot_project.terminal.conversation import TerminalConversation
from copilot_project.terminal.sanitize import Cleaner, clean
from copilot_project.terminal.screen import Screen, rows
from copilot_project.terminal.stream import TurnEvents, parse_events
from tests.copilot_project.terminal.scripted_site import SESSION, TURN, Script, serving
from tests.harness import eventually

# --- cleaning -----------------------------------------------------------------------------------

NASTY = [
    ("\x1b[31mred\x1b[0m", "red"),
    ("\x1b[2J\x1b[Hgone", "gone"),
    ("\x1b]0;title\x07after", "after"),
    ("\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
    ("\x1b]52;c;ZXZpbA==\x07clip", "clip"),
    ("\x1bPdevice\x1b\\x", "x"),
    ("\x9b31mc1", "c1"),
    ("\x1bcreset", "reset"),
    ("bell\x07 back\x08 return\r null\x00", "bell back return null"),
    ("\u202eevil\u202c", "evil"),
    ("keeps\ttabs\nand lines, ümläuts and 漢字 🙂", "keeps\ttabs\nand lines, ümläuts and 漢字 🙂"),
]


@pytest.mark.parametrize(("text", "wanted"), NASTY)
def test_escape_sequences_are_stripped(text: str, wanted: str) -> None:
    assert clean(text) == wanted


@pytest.mark.parametrize(("text", "wanted"), NASTY)
def test_escape_sequences_are_stripped_wherever_a_delta_ends(text: str, wanted: str) -> None:
    for cut in range(len(text) + 1):
        cleaner = Cleaner()
        assert cleaner.feed(text[:cut]) + cleaner.feed(text[cut:]) == wanted, cut


def test_escape_sequences_are_stripped_one_letter_at_a_time() -> None:
    cleaner = Cleaner()
    text = "".join(text for text, _ in NASTY)
    assert "".join(map(cleaner.feed, text)) == "".join(wanted for _, wanted in NASTY)


def test_an_endless_sequence_does_not_hold_back_the_rest_for_ever() -> None:
    cleaner = Cleaner()
    shown = cleaner.feed("\x1b]0;" + "x" * 5000) + cleaner.feed(" and more")
    assert shown.endswith(" and more")
    assert "\x1b" not in shown


# --- stream -------------------------------------------------------------------------------------


def answer(*texts: str, end: str = "stop") -> list[dict[str, Any]]:
    chunks: list[dict[str, Any]] = [{"type": "start", "messageId": "m1"}, {"type": "start-step"}]
    chunks += [{"type": "text-start", "id": "t0"}]
    chunks += [{"type": "text-delta", "id": "t0", "delta": text} for text in texts]
    chunks += [{"type": "text-end", "id": "t0"}, {"type": "finish-step"}]
    return [*chunks, {"type": "finish", "finishReason": end}]


def read_all(script: Script) -> list[dict[str, Any]]:
    with api.open_client(script.url, "key") as client:
        return list(TurnEvents(client, TURN, sleep=lambda seconds: None))


def test_a_stream_is_read_to_its_end() -> None:
    with serving(Script(chunks=answer("Hello", " there"))) as script:
        assert read_all(script) == script.chunks
        assert script.resumed_after == [""]


def test_a_stream_cut_at_any_byte_is_resumed_without_gap_or_repeat() -> None:
    chunks = answer("one", "two")
    whole = b"".join(Script(chunks=chunks).events(""))
    with serving(Script(chunks=chunks)) as script, api.open_client(script.url, "key") as client:
        for cut in range(1, len(whole)):
            script.cuts = [cut]
            stream = TurnEvents(client, TURN, sleep=lambda seconds: None)
            assert list(stream) == chunks, f"cut after {cut} bytes"


def test_a_stream_cut_again_and_again_goes_on_behind_the_last_event() -> None:
    chunks = answer(*"abcdefgh")
    with serving(Script(chunks=chunks, cuts=[100] * 12)) as script:
        assert read_all(script) == chunks
        assert len(script.resumed_after) > 3
        numbers = [int(after.partition("-")[2]) for after in script.resumed_after if after]
        assert numbers == sorted(numbers)


def test_an_ailing_server_is_asked_again() -> None:
    with serving(Script(chunks=answer("ok"), statuses=[503, 500])) as script:
        assert read_all(script) == script.chunks


def test_a_turn_of_somebody_else_is_refused_in_the_sites_words() -> None:
    with serving(Script(statuses=[404])) as script, pytest.raises(SiteRefused, match="not now"):
        read_all(script)


def test_a_server_that_stays_away_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CHAT_RESUME_SECONDS", 0.0)
    with serving(Script()) as script:
        url = script.url
    with api.open_client(url, "key") as client, pytest.raises(ConnectionLost):
        list(TurnEvents(client, TURN, sleep=lambda seconds: None))


def test_pauses_between_tries_grow_and_are_random() -> None:
    pauses: list[float] = []
    flaky = Script(chunks=answer("ok"), statuses=[503] * 8)
    with serving(flaky), api.open_client(flaky.url, "key") as client:
        list(TurnEvents(client, TURN, sleep=pauses.append))
    assert len(pauses) == 8
    assert all(0 <= pause <= min(0.25 * 2**number, 8) for number, pause in enumerate(pauses))
    assert len(set(pauses)) == 8


def test_an_event_that_was_cut_off_is_not_taken() -> None:
    lines = iter(["id: 1-1", "data: a", "", ": note", "", "id: 1-2", "data: cut"])
    assert list(parse_events(lines)) == [("1-1", "a")]


# --- screen -------------------------------------------------------------------------------------


def shown(chunks: list[dict[str, Any]], *, live: bool) -> tuple[Screen, str, str]:
    out, notes = io.StringIO(), io.StringIO()
    screen = Screen(out, notes, live=live)
    for chunk in chunks:
        screen.show(chunk)
    screen.end()
    return screen, out.getvalue(), notes.getvalue()


def test_text_appears_as_it_comes_on_a_terminal() -> None:
    out = io.StringIO()
    screen = Screen(out, io.StringIO(), live=True)
    seen = []
    for chunk in answer("Hel", "lo"):
        screen.show(chunk)
        seen.append(out.getvalue())
    assert list(dict.fromkeys(seen)) == ["", "Hel", "Hello"]
    assert screen.outcome == "answered"


def test_a_pipe_gets_the_answer_alone_and_notes_go_elsewhere() -> None:
    chunks = answer("All good")
    chunks[2:2] = [
        {
            "type": "tool-input-available",
            "toolCallId": "c",
            "toolName": "find_agent",
            "input": {"query": "news"},
        },
        {"type": "tool-output-available", "toolCallId": "c", "output": {"message": "Found 2 agents."}},
        {"type": "data-status", "data": {"message": "Waiting for the model"}, "transient": True},
    ]
    _, out, notes = shown(chunks, live=False)
    assert out == "All good\n"
    assert notes.splitlines() == [
        "→ find_agent(query='news')",
        "✓ find_agent: Found 2 agents.",
        "Waiting for the model",
    ]


def two_attempts() -> list[dict[str, Any]]:
    kept = [{"type": "start-step"}, {"type": "text-start", "id": "t0"}]
    kept += [{"type": "text-delta", "id": "t0", "delta": "Kept."}, {"type": "finish-step"}]
    void = [{"type": "start-step"}, {"type": "text-start", "id": "t1"}]
    void += [{"type": "text-delta", "id": "t1", "delta": "Half a sen"}]
    again = [{"type": "start-step"}, {"type": "text-start", "id": "t1"}]
    again += [{"type": "text-delta", "id": "t1", "delta": "A whole sentence."}, {"type": "finish-step"}]
    reset = {"type": "data-turn", "data": {"attempt": 2, "reset_to_step": 1}}
    return [{"type": "start"}, *kept, *void, reset, *again, {"type": "finish", "finishReason": "stop"}]


def test_text_of_a_lost_attempt_never_reaches_a_pipe() -> None:
    screen, out, _ = shown(two_attempts(), live=False)
    assert out == "Kept.\n\nA whole sentence.\n"
    assert screen.text == "Kept.\n\nA whole sentence."


def test_text_of_a_lost_attempt_is_taken_back_on_a_terminal() -> None:
    _, out, _ = shown(two_attempts(), live=True)
    assert Terminal().play(out) == [
        "Kept.",
        "The answer was interrupted and continues from here.",
        "A whole sentence.",
    ]


def test_who_waits_in_line_is_told_so() -> None:
    chunks = [{"type": "data-turn", "data": {"attempt": 0, "queue_position": 2}}, *answer("Hi")]
    _, out, notes = shown(chunks, live=False)
    assert out == "Hi\n"
    assert "Queued: number 2 in your queue." in notes


def test_a_first_attempt_takes_nothing_back() -> None:
    chunks = [{"type": "data-turn", "data": {"attempt": 1, "reset_to_step": 0}}, *answer("Hi")]
    _, out, _ = shown(chunks, live=True)
    assert out == "Hi\n"


def test_escapes_in_tool_names_notes_and_errors_are_stripped_too() -> None:
    chunks: list[dict[str, Any]] = [
        {
            "type": "tool-input-available",
            "toolCallId": "c",
            "toolName": "a\x1b[2J",
            "input": {"k": "\x1b[31m"},
        },
        {"type": "data-status", "data": {"message": "\x1b]0;evil\x07note"}},
        {"type": "error", "errorText": "\x1b[5mbad"},
    ]
    screen, _, notes = shown(chunks, live=False)
    assert "\x1b" not in notes
    assert screen.outcome == "failed"


@pytest.mark.parametrize(
    ("chunks", "outcome"),
    [
        (answer("x"), "answered"),
        (answer("x", end="error"), "failed"),
        ([{"type": "error", "errorText": "no"}, {"type": "finish", "finishReason": "error"}], "failed"),
        (
            [{"type": "abort", "reason": "cancelled"}, {"type": "finish", "finishReason": "other"}],
            "cancelled",
        ),
        ([{"type": "something-new"}, {"type": "data-status", "data": {}}], ""),
    ],
)
def test_the_end_of_a_turn_is_told_truthfully(chunks: list[dict[str, Any]], outcome: str) -> None:
    assert shown(chunks, live=False)[0].outcome == outcome


def test_rows_count_wrapped_and_wide_lines() -> None:
    assert rows("", 80) == 1
    assert rows("a" * 81, 80) == 2
    assert rows("漢" * 41, 80) == 2
    assert rows("a\nb\n", 80) == 3


# --- conversation -------------------------------------------------------------------------------


def test_a_message_makes_a_session_and_a_turn_with_a_key() -> None:
    with serving(Script(chunks=answer("Hi"))) as script, api.open_client(script.url, "secret") as client:
        conversation = TerminalConversation(client, make_screen=lambda: Screen(io.StringIO(), io.StringIO()))
        assert conversation.ask("hello") == 0
        assert conversation.ask("again") == 0
    assert [path for path, _, _ in script.seen] == [
        "/api/sessions",
        f"/api/sessions/{SESSION}/turns",
        f"/api/sessions/{SESSION}/turns",
    ]
    assert {auth for _, auth, _ in script.seen} == {"Bearer secret"}
    ids = [body["client_id"] for _, _, body in script.seen[1:]]
    assert len(set(ids)) == 2


def test_the_model_that_was_named_goes_with_every_message() -> None:
    with serving(Script(chunks=answer("Hi"))) as script, api.open_client(script.url, "secret") as client:
        for model in ("far/big", ""):
            screen = Screen(io.StringIO(), io.StringIO())
            TerminalConversation(client, SESSION, model=model, make_screen=lambda: screen).ask("hello")  # noqa: B023
    assert [body.get("model") for _, _, body in script.seen] == ["far/big", None]


def test_a_refusal_is_said_in_the_sites_words_and_the_talk_goes_on() -> None:
    refusal = {"error": {"code": "budget", "message": "Over budget.", "hint": "Wait until tomorrow."}}
    lines, said = iter(["", "hello", "quit"]), list[str]()
    with serving(Script(refuse=(402, refusal))) as script, api.open_client(script.url, "key") as client:
        assert TerminalConversation(client).talk(lambda prompt: next(lines), said.append) == 0
    assert said == ["Over budget. Wait until tomorrow."]


def test_a_refused_field_is_explained() -> None:
    problem = "This model does not exist here."
    refusal = {
        "error": {"code": "invalid", "message": "Please correct: model.", "fields": {"model": [problem]}}
    }
    with (
        serving(Script(refuse=(400, refusal))) as script,
        api.open_client(script.url, "key") as client,
        pytest.raises(SiteRefused, match=f"Please correct: model. {problem}"),
    ):
        TerminalConversation(client, SESSION, model="far/none").ask("hello")


def test_an_answer_that_is_not_ours_is_told_by_its_status() -> None:
    strange = Script(refuse=(502, {"unexpected": 1}))
    with (
        serving(strange),
        api.open_client(strange.url, "key") as client,
        pytest.raises(SiteRefused, match="502"),
    ):
        TerminalConversation(client).ask("hello")


INTERRUPTED = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from copilot_project.terminal.api import open_client
from copilot_project.terminal.conversation import TerminalConversation
with open_client(sys.argv[1], 'key') as client:
    sys.exit(TerminalConversation(client).ask('hello'))
"""


def test_ctrl_c_cancels_the_turn_and_keeps_the_partial_text() -> None:
    partial = answer("Half an ans")[:-3]
    ending = [{"type": "text-end", "id": "t0"}, {"type": "abort", "reason": "cancelled"}]
    chunks = [*partial, *ending, {"type": "finish", "finishReason": "other"}]
    note = {"type": "data-status", "data": {"message": "now"}}
    with serving(
        Script(chunks=[*partial, note, *chunks[len(partial) :]], hold_at=len(partial) + 1)
    ) as script:
        process = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED, script.url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        assert process.stderr.readline() == "now\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert script.cancelled.is_set()
    assert process.returncode == 130
    assert out == "Half an ans\n"


# --- a terminal, small --------------------------------------------------------------------------


TOKENS = re.compile(r"\x1b\[(\d*)([A-Za-z])|(.)", re.DOTALL)


class Terminal:
    """Plays text and the few sequences the screen uses; says what a person would see."""

    def play(self, text: str) -> list[str]:
        lines, row, column = [""], 0, 0
        for number, sequence, letter in TOKENS.findall(text):
            if sequence == "A":
                row -= int(number)
            elif sequence == "J":
                lines[row] = lines[row][:column]
                del lines[row + 1 :]
            elif letter == "\r":
                column = 0
            elif letter == "\n":
                row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
            elif letter:
                lines[row] = lines[row][:column] + letter + lines[row][column + 1 :]
                column += 1
        return [line for line in lines if line]


# --- answers that come later ---------------------------------------------------------------------

LONG_SENTENCE = "This takes a while, and this sentence is told to its very end: " + "word " * 60 + "end."


def long_work() -> list[dict[str, Any]]:
    """Chunks of an answer that starts long work."""
    output = {"type": "operation_started", "message": LONG_SENTENCE, "operation_id": "o1"}
    call = {"type": "tool-input-available", "toolCallId": "c1", "toolName": "create_agent", "input": {}}
    done = {"type": "tool-output-available", "toolCallId": "c1", "output": output}
    return [call, done, *answer("It has begun.")]


def test_answer_that_comes_later_is_printed_and_sentences_are_whole() -> None:
    out, notes = io.StringIO(), io.StringIO()
    with (
        serving(Script(chunks=long_work(), later=answer("It is ready."))) as script,
        api.open_client(script.url, "key") as client,
    ):
        asked = TerminalConversation(client, make_screen=lambda: Screen(out, notes, live=False))
        assert asked.ask("build it") == 0
    assert out.getvalue() == "It has begun.\nIt is ready.\n"
    assert LONG_SENTENCE in notes.getvalue()
    assert "goes on in the background" in notes.getvalue()


def test_answer_that_comes_later_is_shown_while_the_prompt_waits() -> None:
    out = io.StringIO()
    with (
        serving(Script(chunks=long_work(), later=answer("It is ready."))) as script,
        api.open_client(script.url, "key") as client,
    ):
        lines = iter(["build it"])

        def read_line(prompt: str) -> str:
            if line := next(lines, ""):
                return line
            eventually(lambda: "It is ready." in out.getvalue() and out.getvalue().endswith("> "))
            return "/exit"

        talk = TerminalConversation(client, make_screen=lambda: Screen(out, live=True)).talk
        assert talk(read_line, print) == 0
    assert out.getvalue().index("It has begun.") < out.getvalue().index("It is ready.")


def test_answer_without_long_work_is_not_waited_for() -> None:
    with serving(Script(chunks=answer("Done."))) as script, api.open_client(script.url, "key") as client:
        screen = Screen(io.StringIO(), io.StringIO(), live=False)
        assert TerminalConversation(client, make_screen=lambda: screen).ask("hello") == 0
    assert screen.pending == set()
    assert script.looks == 1


def test_long_argument_is_cut_after_a_whole_word() -> None:
    notes = io.StringIO()
    call = {"toolCallId": "c1", "toolName": "say", "input": {"text": "word " * 100}}
    Screen(io.StringIO(), notes, live=False).show({"type": "tool-input-available", **call})
    assert re.fullmatch(r"→ say\(text='(word )+ ?…\)\n", notes.getvalue())
