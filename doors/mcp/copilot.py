"""ask_copilot: a message to the copilot, answered in a conversation that the person can see and continue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import IntegrityError
from django.http import Http404

from chat import model_choice, sessions, turns
from chat.models import Session, Turn
from chat.sessions import BadKey
from chat.turn_options import ClientRequest
from chat.turns import Input
from doors.callers import Caller
from doors.mcp import repeats
from doors.mcp.errors import BadArguments
from doors.mcp.outcomes import CallEnd, StartedWork, text_answer
from doors.mcp.providers import McpCall, McpTool, Provider
from doors.mcp.repeats import CallIdentity
from durable.errors import InvalidFields
from tools import limits as tools_limits

NAME = "ask_copilot"
MODEL = "copilot"
DESCRIPTION = (
    "Ask the copilot: it answers with a language model that can use tools, build and run agents, and come back when "
    "long work is done. Name a session to go on in one; the result says which one it was."
)


class CopilotProvider(Provider):
    """Offers the copilot itself."""

    def tools(self, caller: Caller) -> Iterable[McpTool]:
        if caller.may_use_model(MODEL) and caller.may_use_tool(NAME):
            yield ASK


@dataclass(frozen=True, kw_only=True)
class CopilotQuestion:
    """The checked arguments of a call."""

    message: str
    session: str
    model: str


def ask(call: McpCall) -> CallEnd:
    """Submit the message, or join the turn that an earlier try of the call has submitted."""
    asked = read(call)
    identity = repeats.identify(call, NAME)
    found = turn_of(call.caller, identity)
    if found is not None and not identity.is_chosen and not repeats.is_lost(found):
        repeats.release(found)
        found = None
    if found is not None:
        return StartedWork(row=found)
    call.caller.check_budget()
    try:
        return submit(call.caller, asked, identity)
    except InvalidFields as error:
        return text_answer(error.message, is_error=True)


def submit(caller: Caller, asked: CopilotQuestion, identity: CallIdentity) -> StartedWork:
    """Write the turn; a concurrent try of the same call that was faster is joined."""
    model = model_choice.check_pick(caller.user, asked.model) if asked.model else ""
    request = ClientRequest(key=identity.digest, api_key_id=caller.key.pk)
    given = Input(text=asked.message, permissions=caller.permissions(), model=model, request=request)
    try:
        submitted = turns.submit(session_for(caller, asked, identity), given)
    except IntegrityError:
        if found := turn_of(caller, identity):
            return StartedWork(row=found)
        raise
    return StartedWork(row=submitted.turn, is_new=submitted.created)


def turn_of(caller: Caller, identity: CallIdentity) -> Turn | None:
    rows = Turn.objects.select_related("session", "session__user")
    return rows.filter(user=caller.user, request_key=identity.digest).first()


def session_for(caller: Caller, asked: CopilotQuestion, identity: CallIdentity) -> Session:
    """Return the named session, created if the client has just chosen the name; else a new one."""
    if not asked.session:
        return sessions.create(caller.owner)
    try:
        return sessions.find_or_create(caller.owner, asked.session)
    except BadKey as error:
        raise BadArguments(f"`session`: {error}") from None
    except Http404:
        raise BadArguments("There is no such session, or it is not yours.") from None


def read(call: McpCall) -> CopilotQuestion:
    """Return the arguments; raise BadArguments."""
    unknown = sorted(set(call.arguments) - set(ASK.input_schema["properties"]))
    if unknown:
        raise BadArguments(f"There is no argument {unknown[0][:100]!r}.")
    texts = {name: call.arguments.get(name, "") for name in ("message", "session", "model")}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise BadArguments(f"`{name}` must be a text.")
    if not texts["message"].strip():
        raise BadArguments("`message` is empty.")
    if len(texts["message"]) > tools_limits.MAX_MESSAGE_CHARACTERS:
        raise BadArguments(f"`message` may have at most {tools_limits.MAX_MESSAGE_CHARACTERS:,} characters.")
    return CopilotQuestion(**texts)


ASK = McpTool(
    name=NAME,
    title="Ask the copilot",
    description=DESCRIPTION,
    input_schema={
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": "What to ask or do."},
            "session": {
                "type": "string",
                "description": "Id of a session, or a name of your own for one; empty begins a new one.",
            },
            "model": {"type": "string", "description": "The model that answers; empty for the usual one."},
        },
        "required": ["message"],
        "additionalProperties": False,
    },
    output_schema={
        "type": "object",
        "properties": {
            "session_id": {"type": "string"},
            "turn_id": {"type": "string"},
            "status": {
                "type": "string",
                "enum": ["queued", "running", "waiting", "completed", "failed", "cancelled"],
            },
            "answer": {"type": "string"},
            "url": {"type": "string", "description": "Where a person sees the conversation."},
        },
        "required": ["session_id", "turn_id", "status"],
    },
    annotations={
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": True,
    },
    call=ask,
)
