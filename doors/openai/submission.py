"""Submit a request as a turn: find its conversation, answer pending calls of client tools, join a repeated request."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import IntegrityError

from chat import attachments, turns
from chat import limits as chat_limits
from chat.models import Session, Turn
from chat.turn_options import ClientRequest
from chat.turns import Input, Submitted
from doors.openai import asked as asked_fields
from doors.openai import conversations, ids, model_names
from doors.openai.access import Caller, check_budget
from doors.openai.asked import ClientAsk, ClientToolResult
from doors.openai.conversations import OpenedConversation
from doors.openai.errors import UnusableRequest
from doors.openai.identity import RequestIdentity, earlier_turn, turn_with
from tools import limits as tools_limits
from tools.models import Operation
from tools.operations.completion import complete

BY_CLIENT = "client"


@dataclass(frozen=True, kw_only=True)
class AnsweredCalls:
    """Calls of client tools that a request brings results for, all of one session."""

    session: Session
    operations: Sequence[Operation]


def submit(caller: Caller, asked: ClientAsk, identity: RequestIdentity, *, named: str = "") -> Submitted:
    """Commit the turn of a request. The same request again returns the same turn; see `identity`."""
    if found := earlier_turn(caller, identity):
        return Submitted(turn=found, created=False)
    check_budget(caller)
    check_sizes(asked)
    model = model_names.find(caller, asked.model).model
    answered = answered_calls(caller, asked)
    if answered is not None:
        return go_on(caller, asked, identity, answered, model)
    key = identity.key if identity.is_explicit else ""
    opened = conversations.open_conversation(caller, with_foreign_results(asked), named=named, key=key)
    refuse_unanswered(opened)
    return write(caller, asked, identity, opened, model)


def check_sizes(asked: ClientAsk) -> None:
    if asked.has_message and not asked.text.strip() and not asked.files:
        raise UnusableRequest(
            "The last message is empty. Write something, or attach a file.", param="messages"
        )
    if len(asked.text) > tools_limits.MAX_MESSAGE_CHARACTERS:
        raise UnusableRequest(
            f"The last message has {len(asked.text):,} characters; at most {tools_limits.MAX_MESSAGE_CHARACTERS:,} "
            "are allowed.",
            param="messages",
            code="string_above_max_length",
        )
    if len(asked.files) > chat_limits.MAX_ATTACHMENTS:
        raise UnusableRequest(
            f"A message can have at most {chat_limits.MAX_ATTACHMENTS} files.", param="messages"
        )


def write(
    caller: Caller,
    asked: ClientAsk,
    identity: RequestIdentity,
    opened: OpenedConversation,
    model: str,
    *,
    client_id: str | None = None,
) -> Submitted:
    """Write the turn; a concurrent try of the same request that was faster is joined."""
    echo = dict(asked.options.echo) | {"body_hash": identity.body_hash}
    request = ClientRequest(
        options=replace(asked.options, echo=echo),
        key=identity.key,
        releases_key=not identity.repeats,
        api_key_id=caller.key.pk,
        history_hash=history_hash(asked),
        history=opened.history,
        keep_seconds=opened.keep_seconds,
    )
    given = Input(
        text=asked.text,
        client_id=client_id,
        attachments=saved_files(caller, asked, identity),
        permissions=caller.permissions(),
        model=model,
        is_continuation=not asked.has_message,
        request=request,
    )
    try:
        return turns.submit(opened.session, given)
    except IntegrityError:
        if found := turn_with(caller, identity.key):
            return Submitted(turn=found, created=False)
        raise


def saved_files(caller: Caller, asked: ClientAsk, identity: RequestIdentity) -> list[str]:
    """Save the files of the message; the same request again finds them."""
    if not asked.files:
        return []
    parts = [file.as_part() for file in asked.files]
    found = attachments.save_all(caller.owner, parts, key=f"v1:{identity.key}")
    return attachments.check(caller.owner, found)


def history_hash(asked: ClientAsk) -> str:
    """Return the hash that the history of the next request will have; empty if the client sends only what is new."""
    if asked.previous_response_id or asked.conversation:
        return ""
    results = [
        {"role": "tool", "tool_call_id": result.call_id, "content": result.output} for result in asked.results
    ]
    said = [{"role": "user", "content": asked.text}] if asked.has_message else []
    return asked_fields.hash_of([*asked.history, *results, *said])


# --- results of client tools ------------------------------------------------------------------------


def answered_calls(caller: Caller, asked: ClientAsk) -> AnsweredCalls | None:
    """Return the calls that the results belong to; None if they are of calls that were not made here."""
    wanted = [ids.parse(result.call_id, ids.CALL) for result in asked.results]
    known = [call for call in wanted if call is not None]
    rows = Operation.objects.filter(user=caller.user, for_client=True, pk__in=known) if known else ()
    by_id = {row.pk: row for row in rows}
    if not by_id:
        return None
    missing = [result.call_id for result in asked.results if ids.parse(result.call_id, ids.CALL) not in by_id]
    if missing:
        raise UnusableRequest(f"No tool call found for the result of {missing[0][:100]}.", param="messages")
    session_ids = {row.session_id for row in by_id.values()}
    session = caller.owner.sessions().select_related("user__budget").filter(pk__in=session_ids).first()
    if session is None or len(session_ids) > 1:
        raise UnusableRequest("The results belong to calls of several conversations.", param="messages")
    refuse_missing(list(by_id), {row.turn_id for row in by_id.values()})
    return AnsweredCalls(session=session, operations=[by_id[call] for call in known])


def refuse_missing(answered: Sequence[uuid.UUID], turn_ids: set[uuid.UUID]) -> None:
    """Raise UnusableRequest if another call of the same turn still waits for its result."""
    waiting = Operation.live().filter(turn_id__in=turn_ids, for_client=True).exclude(pk__in=answered)
    open_call = waiting.first()
    if open_call is not None:
        raise no_result(open_call)


def refuse_unanswered(opened: OpenedConversation) -> None:
    """Raise UnusableRequest if the newest turn of the session waits for results and the request brings none."""
    if opened.history is not None:
        return
    newest = conversations.newest_turn(opened.session)
    if newest is None:
        return
    waiting = (
        Operation.live().filter(turn_id=newest.pk, session_id=opened.session.pk, for_client=True).first()
    )
    if waiting is not None:
        raise no_result(waiting)


def no_result(operation: Operation) -> UnusableRequest:
    return UnusableRequest(
        f"No tool output found for function call {ids.CALL}{operation.pk.hex}.", param="input"
    )


def go_on(
    caller: Caller, asked: ClientAsk, identity: RequestIdentity, answered: AnsweredCalls, model: str
) -> Submitted:
    """Complete the calls, each once, and go on with the conversation, once for these results.

    A crash between the two is made up for by the client's next try.
    """
    results = {ids.parse(result.call_id, ids.CALL): result for result in asked.results}
    for operation in answered.operations:
        finish_call(operation, results[operation.pk])
    names = sorted(operation.pk.hex for operation in answered.operations)
    digest = hashlib.sha256("\0".join([*names, asked.text]).encode()).hexdigest()
    opened = OpenedConversation(session=answered.session)
    found = turns.by_client_id(answered.session, client_id := f"client-tools:{digest}")
    if found is not None:
        return Submitted(turn=found, created=False)
    return write(caller, asked, identity, opened, model, client_id=client_id)


def finish_call(operation: Operation, result: ClientToolResult) -> None:
    complete(operation_id=operation.pk, success=True, result=result.output, by=BY_CLIENT)


def with_foreign_results(asked: ClientAsk) -> ClientAsk:
    """Return the request with results of calls that were made elsewhere as part of its history."""
    if not asked.results:
        return asked
    foreign = [
        {"role": "tool", "tool_call_id": result.call_id, "content": result.output} for result in asked.results
    ]
    return replace(asked, history=[*asked.history, *foreign])


def turn_of(caller: Caller, response_id: str, prefix: str = ids.RESPONSE) -> Turn | None:
    """Return the caller's turn by the id of its response."""
    turn_id = ids.parse(response_id, prefix)
    return caller.owner.turns().filter(pk=turn_id).first() if turn_id else None
