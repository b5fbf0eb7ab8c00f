"""Tools, prompts and resources by the names that the conformance suite calls; its tasks are runs of agents."""

from __future__ import annotations

import base64
import json
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.core import signing

from doors.callers import Caller
from doors.mcp.errors import BadParams, CapabilityMissing
from doors.mcp.outcomes import CallEnd, NeededInput, StartedWork, ToolAnswer, text_answer
from doors.mcp.providers import McpCall, McpPrompt, McpTool, Provider, ResourcePage
from durable.ids import new_id
from durable.publisher import poke
from executions.agents.agent_import import import_agent
from executions.models import Agent, Execution
from executions.start import ExecutionRequest, start

ASK = "8b2a7b3c-6e9d-4a5f-8c1b-2e3f4a5b6c7d"
INPUT, OUTPUT = "c0a8e994-ebf1-4a9c-a4d8-89d09c86741b", "363ae599-353e-4804-937e-b2ee3cef3da4"
SLEEP, DRIP = "7e570000-0000-4000-8000-000000000003", "7e570000-0000-4000-8000-000000000004"
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
SALT = "testmcp"


def pixel() -> str:
    """A red point as PNG, in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0\xff\0\0")
    whole = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    return base64.b64encode(whole).decode()


def silence() -> str:
    head = b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
    return base64.b64encode(head + b"data" + struct.pack("<I", 0)).decode()


IMAGE = {"type": "image", "data": pixel(), "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": silence(), "mimeType": "audio/wav"}


def embedded(uri: str, text: str, media_type: str = "text/plain") -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "text": text}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


# --- questions ------------------------------------------------------------------------------------


def form(message: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sampling(words: str, tokens: int = 100) -> dict[str, Any]:
    messages = [{"role": "user", "content": text(words)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": tokens}}


NAME = form("What is your name?", name={"type": "string"})
CONFIRM = form("Please confirm", ok={"type": "boolean"})
ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}


def asks(
    requests: Mapping[str, Any], said: str = "Done.", *, keeps_state: bool = False
) -> Callable[[McpCall], CallEnd]:
    """A tool that asks once and then answers."""

    def call(given: McpCall) -> CallEnd:
        state = signing.dumps("asked", salt=SALT) if keeps_state else ""
        if keeps_state and given.state:
            checked(given.state)
        if not all(isinstance(given.answers.get(key), dict) for key in requests):
            return NeededInput(requests=requests, state=state)
        return text_answer(f"{said} {json.dumps(given.answers, sort_keys=True)}")

    return call


def checked(state: str) -> Any:
    try:
        return signing.loads(state, salt=SALT)
    except signing.BadSignature:
        raise BadParams("The state was changed.") from None


def multi_round(given: McpCall) -> CallEnd:
    if not given.state:
        request = form("Step 1: What is your name?", name={"type": "string"})
        return NeededInput(requests={"step1": request}, state=signing.dumps(1, salt=SALT))
    if checked(given.state) == 1:
        request = form("Step 2: What is your favorite color?", color={"type": "string"})
        return NeededInput(requests={"step2": request}, state=signing.dumps(2, salt=SALT))
    return text_answer("Done.")


def fitting(given: McpCall) -> CallEnd:
    """Ask only for what the client has declared."""
    known = given.exchange.capabilities
    found = {"name": NAME} if "elicitation" in known else {}
    return NeededInput(requests=found | ({"say": sampling("Hello?")} if "sampling" in known else {}))


def needs_sampling(given: McpCall) -> CallEnd:
    if "sampling" not in given.exchange.capabilities:
        raise CapabilityMissing({"sampling": {}})
    return text_answer("Done.")


def reports(given: McpCall) -> CallEnd:
    for done in (0, 50, 100):
        given.progress(done, 100)
        time.sleep(0.05)
    return text_answer("Done.")


def elicits(given: McpCall) -> CallEnd:
    message = str(given.arguments.get("message", "Please answer"))
    fields = {"username": {"type": "string"}, "email": {"type": "string"}}
    return ask_older(given, form(message, **fields), "User response:")


def elicits_defaults(given: McpCall) -> CallEnd:
    fields: dict[str, Any] = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return ask_older(given, form("Please check", **fields), "Elicitation completed:")


def elicits_choices(given: McpCall) -> CallEnd:
    plain = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{n}", "title": f"{word} Option"}
        for n, word in enumerate(("First", "Second", "Third"), 1)
    ]
    fields: dict[str, Any] = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return ask_older(given, form("Please choose", **fields), "Elicitation completed:")


def ask_older(given: McpCall, request: Mapping[str, Any], said: str) -> CallEnd:
    found = given.answers.get("answer")
    if not isinstance(found, dict):
        return NeededInput(requests={"answer": request})
    return text_answer(f"{said} action={found.get('action')}, content={json.dumps(found.get('content'))}")


# --- agents ---------------------------------------------------------------------------------------


def node(node_id: str, block_id: str, **values: Any) -> dict[str, Any]:
    return {"id": node_id, "block_id": block_id, "input_default": values, "metadata": {}}


def link(source: str, pin: str, sink: str, sink_pin: str) -> dict[str, Any]:
    ends = {"source_id": source, "source_name": pin, "sink_id": sink, "sink_name": sink_pin}
    return {"id": f"{source}-{pin}-{sink}", "is_static": False} | ends


OUT = node("out", OUTPUT, name="said")
GRAPHS: dict[str, tuple[list[Any], list[Any]]] = {
    "slow_compute": (
        [node("in", INPUT, name="seconds", value=0), node("sleep", SLEEP, value="Computed."), OUT],
        [link("in", "result", "sleep", "seconds"), link("sleep", "value", "out", "value")],
    ),
    "say": ([node("in", INPUT, name="word"), OUT], [link("in", "result", "out", "value")]),
    "failing_job": (
        [node("in", INPUT, name="count", value=1), node("drip", DRIP, fail_at=0), OUT],
        [link("in", "result", "drip", "count"), link("drip", "item", "out", "value")],
    ),
    "confirm_delete": (
        [node("in", INPUT, name="filename"), node("ask", ASK, name="Delete it?"), OUT],
        [link("in", "result", "ask", "data"), link("ask", "approved_data", "out", "value")],
    ),
    "multi_input": (
        [
            node("in", INPUT, name="what", value="it"),
            node("ask1", ASK, name="First?"),
            node("ask2", ASK, name="Second?"),
            OUT,
        ],
        [
            link("in", "result", "ask1", "data"),
            link("in", "result", "ask2", "data"),
            link("ask1", "approved_data", "out", "value"),
            link("ask2", "approved_data", "out", "value"),
        ],
    ),
}


def agent_of(caller: Caller, name: str) -> Agent:
    found = Agent.objects.filter(user=caller.user, name=name, deleted_at=None).first()
    if found is not None:
        return found
    nodes, links = GRAPHS[name]
    stored = import_agent(caller.user, {"name": name, "description": "", "nodes": nodes, "links": links})
    return stored.agent


def runs(name: str, *inputs: str) -> Callable[[McpCall], CallEnd]:
    """A tool that runs an agent with those of its arguments that are inputs."""

    def call(given: McpCall) -> CallEnd:
        values = {key: given.arguments[key] for key in inputs if key in given.arguments}
        agent = agent_of(given.caller, name)
        request = ExecutionRequest(client_id=f"testmcp:{new_id().hex}")
        return StartedWork(row=start(given.caller.user, agent, values, request).execution)

    return call


def breaks(given: McpCall) -> CallEnd:
    """Start a run of a version that does not exist, which is a fault of the server."""
    agent = agent_of(given.caller, "slow_compute")
    row = Execution.objects.create(user=given.caller.user, agent=agent, version=999, status=Execution.QUEUED)
    poke(Execution, row.pk)
    return StartedWork(row=row)


def asks_then_runs(given: McpCall) -> CallEnd:
    """Ask for a name, and run an agent that says it."""
    answer = given.answers.get("user_name")
    if not isinstance(answer, dict):
        return NeededInput(requests={"user_name": NAME})
    request = ExecutionRequest(client_id=f"testmcp:{new_id().hex}")
    values = {"word": answer.get("content", {}).get("name", "")}
    return StartedWork(row=start(given.caller.user, agent_of(given.caller, "say"), values, request).execution)


# --- what is offered ------------------------------------------------------------------------------


def says(*content: Mapping[str, Any], is_error: bool = False) -> Callable[[McpCall], CallEnd]:
    return lambda call: ToolAnswer(content=content, is_error=is_error)


def greets(given: McpCall) -> CallEnd:
    return text_answer(f"Hello, {given.arguments.get('name', 'you')}!")


CALLS: dict[str, Callable[[McpCall], CallEnd]] = {
    "test_simple_text": says(text("This is a simple text response for testing.")),
    "test_image_content": says(IMAGE),
    "test_audio_content": says(AUDIO),
    "test_embedded_resource": says(
        embedded("test://embedded-resource", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": says(
        text("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ),
    "test_error_handling": says(text("This tool intentionally returns an error for testing"), is_error=True),
    "test_tool_with_progress": reports,
    "test_logging_tool": says(text("Nothing is logged.")),
    "test_missing_capability": needs_sampling,
    "test_streaming_elicitation": asks({"user_name": NAME}),
    "test_elicitation": elicits,
    "test_elicitation_sep1034_defaults": elicits_defaults,
    "test_elicitation_sep1330_enums": elicits_choices,
    "test_input_required_result_elicitation": asks({"user_name": NAME}, "Hello,"),
    "test_input_required_result_sampling": asks(
        {"capital_question": sampling("What is the capital of France?")}
    ),
    "test_input_required_result_list_roots": asks({"client_roots": ROOTS}),
    "test_input_required_result_request_state": asks({"confirm": CONFIRM}, "state-ok", keeps_state=True),
    "test_input_required_result_tampered_state": asks({"confirm": CONFIRM}, keeps_state=True),
    "test_input_required_result_multiple_inputs": asks(
        {"user_name": NAME, "greeting": sampling("Generate a greeting", 50), "client_roots": ROOTS},
        keeps_state=True,
    ),
    "test_input_required_result_multi_round": multi_round,
    "test_input_required_result_capabilities": fitting,
    "greet": greets,
    "slow_compute": runs("slow_compute", "seconds"),
    "failing_job": runs("failing_job"),
    "protocol_error_job": breaks,
    "confirm_delete": runs("confirm_delete", "filename"),
    "multi_input": runs("multi_input"),
    "test_tool_with_task": asks_then_runs,
}
WITH_TASK_ONLY = frozenset({"failing_job"})
SCHEMA_2020: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def said(*content: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": part} for part in content]


def with_arguments(call: McpCall) -> Sequence[Mapping[str, Any]]:
    first, second = call.arguments.get("arg1"), call.arguments.get("arg2")
    return said(text(f"Prompt with arguments: arg1='{first}', arg2='{second}'"))


def with_resource(call: McpCall) -> Sequence[Mapping[str, Any]]:
    found = embedded(str(call.arguments.get("resourceUri")), "Embedded resource content for testing.")
    return said(found, text("Please process the embedded resource above."))


def with_question(call: McpCall) -> Sequence[Mapping[str, Any]] | NeededInput:
    if "user_context" not in call.answers:
        question = form("What context should the prompt use?", context={"type": "string"})
        return NeededInput(requests={"user_context": question})
    return said(text("With context."))


def argument(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"The {name}.", "required": True}


PROMPTS = (
    McpPrompt(
        name="test_simple_prompt",
        description="One text.",
        get=lambda call: said(text("This is a simple prompt for testing.")),
    ),
    McpPrompt(
        name="test_prompt_with_arguments",
        description="Two arguments.",
        get=with_arguments,
        arguments=[argument("arg1"), argument("arg2")],
    ),
    McpPrompt(
        name="test_prompt_with_embedded_resource",
        description="A resource.",
        get=with_resource,
        arguments=[argument("resourceUri")],
    ),
    McpPrompt(
        name="test_prompt_with_image",
        description="A picture.",
        get=lambda call: said(IMAGE, text("Please analyze the image above.")),
    ),
    McpPrompt(name="test_input_required_result_prompt", description="Asks first.", get=with_question),
)
STATIC = {
    "test://static-text": {
        "mimeType": "text/plain",
        "text": "This is the content of the static text resource.",
    },
    "test://static-binary": {"mimeType": "image/png", "blob": pixel()},
}


class ConformanceFixtures(Provider):
    """Offers what the suite calls."""

    def tools(self, caller: Caller) -> Iterable[McpTool]:
        for name, call in CALLS.items():
            yield McpTool(
                name=name,
                description=f"For the conformance suite: {name}.",
                input_schema=NO_ARGUMENTS,
                call=call,
                needs_task=name in WITH_TASK_ONLY,
            )
        yield McpTool(
            name="test_headers",
            description="An argument that is a header too.",
            input_schema={
                "type": "object",
                "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            },
            call=says(text("Done.")),
        )
        yield McpTool(
            name="json_schema_2020_12_tool",
            description="Tool with JSON Schema 2020-12 features",
            input_schema=SCHEMA_2020,
            call=says(text("Done.")),
        )

    def prompts(self, caller: Caller) -> Iterable[McpPrompt]:
        return PROMPTS

    def completes(self, caller: Caller) -> bool:
        return True

    def complete(self, caller: Caller, ref: Mapping[str, Any], argument: Mapping[str, Any]) -> Sequence[str]:
        begun = str(argument.get("value", ""))
        return [word for word in ("paris", "park", "party") if word.startswith(begun)]

    def resources(self, caller: Caller, cursor: str | None) -> ResourcePage:
        found = [
            {"uri": uri, "name": uri, "description": "Always the same.", "mimeType": entry["mimeType"]}
            for uri, entry in STATIC.items()
        ]
        return ResourcePage(resources=found)

    def templates(self) -> Iterable[Mapping[str, Any]]:
        return [{"uriTemplate": "test://template/{id}/data", "name": "template", "description": "By id."}]

    def read(self, caller: Caller, uri: str) -> Sequence[Mapping[str, Any]] | None:
        if uri in STATIC:
            return [{"uri": uri, **STATIC[uri]}]
        if uri.startswith("test://template/") and uri.endswith("/data"):
            name = uri.removeprefix("test://template/").removesuffix("/data")
            data = {"id": name, "templateTest": True, "data": f"Data for ID: {name}"}
            return [{"uri": uri, "mimeType": "application/json", "text": json.dumps(data)}]
        return None
