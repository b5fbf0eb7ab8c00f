"""The websockets through Channels' test client: frames, requests side by side, limits, logins."""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from channels.testing import WebsocketCommunicator
from django.conf import settings as site
from django.test import Client
from pytest_django import Settings

from accounts import tokens
from accounts.api_keys import create_api_key, find_key, revoke_key
from accounts.models import User
from chat import limits as chat_limits
from chat import turns
from chat.delivery import consumer
from chat.models import Session, Turn
from chat.routing import websockets
from durable import storable
from durable.client_push import group_of
from durable.redis import client as redis
from tests.chat.delivery.fake_worker import FakeWorker, answer
from tests.chat.delivery.ui_reducer import Reducer
from tools import limits as tools_limits

OWN_ORIGIN = (b"origin", b"http://localhost")
WAIT = 120


def cookie_of(user: User) -> tuple[bytes, bytes]:
    client = Client()
    client.force_login(user)
    value = client.cookies[site.SESSION_COOKIE_NAME].value
    return (b"cookie", f"{site.SESSION_COOKIE_NAME}={value}".encode())


class Phone:
    """One end of a websocket."""

    def __init__(self, path: str, *headers: tuple[bytes, bytes]) -> None:
        self.line = WebsocketCommunicator(websockets, path, headers=list(headers))

    async def dial(self) -> bool:
        accepted, _ = await self.line.connect(timeout=WAIT)
        return bool(accepted)

    async def say(self, frame: Any) -> None:
        await self.line.send_to(text_data=frame if isinstance(frame, str) else json.dumps(frame))

    async def hear(self) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(await self.line.receive_from(timeout=WAIT))
        return frame

    async def hear_request(self, name: str) -> list[dict[str, Any]]:
        """The frames of one request up to its end; those of others are left out."""
        frames = []
        while True:
            frame = await self.hear()
            if frame["requestId"] == name:
                frames.append(frame)
                if frame["type"] in ("end", "error", "no-active"):
                    return frames

    async def closed_with(self) -> int:
        while True:
            message = await self.line.receive_output(timeout=WAIT)
            if message["type"] == "websocket.close":
                code: int = message["code"]
                return code

    async def hang_up(self) -> None:
        await self.line.disconnect(timeout=WAIT)


@asynccontextmanager
async def call(user: User, path: str = "/ws/chat/") -> AsyncIterator[Phone]:
    phone = Phone(path, OWN_ORIGIN, await sync_to_async(cookie_of)(user))
    assert await phone.dial()
    try:
        yield phone
    finally:
        await phone.hang_up()


def sending(text: str, *, request: str = "r1", chat: str = "chat-1", **more: Any) -> dict[str, Any]:
    message = {"id": f"m-{uuid.uuid4().hex}", "role": "user", "parts": [{"type": "text", "text": text}]}
    return {
        "type": "send",
        "requestId": request,
        "id": chat,
        "trigger": "submit-message",
        "messageId": None,
        "messages": [message],
        "headers": {},
        "body": {},
        "metadata": None,
        **more,
    }


async def next_turn(known: set[uuid.UUID] | None = None) -> Turn:
    for _ in range(1000):
        rows = Turn.objects.filter(status="queued").exclude(pk__in=known or set())
        turn: Turn | None = await sync_to_async(rows.first)()
        if turn is not None:
            return turn
        await asyncio.sleep(0.01)
    raise AssertionError("No turn was queued.")


def reduced(frames: list[dict[str, Any]]) -> Reducer:
    chunks = [frame for frame in frames if frame["type"] == "chunk"]
    assert [frame["sequence"] for frame in chunks] == list(range(len(chunks)))
    reducer = Reducer()
    for frame in chunks:
        reducer.hear(frame["chunk"])
    return reducer


# --- who is let in --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/ws/chat/", "/ws/events/"])
@pytest.mark.parametrize(
    "origin",
    [
        None,
        b"null",
        b"https://evil.example",
        b"http://localhost.evil.com",
        b"http://evil.com/localhost",
        b"http://evil-localhost",
        b"",
    ],
)
async def test_cookies_from_a_page_of_another_site_are_refused(
    ada: User, path: str, origin: bytes | None
) -> None:
    headers = [await sync_to_async(cookie_of)(ada)]
    if origin is not None:
        headers.append((b"origin", origin))
    assert not await Phone(path, *headers).dial()


