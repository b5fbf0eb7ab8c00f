"""Calls of tools: run them, and turn what they come to into the one response that the client is owed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from django.core import signing

from accounts.errors import OverBudget
from chat.models import Turn
from doors.mcp import limits, questions, registry, repeats, results, rows, tasks, watch
from doors.mcp.errors import BadArguments, BadParams, CallsTooFast, CapabilityMissing
from doors.mcp.exchange import Exchange, check_parameters
from doors.mcp.messages import notification
from doors.mcp.outcomes import CallEnd, NeededInput, StartedWork, ToolAnswer, text_answer
from doors.mcp.providers import McpCall, McpTool, Notify, unheard
from durable.errors import InvalidFields, Refusal
from executions.models import Execution

SALT = "doors.mcp.call"
CANNOT_ASK = "This needs an answer of a person, and this client cannot ask for one."
WORK_STATE = "work:"  # how our own state begins; any other belongs to the tool


def read(exchange: Exchange, notify: Notify = unheard) -> McpCall:
    """Return the call of a request; raise BadParams."""
    answers, state = exchange.mapping("inputResponses"), exchange.params.get("requestState", "")
    if not isinstance(state, str):
        raise BadParams("`requestState` must be the text that was sent.")
    return McpCall(
        exchange=exchange,
        arguments=exchange.mapping("arguments"),
        answers=answers,
        state=state,
        notify=notify,
    )


def begin(exchange: Exchange, notify: Notify = unheard) -> CallEnd:
    """Run the tool; what it starts is committed when this returns. A refusal is an answer, not an error."""
    tool = registry.find_tool(exchange.caller, exchange.text("name", most=200))
    call = read(exchange, notify)
    check_possible(exchange, tool)
    check_parameters(exchange, tool.input_schema, call.arguments)
    if seconds := exchange.caller.seconds_to_wait():
        raise CallsTooFast(retry_after=seconds)
    if call.state.startswith(WORK_STATE):
        return resume(call)
    try:
        return tool.call(call)
    except BadArguments as error:
        return text_answer(error.message, is_error=True)
    except InvalidFields as error:
        return text_answer(described(error), is_error=True)
    except (OverBudget, Refusal) as error:
        return text_answer(error.advice, is_error=True)


def described(error: InvalidFields) -> str:
    return " ".join(
        f"{name}: {text}" if name else text for name, texts in error.fields.items() for text in texts
    )


def check_possible(exchange: Exchange, tool: McpTool) -> None:
    if tool.needs_task and not exchange.has_tasks:
        raise CapabilityMissing(tasks.NEEDED, f"{tool.name} takes so long that it is only run as a task.")


def resume(call: McpCall) -> StartedWork:
    """Decide what the call was asked for, and go on with the work that it had started."""
    try:
        name = signing.loads(
            call.state.removeprefix(WORK_STATE), salt=SALT, max_age=limits.CALL_STATE_SECONDS
        )
    except signing.BadSignature:
        raise BadParams("`requestState` is not one that this server has sent, or it is too old.") from None
    row = rows.find(call.caller, str(name))
    questions.answer_all(call.caller, row, call.answers)
    return StartedWork(row=row)


# --- responses ------------------------------------------------------------------------------------


def at_once(exchange: Exchange, end: CallEnd) -> dict[str, Any] | None:
    """Return the result of a call that need not wait; None if its work must be watched."""
    match end:
        case ToolAnswer():
            return complete(exchange, end.as_json())
        case NeededInput():
            return needed(exchange, end)
        case StartedWork():
            return tasks.handle(exchange, end.row) if exchange.has_tasks else None
        case _:
            assert_never(end)


def complete(exchange: Exchange, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with what the newer revision adds to it."""
    return {"resultType": "complete", **result} if exchange.is_modern else dict(result)


def needed(exchange: Exchange, end: NeededInput) -> dict[str, Any]:
    """Return questions as a result; an older client that cannot be asked gets an answer that says so."""
    if not exchange.is_modern:
        return text_answer(CANNOT_ASK, is_error=True).as_json()
    return {"resultType": "input_required"} | end.as_json()


def progress_message(exchange: Exchange, step: watch.WorkProgress | None) -> dict[str, Any] | None:
    token = exchange.progress_token
    if step is None or token is None:
        return None
    params = {"progressToken": token, "progress": step.done, "message": step.message}
    return notification("notifications/progress", params)


def requests_on_stream(exchange: Exchange, row: Turn | Execution) -> dict[str, Any]:
    """Return the questions to send as requests of ours, which only older clients take."""
    if exchange.is_modern or not exchange.has_elicitation or not exchange.accepts_stream:
        return {}
    now = rows.reread(row)
    return {} if now.is_terminal else questions.requests_for(questions.open_reviews(now))


def finish(exchange: Exchange, row: Turn | Execution) -> dict[str, Any]:
    """Return the result of a row: its end, the questions it has, or how to get it later."""
    now = rows.reread(row)
    if not now.is_terminal and exchange.is_modern and exchange.has_elicitation:
        reviews = questions.open_reviews(now)
        if reviews:
            state = f"{WORK_STATE}{signing.dumps(rows.task_id(now), salt=SALT)}"
            return needed(exchange, NeededInput(requests=questions.requests_for(reviews), state=state))
    return complete(exchange, results.result_of(now).as_json())


def sent(row: Turn | Execution) -> None:
    """Note that the result of a row has been sent, so that the next call of this kind is a new one."""
    now = rows.reread(row)
    if now.is_terminal:
        repeats.release(now)
