"""A response is one stream: whoever reads it, whenever and from wherever, gets the same events."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import aclosing
from typing import Any

import pytest

from accounts.models import User
from chat import turns
from chat.events import AttemptStarted, ProseDelta, ProseStarted, ToolInputDelta
from chat.models import Session, Turn
from chat.protocol import Framed
from chat.turn_options import ClientRequest, TurnOptions
from chat.turns import Input
from doors.openai import streams
from durable import jobs
from durable.models import EventPage
from durable.redis import client
from llm.types import ToolSpec
from tests.chat.delivery.fake_worker import FakeWorker
from tests.harness import eventually

READ_SECONDS = 60
ResponseEventJson = dict[str, Any]


class ResponseReaders:
    """Readers of responses on one event loop, as in a web process."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def read(self, turn: Turn, after: int = -1) -> ResponseReader:
        return ResponseReader(self.loop, turn, after)

    def read_all(self, turn: Turn, after: int = -1) -> list[ResponseEventJson]:
        return self.read(turn, after).result()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(READ_SECONDS)
        self.loop.close()


class ResponseReader:
    """One client that reads one response."""

    def __init__(self, loop: asyncio.AbstractEventLoop, turn: Turn, after: int) -> None:
        self.after = after
        self.events: list[ResponseEventJson] = []
        self._done: Future[None] = asyncio.run_coroutine_threadsafe(self._run(turn), loop)

    async def _run(self, turn: Turn) -> None:
        lines = streams.response_lines(turn, is_new=False, after=self.after)
        async with asyncio.timeout(READ_SECONDS), aclosing(lines) as open_lines:
            async for text in open_lines:
                for event in text.split("\n\n")[:-1]:
                    self.events.append(json.loads(event.split("\ndata: ", 1)[1]))

    def saw(self, text: str) -> None:
        eventually(lambda: text in json.dumps(self.events), what=f"the event with {text!r}")

    @property
    def numbers(self) -> list[int]:
        return [event["sequence_number"] for event in list(self.events)]

    def result(self) -> list[ResponseEventJson]:
        self._done.result(READ_SECONDS)
        return self.events


@pytest.fixture
def readers() -> Iterator[ResponseReaders]:
    found = ResponseReaders()
    yield found
    found.close()


@pytest.fixture
def turn(transactional_db: None, redis_server: object) -> Turn:
    user = User.objects.create_user("ada", password="correct horse battery")
    tool = ToolSpec(name="client_look", description="", parameters={"type": "object"})
    request = ClientRequest(options=TurnOptions(tools=(tool,)))
    session = Session.objects.create(user=user)
    return turns.submit(session, Input(text="Hello", request=request)).turn


Pause = Callable[[str], None]


def begin(turn: Turn) -> FakeWorker:
    """Commit a step, then leave half of a text and half of a call open."""
    worker = FakeWorker(turn, owner="first")
    worker.open_step()
    worker.say("kept ", "text", kind="reasoning", apart=True)
    worker.ask_for("c1", "look", "{}")
    worker.commit_step()
    worker.answer_call("c1", {"n": 1})
    worker.open_step()
    worker.emit(ProseStarted("text", "s1-p0"))
    for piece in ("aban", "doned ä\u2028", 'half"'):
        worker.emit(ProseDelta("text", "s1-p0", piece))
        worker.settle()
    worker.ask_for("c2", "client_look", "{}")
    worker.emit(ToolInputDelta("c2", '{"a'))
    worker.settle()
    return worker


def end(worker: FakeWorker, text: str) -> None:
    worker.parts = []
    worker.open_step()
    worker.say(text, " at last", apart=True)
    worker.finish()


def killed(turn: Turn, pause: Pause) -> None:
    first = begin(turn)
    pause("half")
    first.die()
    second = FakeWorker(turn, owner="second")
    second.open_step()
    second.emit(ProseStarted("text", "s1-p0"), ProseDelta("text", "s1-p0", "second"))
    second.settle()
    pause("second")
    second.die()
    end(FakeWorker(turn, owner="third"), "instead")


