"""The websocket /v1/responses: `response.create` and `response.steer`, many responses on one socket."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

from django.db import InterfaceError, OperationalError

from accounts.api_keys import find_key
from accounts.logins import login_of
from chat import limits as chat_limits
from chat import protocol, turns
from chat.delivery import reader
from chat.delivery.authentication import AuthenticatedClient, bearer_in
from chat.delivery.consumer import CloseCode, SocketClosed, SocketConsumer
from chat.models import Turn
from chat.threads import in_thread
from chat.turn_options import ClientRequest, TurnOptions
from chat.turns import Input, Submitted
from doors.openai import (
    access,
    agent_runs,
    errors,
    identity,
    ids,
    model_names,
    responses_request,
    streams,
    submission,
    views,
)
from doors.openai.access import Caller
from doors.openai.asked import ClientAsk
from doors.openai.errors import OpenAIError, UnusableRequest
from doors.openai.response_events import BARE
from durable.event_log import encode

logger = logging.getLogger(__name__)

ABSORBED = '"absorbed_by"'
PATH = "/v1/responses"


class ResponsesConsumer(SocketConsumer):
    """Streams each response in a task of its own. A lost connection ends the tasks, never a turn."""

    channel_layer_alias = ""  # a turn's events come through the hub, and nothing else is sent here
    caller: Caller

    async def connect(self) -> None:
        self.streaming = 0
        await super().connect()

    async def _authenticate(self) -> AuthenticatedClient:
        """Return the owner of the API key; no cookie and no ticket opens this socket."""
        key = bearer_in(self.scope)  # type: ignore[arg-type]
        try:
            found = await in_thread(find_key, key or "")
        except (OperationalError, InterfaceError):
            raise SocketClosed(CloseCode.TRY_LATER) from None
        if found is None:
            raise SocketClosed(CloseCode.NOT_LOGGED_IN)
        self.caller = Caller(user=found.user, key=found)
        return AuthenticatedClient(owner=self.caller.owner, login=login_of(found.user, api_key_id=found.pk))

    async def receive_text(self, text: str) -> None:
        await self.check_login()
        if self.streaming >= chat_limits.MAX_REQUESTS_PER_SOCKET:
            raise SocketClosed(CloseCode.TOO_MANY)
        self.streaming += 1
        self.start(self._serve(text))

    async def _serve(self, text: str) -> None:
        try:
            frame = await views.parsed(text.encode("utf-8", "surrogatepass"))
            match frame.get("type"):
                case "response.create":
                    await self._create(frame, text)
                case "response.steer":
                    await self._steer(frame)
                case _:
                    raise UnusableRequest("`type` must be response.create or response.steer.", param="type")
        except SocketClosed:
            raise
        except Exception as error:  # noqa: BLE001 - the API's exception handler; other responses go on
            await self._send_error(errors.translate(error))
        finally:
            self.streaming -= 1

    async def _send_error(self, error: OpenAIError) -> None:
        body = {"type": "error", "status": int(error.status), "sequence_number": 0, "error": error.body()}
        await self.send(
            text_data=encode(body | {"code": error.code, "message": error.message, "param": error.param})
        )

    async def _create(self, frame: Mapping[str, Any], text: str) -> None:
        await in_thread(access.count_request, self.caller)
        body = {name: value for name, value in frame.items() if name not in ("type", "stream_id")}
        asked = responses_request.read(body | {"stream": True})
        known = identity.identify(PATH, text.encode(), {}, asked.metadata)
        named = await in_thread(model_names.find, self.caller, asked.model)
        if named.agent is not None:
            run = partial(agent_runs.run, self.caller, named.agent, asked, known)
            execution = await in_thread(run)
            await self._send_all(agent_runs.response_events(execution, asked.model, framing=BARE))
            return
        submitted = await in_thread(submission.submit, self.caller, asked, known)
        await self._stream(submitted.turn, is_new=submitted.created)

    async def _stream(self, turn: Turn, *, is_new: bool) -> None:
        await self._send_all(streams.response_events(turn, is_new=is_new, framing=BARE))

    async def _send_all(self, events: AsyncGenerator[Iterable[str]]) -> None:
        async with aclosing(events) as batches:
            async for batch in batches:
                for event in batch:
                    await self.send(text_data=event)

    # --- steering ---------------------------------------------------------------------------------

    async def _steer(self, frame: Mapping[str, Any]) -> None:
        """Give the running response another message. It joins before the next step, or is answered after the end."""
        try:
            submitted = await in_thread(self._submit_steer, frame)
        except OpenAIError as error:
            failed = {"code": error.code or "invalid_input", "message": error.message, "type": errors.INVALID}
            steer = {"input": frame.get("input"), "previous_response_id": frame.get("previous_response_id")}
            event = {"type": "response.steer.failed", "sequence_number": 0, "error": failed, "steer": steer}
            await self.send(text_data=encode(event))
            return
        steer = {
            "id": f"steer_{submitted.turn.pk.hex}",
            "previous_response_id": frame["previous_response_id"],
        }
        accepted = {"type": "response.steer.accepted", "sequence_number": 0, "steer": steer}
        await self.send(text_data=encode(accepted))
        if not await was_absorbed(submitted.turn):
            await self._stream(submitted.turn, is_new=False)

    def _submit_steer(self, frame: Mapping[str, Any]) -> Submitted:
        access.count_request(self.caller)
        turn = submission.turn_of(self.caller, str(frame.get("previous_response_id")))
        if turn is None:
            raise UnusableRequest("There is no such response.", code="response_not_found")
        if turn.is_terminal:
            raise UnusableRequest("The response has ended.", code="response_already_completed")
        asked: ClientAsk = responses_request.read({"model": "copilot", "input": frame.get("input")})
        submission.check_sizes(asked)
        if not asked.has_message or asked.history or asked.files:
            raise UnusableRequest("Steering takes one message of the user, as text.", code="invalid_input")
        options = TurnOptions(
            echo=dict(TurnOptions.of(turn).echo) | {"previous_response_id": ids.response_id(turn.pk)}
        )
        given = Input(
            text=asked.text,
            while_running=Turn.Mode.STEER,
            permissions=self.caller.permissions(),
            model=turn.asked_model,
            request=ClientRequest(options=options, api_key_id=self.caller.key.pk),
        )
        return turns.submit(turn.session, given)


async def was_absorbed(turn: Turn) -> bool:
    """Wait until a steering message was taken up by the running turn, or starts a turn of its own."""
    async with aclosing(reader.read(turn.pk)) as batches:
        async for batch in batches:
            bodies = [entry.body for entry in batch if not protocol.is_hint(entry.body)]
            if any(ABSORBED in body for body in bodies if body.startswith(protocol.RESET_MARK)):
                return True
            if any(protocol.is_step_start(body) or protocol.is_end(body) for body in bodies):
                return False
    return False