@pytest.mark.parametrize("path", ["/ws/chat/", "/ws/events/"])
async def test_without_a_login_the_socket_closes_with_4401_and_says_nothing(
    transactional_db: None, path: str
) -> None:
    phone = Phone(path, OWN_ORIGIN)
    assert await phone.dial()
    message = await phone.line.receive_output(timeout=WAIT)
    assert message == {"type": "websocket.close", "code": 4401}


async def test_an_unknown_address_is_refused(ada: User) -> None:
    assert not await Phone("/ws/other/", OWN_ORIGIN, await sync_to_async(cookie_of)(ada)).dial()


async def test_a_ticket_opens_one_socket_once_from_anywhere(ada: User) -> None:
    ticket = await sync_to_async(tokens.issue_ticket)(ada)
    phones = [Phone(f"/ws/chat/?ticket={ticket}", (b"origin", b"https://app.example")) for _ in range(5)]
    assert all(await asyncio.gather(*(phone.dial() for phone in phones)))

    async def is_in(phone: Phone) -> bool:
        await phone.say({"type": "resume", "requestId": "r", "id": "new"})
        output = await phone.line.receive_output(timeout=WAIT)
        return bool(output["type"] == "websocket.send")

    assert sorted(await asyncio.gather(*map(is_in, phones))) == [False] * 4 + [True]
    late = Phone(f"/ws/chat/?ticket={ticket}")
    await late.dial()
    assert await late.closed_with() == 4401
    for phone in phones:
        await phone.hang_up()


@pytest.mark.parametrize("query", ["ticket=", "ticket=nonsense", "token=rk_1", "api_key=x"])
async def test_anything_else_in_the_address_opens_nothing(ada: User, query: str) -> None:
    phone = Phone(f"/ws/chat/?{query}", OWN_ORIGIN)
    assert await phone.dial()
    assert await phone.closed_with() == 4401


async def test_a_bad_ticket_does_not_fall_back_to_the_cookie(ada: User) -> None:
    phone = Phone("/ws/chat/?ticket=old", OWN_ORIGIN, await sync_to_async(cookie_of)(ada))
    assert await phone.dial()
    assert await phone.closed_with() == 4401


async def test_a_program_comes_in_by_key_without_an_origin(ada: User) -> None:
    key = await sync_to_async(create_api_key)(ada, "program")
    phone = Phone("/ws/chat/", (b"authorization", f"Bearer {key}".encode()))
    assert await phone.dial()
    await phone.say({"type": "resume", "requestId": "r", "id": "new"})
    assert await phone.hear() == {"type": "no-active", "requestId": "r"}
    await phone.hang_up()
    wrong = Phone("/ws/chat/", (b"authorization", b"Bearer rk_wrong"))
    await wrong.dial()
    assert await wrong.closed_with() == 4401


async def test_a_visitor_comes_in_where_visitors_are_welcome(
    transactional_db: None, settings: Settings
) -> None:
    from rest_framework.test import APIClient

    settings.COPILOT_ALLOW_ANONYMOUS = True
    client = APIClient()
    made = await sync_to_async(client.post)("/api/sessions", {}, format="json")
    name = settings.COPILOT_VISITOR_COOKIE
    cookie = (b"cookie", f"{name}={client.cookies[name].value}".encode())
    phone = Phone("/ws/chat/", OWN_ORIGIN, cookie)
    assert await phone.dial()
    await phone.say(sending("Hi", chat=made.json()["id"]))
    await sync_to_async(answer)(await next_turn())
    assert reduced(await phone.hear_request("r1")).finishes == 1
    await phone.hang_up()
    settings.COPILOT_ALLOW_ANONYMOUS = False
    late = Phone("/ws/chat/", OWN_ORIGIN, cookie)
    await late.dial()
    assert await late.closed_with() == 4401