def handed_over(turn: Turn, pause: Pause) -> None:
    first = begin(turn)
    pause("half")
    first.lease.hand_over()
    client().flushall()
    pause("half")
    end(FakeWorker(turn, owner="second"), "instead")


def asked_again(turn: Turn, pause: Pause) -> None:
    worker = begin(turn)
    pause("half")
    worker.lease.emitter.reset(Framed(AttemptStarted(1, 1)))
    pause("incomplete")
    client().flushall()
    end(worker, "instead")


def asked_again_and_killed(turn: Turn, pause: Pause) -> None:
    worker = begin(turn)
    worker.lease.emitter.reset(Framed(AttemptStarted(1, 1)))
    worker.open_step()
    worker.emit(ProseStarted("text", "s1-p0"), ProseDelta("text", "s1-p0", "again"))
    worker.settle()
    pause("again")
    worker.die()
    end(FakeWorker(turn, owner="second"), "instead")


def ended_without_a_worker(turn: Turn, pause: Pause) -> None:
    worker = begin(turn)
    worker.lease.emitter.reset(Framed(AttemptStarted(1, 1)))
    worker.open_step()
    worker.emit(ProseStarted("text", "s1-p0"), ProseDelta("text", "s1-p0", "again"))
    worker.settle()
    pause("again")
    worker.die()
    jobs.force_cancel(Turn, turn.pk)


@pytest.mark.parametrize(
    "story",
    [killed, handed_over, asked_again, asked_again_and_killed, ended_without_a_worker],
    ids=lambda story: story.__name__,
)
def test_every_place_resumes_to_the_uncut_stream(
    turn: Turn, readers: ResponseReaders, story: Callable[[Turn, Pause], None]
) -> None:
    uncut = readers.read(turn)
    resumed: list[ResponseReader] = []

    def pause(text: str) -> None:
        """Let a reader resume at each event so far, while the turn is running."""
        uncut.saw(text)
        resumed.extend(readers.read(turn, number) for number in [-1, *uncut.numbers])

    story(turn, pause)
    whole = uncut.result()
    numbers = [event["sequence_number"] for event in whole]
    assert numbers == sorted(set(numbers))
    check_items(whole)
    for one in resumed:
        assert one.result() == [event for event in whole if event["sequence_number"] > one.after]
    for place, number in enumerate([-1, *numbers]):
        assert readers.read_all(turn, number) == whole[place:]
    client().flushall()
    for place, number in enumerate([-1, *numbers]):
        assert readers.read_all(turn, number) == whole[place:]


def check_items(events: list[ResponseEventJson]) -> None:
    """Each item is opened once and closed once, what is abandoned as incomplete."""
    opened = [event["item"]["id"] for event in events if event["type"] == "response.output_item.added"]
    closed = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert sorted(opened) == sorted(item["id"] for item in closed)
    assert len(set(opened)) == len(opened)
    abandoned = [item for item in closed if item["status"] == "incomplete"]
    assert {"message", "function_call"} <= {item["type"] for item in abandoned}


def test_reader_whose_events_were_deleted_gets_the_end(turn: Turn, readers: ResponseReaders) -> None:
    end(begin_again(turn), "instead")
    whole = readers.read_all(turn)
    client().flushall()
    EventPage.objects.filter(job_id=turn.pk).delete()
    turn.refresh_from_db()
    remade = readers.read_all(turn)
    assert remade[-1]["response"] == whole[-1]["response"]
    for place, event in enumerate(remade):
        assert readers.read_all(turn, event["sequence_number"]) == remade[place + 1 :]
    for event in whole[2:]:
        rest = readers.read_all(turn, event["sequence_number"])
        assert [one["type"] for one in rest] == ["response.completed"]
        assert rest[-1]["response"] == whole[-1]["response"]


def begin_again(turn: Turn) -> FakeWorker:
    first = begin(turn)
    first.die()
    return FakeWorker(turn, owner="second")
