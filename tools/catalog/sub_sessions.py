"""run_sub_session and get_sub_session_result: delegate a task to a sub-session, and get its result."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from pydantic import Field

from durable.stop_signal import StopReason
from executions import limits as executions_limits
from tools import limits, sub_sessions
from tools.base import Effect, Reads, ToolArgs, ToolResult, WaitSeconds, tool
from tools.context import ToolContext
from tools.sub_sessions import Status, SubSessionTask, TaskHandle, TaskReport

DEFAULT_WAIT_SECONDS = 60.0
CAP_SECONDS = executions_limits.MAX_TOOL_WAIT_SECONDS + limits.TOOL_SECONDS
NO_LONGER_WANTED = (StopReason.CANCELLED, StopReason.TIMED_OUT)


class RunSubSessionArgs(ToolArgs):
    prompt: str = Field(
        min_length=1,
        max_length=limits.MAX_MESSAGE_CHARACTERS,
        description="The complete task: the sub-session does not see this conversation.",
    )
    system_context: str | None = Field(
        default=None, max_length=limits.MAX_MESSAGE_CHARACTERS, description="Background it should know."
    )
    sub_session_id: str | None = Field(
        default=None, max_length=64, description="Continue an earlier sub-session."
    )
    wait_for_result: WaitSeconds = Field(
        default=DEFAULT_WAIT_SECONDS, description="Seconds to wait; 0 = do not wait."
    )
    notify: bool = Field(
        default=False,
        description="If it has not ended by then, you are called again with the result when it ends.",
    )


class ResultArgs(ToolArgs):
    sub_session_id: str = Field(min_length=1, max_length=64)
    wait_if_running: WaitSeconds = Field(default=DEFAULT_WAIT_SECONDS, description="Seconds to wait.")
    cancel: bool = Field(default=False, description="Cancel it.")
    include_progress: bool = Field(default=False, description="While it runs, show what it has done so far.")
    notify: bool = Field(default=False, description="As in run_sub_session.")


class SubSessionStatus(ToolResult):
    type: Literal["sub_session_status"] = "sub_session_status"
    sub_session_id: str
    turn_id: str
    status: Status
    link: str
    title: str = ""
    response: str = ""
    tool_calls: list[dict[str, Any]] = Field(default_factory=list)
    usage: dict[str, Any] = Field(default_factory=dict)
    error: str | None = None
    doing: str | None = None
    elapsed_seconds: float = 0.0
    notify: bool = False


@tool(effect=Effect.IDEMPOTENT, cap_seconds=CAP_SECONDS, reads=Reads.PERHAPS, holds=False)
def run_sub_session(args: RunSubSessionArgs, context: ToolContext) -> SubSessionStatus:
    """Give a task to a sub-session, which has the same tools, and wait for its answer.

    For research and other long or independent work; several can run in parallel. With wait_for_result=0 it runs in
    the background: set notify=true to be called again when it ends, and do not poll.
    """
    task = SubSessionTask(
        prompt=args.prompt,
        system_context=args.system_context or "",
        sub_session_id=args.sub_session_id or "",
    )
    handle = sub_sessions.current().start(task, context)
    return follow(handle, args.wait_for_result, context, notify=args.notify)


@tool(effect=Effect.IDEMPOTENT, cap_seconds=CAP_SECONDS, reads=Reads.PERHAPS, holds=False)
def get_sub_session_result(args: ResultArgs, context: ToolContext) -> SubSessionStatus:
    """Get the result of a sub-session: wait for it, see its progress, or cancel it."""
    handle = sub_sessions.current().find(args.sub_session_id, context)
    if args.cancel:
        sub_sessions.current().cancel(handle, confirm=True)
        report = sub_sessions.current().report(handle)
        context.read_outside(*report.outside_sources)
        return status_of(report)
    return follow(
        handle, args.wait_if_running, context, notify=args.notify, show_progress=args.include_progress
    )


def follow(
    handle: TaskHandle, seconds: float, context: ToolContext, *, notify: bool, show_progress: bool = False
) -> SubSessionStatus:
    """Wait, then return the task's status. A call that is cancelled while it waits cancels the task too."""
    port = sub_sessions.current()
    tell = partial(show_doing, context, handle)
    if seconds > 0 and not port.is_over(handle):
        with context.waiting(handle.turn_id):
            port.wait(handle, seconds=seconds, stop=context.cancelled, tell=tell)
            if context.cancelled.reason in NO_LONGER_WANTED:
                port.cancel(handle, confirm=False)
        context.stop_if_cancelled()
    report = port.report(handle)
    context.read_outside(*report.outside_sources)
    calls_back = notify and report.status == "running"
    if calls_back:
        context.with_result(lambda: port.tell_when_over(handle, context))
    return status_of(report, notify=calls_back, show_progress=show_progress)


def show_doing(context: ToolContext, handle: TaskHandle, doing: str) -> None:
    """Show what the sub-session is doing on the stream of the turn that waits for it."""
    context.preliminary(
        {
            "type": "sub_session_status",
            "message": f"The sub-session {doing}.",
            "sub_session_id": str(handle.session_id),
            "turn_id": str(handle.turn_id),
            "status": "running",
            "link": handle.link,
            "doing": doing,
        }
    )


def status_of(report: TaskReport, *, notify: bool = False, show_progress: bool = False) -> SubSessionStatus:
    """Return the report as a tool result; what a running task has done so far only with `show_progress`."""
    shown: Mapping[str, Any] = {
        "response": report.text,
        "tool_calls": [brief(call) for call in report.tool_calls],
        "usage": dict(report.usage),
    }
    running = report.status == "running"
    return SubSessionStatus(
        message=describe_status(report),
        next_step=next_step(report, notify=notify),
        sub_session_id=str(report.handle.session_id),
        turn_id=str(report.handle.turn_id),
        status=report.status,
        link=report.handle.link,
        title=report.title,
        error=report.error or None,
        doing=report.doing or None,
        elapsed_seconds=round(report.seconds, 1),
        notify=notify,
        **(shown if show_progress or not running else {}),
    )


def describe_status(report: TaskReport) -> str:
    """Describe the task's status for people."""
    match report.status:
        case "completed":
            return "The sub-session has finished."
        case "failed":
            return f"The sub-session failed: {report.error or 'no reason was given.'}"
        case "cancelled":
            return "The sub-session was cancelled."
        case "running":
            return f"The sub-session is still running: it {report.doing or 'is waiting to start'}."


def next_step(report: TaskReport, *, notify: bool) -> str:
    """Tell the model what to do with the report."""
    match report.status:
        case "completed":
            return "Its answer is in `response`."
        case "cancelled":
            return "What it had written so far is in `response`."
        case "running" if notify:
            return "You are called again when it ends: tell the user so, and end your answer."
        case "running":
            return "Wait for it or cancel it with get_sub_session_result; its link opens it."
    return ""


def brief(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool call of the sub-session in short; its whole result is in that session."""
    output = call.get("output")
    said = output.get("message", "") if isinstance(output, Mapping) else output
    return {
        "tool_name": call.get("tool_name"),
        "success": call.get("success"),
        "message": str(said or "")[: limits.MAX_BRIEF_CHARACTERS],
    }
