"""Turns and executions as results of calls, finished or not."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from chat.models import Turn
from chat.protocol import text_of
from doors.mcp import questions
from doors.mcp.outcomes import ToolAnswer, text_answer
from durable.event_log import encode
from executions.models import Execution
from executions.models.status import PublicStatus
from executions.redaction import shown_outputs

GOES_ON = "It goes on by itself: repeat this call to wait for it, or fetch it with get_execution."


def result_of(row: Turn | Execution) -> ToolAnswer:
    """Return the result of a row as it stands; one that has not ended says how to get it later."""
    return of_turn(row) if isinstance(row, Turn) else of_execution(row)


def of_turn(turn: Turn) -> ToolAnswer:
    text = "".join(text_of(step.parts) for step in turn.steps.defer("carry"))
    data = {
        "session_id": str(turn.session_id),
        "turn_id": str(turn.pk),
        "status": turn.status,
        "answer": text,
        "url": f"{settings.SITE_URL}/c/{turn.session_id}",
    }
    if turn.status == Turn.FAILED:
        return text_answer(turn.error or "The answer failed.", structured=data, is_error=True)
    if turn.status == Turn.CANCELLED:
        return text_answer(f"{text}\nThe answer was stopped.".strip(), structured=data, is_error=True)
    if not turn.is_terminal:
        return text_answer(
            f"The copilot is still answering in session {turn.session_id}. {GOES_ON}", structured=data
        )
    return text_answer(text, structured=data)


def of_execution(execution: Execution) -> ToolAnswer:
    data = summary(execution)
    reviews = [] if execution.is_terminal else questions.open_reviews(execution)
    if reviews:
        data["status"] = PublicStatus.REVIEW.value  # it may not have noticed yet that it waits
    match data["status"]:
        case Execution.COMPLETED:
            return text_answer(text_of_outputs(data["outputs"]), structured=data)
        case Execution.FAILED:
            return text_answer(failure_of(execution), structured=data, is_error=True)
        case Execution.CANCELLED:
            return text_answer("The run was stopped.", structured=data, is_error=True)
        case PublicStatus.REVIEW:
            asked = " ".join(f"“{review.name}”" for review in reviews)
            message = f"Execution {execution.pk} waits for a person to decide: {asked} "
            message += f"Decide at {data['url']}. {GOES_ON}"
        case _:
            message = f"Execution {execution.pk} is still running. {GOES_ON}"
    return text_answer(message, structured=data | {"message": message})


def summary(execution: Execution) -> dict[str, Any]:
    """Return an execution as structured content."""
    return {
        "execution_id": str(execution.pk),
        "status": execution.public_status,
        "url": f"{settings.SITE_URL}/library/{execution.agent_id}/executions/{execution.pk}",
        "outputs": outputs_of(execution),
    }


def outputs_of(execution: Execution) -> dict[str, Any]:
    """Return the outputs by name: the value, or a list where there are several."""
    shown = shown_outputs(execution.outputs, execution.secrets)
    return {name: values[0] if len(values) == 1 else values for name, values in shown.items()}


def text_of_outputs(outputs: dict[str, Any]) -> str:
    """Return the outputs as text: a single text as it is, anything else as JSON."""
    if len(outputs) == 1 and isinstance(only := next(iter(outputs.values())), str):
        return only
    return encode(outputs) if outputs else "The agent has ended without outputs."


def failure_of(execution: Execution) -> str:
    return execution.error or "The agent failed."
