"""An MCP server on the official Python SDK, run as a process of its own, with the tasks extension.

`python sdk_server.py [state file]` prints its port. It speaks both eras. Tasks are kept in the state file, so that a
server that was killed goes on with them. GET /seen answers what it has done; POST /control changes what it does next:
`description` (of the tool `echo`), `extra` (true: list one more tool), `work` (seconds that a task takes), `finish`
(true: end all tasks).
"""

from __future__ import annotations

import base64
import json
import socket
import sys
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ImageContent,
    InputRequiredResult,
    RequestParams,
    TextContent,
    ToolAnnotations,
)
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000003000100"
        "18dd8db00000000049454e44ae426082"
    )
).decode()
TASKS = "io.modelcontextprotocol/tasks"
SCHEMA = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}


class State:
    """What the server remembers, in a file where it was given one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.tasks: dict[str, dict[str, Any]] = {}
        self.work = 0.5
        self.seen: Counter[str] = Counter()
        if path is not None and path.exists():
            self.tasks = json.loads(path.read_text())

    def keep(self) -> None:
        if self.path is not None:
            self.path.write_text(json.dumps(self.tasks))


class TaskIdParams(RequestParams):
    task_id: str


class UpdateParams(TaskIdParams):
    input_responses: dict[str, Any]


class Tasks(Extension):
    """Calls of the tools whose names begin with `long_` become tasks."""

    identifier = TASKS

    def __init__(self, state: State) -> None:
        self.state = state

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        self.state.seen[params.name] += 1
        if not params.name.startswith("long_"):
            return await call_next(ctx)
        task_id = uuid.uuid4().hex
        self.state.tasks[task_id] = {
            "tool": params.name,
            "arguments": params.arguments or {},
            "began": time.time(),
            "work": self.state.work,
        }
        self.state.keep()
        return {"resultType": "task"} | self.describe(task_id, "working")

    def describe(self, task_id: str, status: str) -> dict[str, Any]:
        now = "2026-11-18T00:00:00Z"
        return {
            "taskId": task_id,
            "status": status,
            "createdAt": now,
            "lastUpdatedAt": now,
            "ttlMs": 3_600_000,
            "pollIntervalMs": 1000,
        }

    def methods(self) -> list[MethodBinding]:
        return [
            MethodBinding("tasks/get", TaskIdParams, self.get),
            MethodBinding("tasks/update", UpdateParams, self.update),
            MethodBinding("tasks/cancel", TaskIdParams, self.cancel),
        ]

    async def get(self, ctx: Any, params: TaskIdParams) -> Any:
        self.state.seen["tasks/get"] += 1
        task = self.state.tasks[params.task_id]
        base = {"resultType": "complete"}
        if task.get("cancelled"):
            return base | self.describe(params.task_id, "cancelled")
        if time.time() - task["began"] < task["work"]:
            return base | self.describe(params.task_id, "working")
        if task["tool"] == "long_question" and "answer" not in task:
            form = {"method": "elicitation/create", "params": {"mode": "form", "message": "Which colour?"}}
            form["params"]["requestedSchema"] = SCHEMA  # type: ignore[index]
            return base | self.describe(params.task_id, "input_required") | {"inputRequests": {"q": form}}
        if task["tool"] == "long_failure":
            error = {"code": -32603, "message": "The mill stands still."}
            return base | self.describe(params.task_id, "failed") | {"error": error}
        text = f"milled {json.dumps(task.get('answer') or task['arguments'], sort_keys=True)}"
        self.state.seen["results"] += 1
        result = {"content": [{"type": "text", "text": text}], "isError": False, "resultType": "complete"}
        return base | self.describe(params.task_id, "completed") | {"result": result}

    async def update(self, ctx: Any, params: UpdateParams) -> Any:
        self.state.seen["tasks/update"] += 1
        self.state.tasks[params.task_id].setdefault("answer", params.input_responses.get("q"))
        self.state.keep()
        return {"resultType": "complete"}

    async def cancel(self, ctx: Any, params: TaskIdParams) -> Any:
        self.state.seen["tasks/cancel"] += 1
        self.state.tasks[params.task_id]["cancelled"] = True
        self.state.keep()
        return {"resultType": "complete"}


def build(state: State) -> MCPServer:
    server = MCPServer("mill", instructions="A mill.", extensions=[Tasks(state)])

    @server.tool(annotations=ToolAnnotations(read_only_hint=True), description="Return the text.")
    def echo(text: str) -> str:
        return text

    @server.tool(annotations=ToolAnnotations(idempotent_hint=True), description="Set a value.")
    def put(name: str, value: int) -> str:
        return f"{name}={value}"

    @server.tool(description="Send something that cannot be taken back.")
    def send(to: str) -> str:
        return f"sent to {to}"

    @server.tool(annotations=ToolAnnotations(read_only_hint=True), description="Return a picture.")
    def picture() -> CallToolResult:
        parts = [
            TextContent(type="text", text="a dot"),
            ImageContent(type="image", data=PNG, mime_type="image/png"),
        ]
        return CallToolResult(content=parts)

    @server.tool(annotations=ToolAnnotations(read_only_hint=True), description="Return a long text.")
    def long() -> str:
        return "word " * 100_000

    @server.tool(description="Fail.")
    def fail() -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text="no grain left")], is_error=True)

    @server.tool(description="Ask the person for a colour.")
    def question(ctx: Context) -> CallToolResult | InputRequiredResult:
        if ctx.input_responses:
            answer = ctx.input_responses["q"]
            text = f"{answer.action} {answer.content} {ctx.request_state}"  # type: ignore[union-attr]
            return CallToolResult(content=[TextContent(type="text", text=text)])
        form = ElicitRequest(params=ElicitRequestFormParams(message="Which colour?", requested_schema=SCHEMA))
        return InputRequiredResult(input_requests={"q": form}, request_state="a state")

    for name in ("long_mill", "long_question", "long_failure"):
        server.add_tool(long_tool(name), name=name, description=f"Work for a while ({name}).")
    return server


def long_tool(name: str) -> Any:
    def run(grain: str = "wheat") -> str:
        raise AssertionError(f"{name} is a task")

    return run


def main() -> None:
    state = State(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    server = build(state)
    opener = socket.socket()
    opener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    opener.bind(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0))
    print(opener.getsockname()[1], flush=True)

    async def seen(request: Request) -> Response:
        return JSONResponse(dict(state.seen))

    async def control(request: Request) -> Response:
        wanted = await request.json()
        state.work = wanted.get("work", state.work)
        if wanted.get("finish"):
            for task in state.tasks.values():
                task["work"] = 0
        if "description" in wanted:
            server._tool_manager._tools["echo"].description = wanted["description"]
        if wanted.get("extra"):
            server.add_tool(long_tool("extra"), name="extra", description="One more tool.")
        return JSONResponse({})

    server.custom_route("/seen", methods=["GET"])(seen)
    server.custom_route("/control", methods=["POST"])(control)
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
    uvicorn.Server(config).run(sockets=[opener])


if __name__ == "__main__":
    main()