@pytest.mark.parametrize("origin", [b"https://evil.example", OWN_ORIGIN[1]])
@pytest.mark.parametrize(
    ("query", "authorization"), [("?ticket=", b""), ("?ticket=&ticket=x", b""), ("", b"Bearer ")]
)
async def test_an_empty_ticket_or_key_does_not_fall_back_to_a_visitors_cookie(
    transactional_db: None, settings: Settings, query: str, authorization: bytes, origin: bytes
) -> None:
    settings.COPILOT_ALLOW_ANONYMOUS = True
    value = await sync_to_async(visitor_cookie)()
    cookie = (b"cookie", f"{settings.COPILOT_VISITOR_COOKIE}={value}".encode())
    phone = Phone(f"/ws/chat/{query}", (b"origin", origin), (b"authorization", authorization), cookie)
    assert await phone.dial()
    assert await phone.closed_with() == 4401


def visitor_cookie() -> str:
    from rest_framework.test import APIClient

    client = APIClient()
    client.post("/api/sessions", {}, format="json")
    return client.cookies[site.COPILOT_VISITOR_COOKIE].value


# --- a login that ends ----------------------------------------------------------------------------


def change_password(user: User) -> None:
    user.set_password("another horse")
    user.save()


def deactivate(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def log_out(user: User) -> None:
    from django.contrib.sessions.models import Session as LoginSession

    LoginSession.objects.all().delete()


@pytest.mark.parametrize("end", [change_password, deactivate, log_out])
@pytest.mark.parametrize("path", ["/ws/chat/", "/ws/events/"])
async def test_a_socket_closes_when_its_login_ends(
    ada: User, path: str, end: Callable[[User], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_limits, "SOCKET_CHECK_SECONDS", 0.1)
    async with call(ada, path) as phone:
        await sync_to_async(end)(ada)
        assert await phone.closed_with() == 4401


def test_logins_are_looked_at_at_least_once_a_minute() -> None:
    assert chat_limits.SOCKET_CHECK_SECONDS <= 60


async def test_the_next_frame_after_a_login_ended_closes_the_socket(ada: User) -> None:
    async with call(ada) as phone:
        await sync_to_async(change_password)(ada)
        await phone.say(sending("Hi"))
        assert await phone.closed_with() == 4401
    assert not await Turn.objects.aexists()


async def test_a_revoked_key_ends_its_sockets(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_limits, "SOCKET_CHECK_SECONDS", 0.1)
    key = await sync_to_async(create_api_key)(ada, "program")
    phone = Phone("/ws/events/", (b"authorization", f"Bearer {key}".encode()))
    assert await phone.dial()
    row = await sync_to_async(find_key)(key)
    assert row is not None
    await sync_to_async(revoke_key)(row)
    assert await phone.closed_with() == 4401


# --- /ws/chat/ ------------------------------------------------------------------------------------


async def test_a_message_is_sent_and_streamed(ada: User) -> None:
    async with call(ada) as phone:
        await phone.say(sending("Hi"))
        await sync_to_async(answer)(await next_turn(), "Hello", " you")
        frames = await phone.hear_request("r1")
    assert frames[0] == {"type": "start", "requestId": "r1"}
    assert frames[-1] == {"type": "end", "requestId": "r1"}
    message = reduced(frames)
    assert (message.starts, message.finishes) == (1, 1)
    assert message.parts[1]["text"] == "Hello you"


async def test_many_requests_share_one_socket(ada: User) -> None:
    async with call(ada) as phone:
        names = [f"r{n}" for n in range(5)]
        for name in names:
            await phone.say(sending(f"question {name}", request=name, chat=f"chat-{name}"))
        for _ in names:
            turn = await next_turn()
            text = (await turn.messages.aget(role="user")).text
            await sync_to_async(answer)(turn, f"answer to {text}")
        frames: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        while not all(of and of[-1]["type"] == "end" for of in frames.values()):
            frame = await phone.hear()
            frames[frame["requestId"]].append(frame)
    for name, own in frames.items():
        assert reduced(own).parts[1]["text"] == f"answer to question {name}"


async def test_resume_replays_from_the_start_and_goes_on_live(ada: User, turn: Turn) -> None:
    worker = await sync_to_async(FakeWorker)(turn)
    await sync_to_async(worker.open_step)()
    await sync_to_async(worker.say)("so far ", apart=True)
    async with call(ada) as phone:
        await phone.say({"type": "resume", "requestId": "r", "id": str(turn.session_id)})
        assert (await phone.hear())["type"] == "start"
        await sync_to_async(worker.say)("and more")
        await sync_to_async(worker.finish)()
        message = reduced(await phone.hear_request("r"))
    assert [part["text"] for part in message.parts[1:]] == ["so far ", "and more"]
    assert (message.starts, message.finishes) == (1, 1)


async def test_resume_of_an_idle_session_is_no_active(ada: User, session: Session) -> None:
    async with call(ada) as phone:
        for key in (str(session.pk), "never-heard-of"):
            await phone.say({"type": "resume", "requestId": key, "id": key})
            assert await phone.hear() == {"type": "no-active", "requestId": key}


async def test_anothers_session_is_answered_like_one_that_does_not_exist(bob: User, turn: Turn) -> None:
    async with call(bob) as phone:
        answers = []
        for key in (str(turn.session_id), str(uuid.uuid4())):
            await phone.say({"type": "resume", "requestId": "r", "id": key})
            answers.append(await phone.hear())
        assert answers[0] == answers[1]
        words = "There is nothing here, or it is not yours."
        assert answers[0] == {"type": "error", "requestId": "r", "errorText": words}
        await phone.say(sending("Hi", chat=str(turn.session_id), request="r2"))
        frame = await phone.hear()
        assert (frame["type"], frame["requestId"]) == ("error", "r2")
    assert await Turn.objects.acount() == 1


async def test_abort_cancels_the_turn(ada: User) -> None:
    async with call(ada) as phone:
        await phone.say(sending("Hi"))
        turn = await next_turn()
        assert (await phone.hear())["type"] == "start"
        await phone.say({"type": "abort", "requestId": "r1"})
        message = reduced(await phone.hear_request("r1"))
        assert message.metadata["status"] == "cancelled"
    await turn.arefresh_from_db()
    assert turn.status == "cancelled"


async def test_abort_right_behind_send_cancels_the_turn_too(ada: User) -> None:
    async with call(ada) as phone:
        await phone.say(sending("Hi"))
        await phone.say({"type": "abort", "requestId": "r1"})
        assert reduced(await phone.hear_request("r1")).metadata["status"] == "cancelled"


async def test_abort_of_an_unknown_request_is_nothing(ada: User) -> None:
    async with call(ada) as phone:
        await phone.say({"type": "abort", "requestId": "nobody"})
        await phone.say({"type": "resume", "requestId": "r", "id": "new"})
        assert (await phone.hear())["type"] == "no-active"


async def test_hanging_up_does_not_stop_the_turn(ada: User) -> None:
    async with call(ada) as phone:
        await phone.say(sending("Hi"))
        turn = await next_turn()
        worker = await sync_to_async(FakeWorker)(turn)
        assert (await phone.hear())["type"] == "start"
    await sync_to_async(worker.finish)()
    await turn.arefresh_from_db()
    assert turn.status == "completed"


async def test_a_refused_message_is_an_error_of_its_request_only(ada: User, settings: Settings) -> None:
    async with call(ada) as phone:
        await phone.say(sending(""))
        frame = await phone.hear()
        assert (frame["type"], frame["requestId"]) == ("error", "r1")
        assert "Write something" in frame["errorText"]
        settings.COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER = 0
        await phone.say(sending("Hi", request="r2"))
        assert "too many turns" in (await phone.hear())["errorText"]
        await phone.say({"type": "resume", "requestId": "r", "id": "new"})
        assert (await phone.hear())["type"] == "no-active"
    assert not await Turn.objects.aexists()


@pytest.mark.parametrize(
    ("hostile", "says"),
    [
        ('"a\\u0000b"', "a NUL character (\\u0000)"),
        ('"\\ud800"', "half of a surrogate pair (\\ud800)"),
        ("[" * 101 + "]" * 101, "more than 100 levels"),
    ],
    ids=["nul", "surrogate", "deep"],
)
@pytest.mark.parametrize("field", ["messages", "body"])
async def test_what_no_database_takes_is_refused_as_over_http(
    ada: User, field: str, hostile: str, says: str
) -> None:
    frame = json.dumps(sending("Hi") | {field: [{"parts": "HERE"}]}).replace('"HERE"', hostile)
    async with call(ada) as phone:
        await phone.say(frame)
        heard = await phone.hear()
        assert (heard["type"], heard["requestId"]) == ("error", "r1")
        assert says in heard["errorText"]
        await phone.say({"type": "resume", "requestId": "r", "id": "new"})
        assert (await phone.hear())["type"] == "no-active"
    assert not await Turn.objects.aexists()


async def test_what_an_app_adds_comes_in_body(ada: User) -> None:
    async with call(ada) as phone:
        await phone.say(sending("Hi", body={"client_id": "mine", "while_running": "reject", "theme": "dark"}))
        turn = await next_turn()
        assert (turn.client_id, turn.mode) == ("mine", "reject")


@pytest.mark.parametrize(
    "frame",
    [
        " ",
        "nonsense",
        "[]",
        "5",
        "null",
        '{"type": "send"}',
        '{"type": "send", "requestId": 5, "id": "a"}',
        '{"type": "send", "requestId": "", "id": "a"}',
        '{"type": "send", "requestId": "r"}',
        '{"type": "explode", "requestId": "r", "id": "a"}',
        '{"type": "resume", "requestId": "r", "id": ["a"]}',
        '{"type": "resume", "requestId": "\\ud800", "id": "a"}',
        '{"type": ["send"], "requestId": "r", "id": "a"}',
        json.dumps({"type": "send", "requestId": "r" * 201, "id": "a"}),
        "[" * 100_000,
        '{"a": ' + "9" * 5_000 + "}",
    ],
)
async def test_a_bad_frame_closes_the_socket_with_1008(ada: User, frame: str) -> None:
    async with call(ada) as phone:
        await phone.say(frame)
        assert await phone.closed_with() == 1008


async def test_binary_is_a_bad_frame(ada: User) -> None:
    async with call(ada) as phone:
        await phone.line.send_to(bytes_data=b"\x00\x01")
        assert await phone.closed_with() == 1008


async def test_a_doubled_request_id_is_a_bad_frame(ada: User) -> None:
    async with call(ada) as phone:
        await phone.say(sending("Hi"))
        await phone.say(sending("Hi"))
        assert await phone.closed_with() == 1008


async def test_a_frame_over_the_cap_closes_with_1009(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_limits, "MAX_FRAME_BYTES", 1_000)
    async with call(ada) as phone:
        await phone.say(sending("x" * 2_000))
        assert await phone.closed_with() == 1009


async def test_the_longest_message_fits_a_frame_in_every_encoding(ada: User) -> None:
    frame = sending("\U0001f600" * tools_limits.MAX_MESSAGE_CHARACTERS, chat="emoji")
    assert len(json.dumps(frame, ensure_ascii=False).encode()) <= chat_limits.MAX_FRAME_BYTES
    control = sending("\x01" * tools_limits.MAX_MESSAGE_CHARACTERS, chat="control")
    assert len(json.dumps(control)) <= chat_limits.MAX_FRAME_BYTES
    async with call(ada) as phone:
        await phone.say(json.dumps(frame, ensure_ascii=False))
        turn = await next_turn()
        await sync_to_async(answer)(turn)
        assert reduced(await phone.hear_request("r1")).finishes == 1


async def test_only_short_frames_are_parsed_by_the_event_loop(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JSON parser keeps the interpreter: a frame of the largest size takes it for tens of milliseconds."""
    threads: list[threading.Thread] = []
    parse = storable.loads

    def noting(document: str) -> Any:
        threads.append(threading.current_thread())
        return parse(document)

    monkeypatch.setattr(storable, "loads", noting)
    filling = ["x" * 60 for _ in range((chat_limits.MAX_FRAME_BYTES - 1_000) // 64)]
    async with call(ada) as phone, call(ada) as other:
        for line, body in ((phone, []), (phone, filling), (other, filling)):
            await line.say({"type": "resume", "requestId": "r", "id": "new", "body": body})
            assert await line.hear() == {"type": "no-active", "requestId": "r"}
    loop = threading.current_thread()
    assert [thread is loop for thread in threads] == [True, False, False]
    assert threads[1] is threads[2], "One parses at a time."
    assert chat_limits.MAX_FRAME_BYTES <= 512 * 1024


async def test_more_bytes_than_a_client_may_send_close_with_4429(ada: User) -> None:
    frame = json.dumps({"type": "abort", "requestId": "r", "body": "x" * (chat_limits.MAX_FRAME_BYTES - 100)})
    async with call(ada) as phone:
        for _ in range(2 * chat_limits.SOCKET_BYTES_BURST // chat_limits.MAX_FRAME_BYTES):
            await phone.say(frame)
        assert await phone.closed_with() == 4429


async def test_a_flood_of_frames_closes_with_4429(ada: User) -> None:
    async with call(ada) as phone:
        for _ in range(chat_limits.SOCKET_FRAME_BURST * 3):
            await phone.say({"type": "abort", "requestId": "x"})
        assert await phone.closed_with() == 4429


async def test_too_many_requests_at_once_close_with_4429(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_limits, "MAX_REQUESTS_PER_SOCKET", 2)
    async with call(ada) as phone:
        for n in range(3):
            await phone.say(sending("Hi", request=f"r{n}", chat=f"c{n}"))
        assert await phone.closed_with() == 4429


async def test_a_person_has_so_many_sockets_and_no_more(
    ada: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_limits, "MAX_SOCKETS_PER_USER", 3)
    async with call(ada), call(ada, "/ws/events/"), call(ada) as last:
        more = Phone("/ws/chat/", OWN_ORIGIN, await sync_to_async(cookie_of)(ada))
        assert await more.dial()
        assert await more.closed_with() == 4429
        async with call(bob):
            pass
        await last.hang_up()
        async with call(ada) as again:
            await again.say({"type": "resume", "requestId": "r", "id": "new"})
            assert (await again.hear())["type"] == "no-active"


async def test_a_place_left_by_a_dead_process_is_free_again(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from durable.rate_limit import SlotLimit

    name = "sockets-of-the-dead"
    first = SlotLimit(name, "a", most=1, seconds=0.05)
    assert await first.take()
    second = SlotLimit(name, "b", most=1, seconds=10)
    for _ in range(500):
        if await second.take():
            break
        await asyncio.sleep(0.01)
    else:
        raise AssertionError("The place was never free again.")
    assert not await SlotLimit(name, "c", most=1, seconds=10).take()
    await second.leave()
    assert await SlotLimit(name, "c", most=1, seconds=10).take()


async def test_without_redis_nobody_is_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    from durable import rate_limit

    def away() -> Any:
        raise OSError("Redis is away")

    monkeypatch.setattr(rate_limit, "async_client", away)
    place = rate_limit.SlotLimit("x", "a", most=0, seconds=1)
    assert await place.take()
    await place.keep()
    await place.leave()


async def test_a_database_that_is_away_closes_with_try_later(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    def away(scope: Any) -> None:
        raise OperationalError("away")

    headers = (OWN_ORIGIN, await sync_to_async(cookie_of)(ada))
    monkeypatch.setattr(consumer, "authenticate", away)
    phone = Phone("/ws/chat/", *headers)
    assert await phone.dial()
    assert await phone.closed_with() == 1013


# --- /ws/events/ ----------------------------------------------------------------------------------


async def test_all_devices_of_a_person_hear_of_a_turn_and_nobody_elses(
    ada: User, bob: User, session: Session
) -> None:
    path = "/ws/events/"
    async with call(ada, path) as phone, call(ada, path) as tablet, call(bob, path) as stranger:
        submitted = await sync_to_async(turns.submit)(session, turns.Input(text="Hi"))
        turn_id = str(submitted.turn.pk)
        for device in (phone, tablet):
            frame = await device.hear()
            assert frame["type"] == "turn.queued"
            assert (frame["turn_id"], frame["session_id"]) == (turn_id, str(session.pk))
        await sync_to_async(answer)(submitted.turn)
        while (frame := await phone.hear())["type"] != "turn.finished":
            pass
        assert (frame["turn_id"], frame["status"], frame["end_reason"]) == (turn_id, "completed", "done")
        assert await stranger.line.receive_nothing(timeout=0.2)


async def test_changes_of_a_session_are_pushed(ada: User, session: Session) -> None:
    from rest_framework.test import APIClient

    client = APIClient()
    client.force_authenticate(ada)
    async with call(ada, "/ws/events/") as phone:
        await sync_to_async(client.patch)(f"/api/sessions/{session.pk}", {"title": "New"}, format="json")
        frame = await phone.hear()
        assert (frame["type"], frame["title"], frame["deleted"]) == ("session.updated", "New", False)
        await sync_to_async(client.delete)(f"/api/sessions/{session.pk}")
        assert (await phone.hear())["deleted"] is True


@pytest.mark.parametrize("kind", ["client.push", "doorbell.ring"])
async def test_a_push_is_accepted_under_its_name_and_under_that_of_the_release_before(
    ada: User, kind: str
) -> None:
    layer: Any = get_channel_layer()
    async with call(ada, "/ws/events/") as phone:
        message = {"type": kind, "frame": {"type": "session.updated", "session_id": "1"}}
        await layer.group_send(group_of(f"user:{ada.pk}"), message)
        assert await phone.hear() == message["frame"]


async def test_a_channel_layer_that_is_away_closes_with_try_later(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer: Any = get_channel_layer()

    async def away(*args: Any) -> None:
        raise OSError("Redis is away")

    for step in ("new_channel", "group_add"):
        with monkeypatch.context() as patched:
            patched.setattr(layer, step, away, raising=False)
            phone = Phone("/ws/events/", OWN_ORIGIN, await sync_to_async(cookie_of)(ada))
            assert await phone.dial()
            assert await phone.closed_with() == 1013
    async with call(ada, "/ws/events/"), call(ada):
        pass  # and nothing is left of it


async def test_the_chat_socket_needs_no_channel_layer(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    layer: Any = get_channel_layer()

    async def away(*args: Any) -> None:
        raise OSError("Redis is away")

    monkeypatch.setattr(layer, "new_channel", away, raising=False)
    async with call(ada) as phone:
        await phone.say({"type": "resume", "requestId": "r", "id": "new"})
        assert (await phone.hear())["type"] == "no-active"


async def test_what_a_client_says_to_the_events_means_nothing(ada: User, session: Session) -> None:
    async with call(ada, "/ws/events/") as phone:
        await phone.say("hello?")
        await sync_to_async(turns.submit)(session, turns.Input(text="Hi"))
        assert (await phone.hear())["type"] == "turn.queued"


def test_groups_are_named_by_a_digest_never_by_input() -> None:
    for owner in ("user:1", "visitor:../../x", "user:" + "ü" * 200):
        name = group_of(owner)
        assert name.isascii()
        assert len(name) < 100
        assert name.startswith("owner.")
    assert group_of("user:1") != group_of("user:2")


async def test_a_closed_socket_leaves_nothing_behind(ada: User, turn: Turn) -> None:
    from durable.hub import loop_hub

    worker = await sync_to_async(FakeWorker)(turn)
    before = asyncio.all_tasks()
    async with call(ada) as phone:
        await phone.say({"type": "resume", "requestId": "r", "id": str(turn.session_id)})
        assert (await phone.hear())["type"] == "start"
    async with call(ada, "/ws/events/"):
        pass
    for _ in range(500):
        left = {task for task in asyncio.all_tasks() - before if not task.get_name().startswith("hub")}
        left = {task for task in left if "_do_receiving" not in repr(task)}
        if len(loop_hub()._subscriptions) == 1 and not left:
            break
        await asyncio.sleep(0.01)
    else:
        raise AssertionError(f"Left behind: {left} {loop_hub()._subscriptions}")
    assert redis().zcard("ratchet:places:sockets:user:" + str(ada.pk)) == 0
    await sync_to_async(worker.finish)()
