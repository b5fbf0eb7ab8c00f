"""The body of POST /v1/responses, read as what is asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from chat.turn_options import TurnOptions
from doors.openai import chat_request, fields, limits, tool_fields
from doors.openai.asked import ChatMessage, ClientAsk
from doors.openai.errors import UnusableRequest
from doors.openai.fields import NOT_SUPPORTED, Body

UNHONOURED: dict[str, tuple[object, ...]] = {
    "top_p": (1, 1.0),
    "top_logprobs": (0,),
    "truncation": ("auto", "disabled"),
    "prompt": (),
    "max_tool_calls": (),
    "reasoning": ({}, {"summary": "auto"}, {"effort": None, "summary": None}),
    "moderation": (),
}
TOOL_DETAILS = "reasoning.tool_calls"  # a value of `include`: our own tool calls with arguments and results


def read(body: Body) -> ClientAsk:
    """Return what is asked for; raise UnusableRequest naming the field that cannot be used."""
    fields.refuse_unhonoured(body, UNHONOURED)
    messages = input_messages(body.get("input"))
    tools = tool_fields.tools(body, nested=False)
    metadata = fields.metadata(body)
    model = fields.text(body, "model")
    instructions = fields.text(body, "instructions", most=limits.MAX_INSTRUCTION_CHARACTERS)
    stream, background = fields.flag(body, "stream"), fields.flag(body, "background")
    store = fields.flag(body, "store", True)
    if background and not store:
        raise UnusableRequest("A background response must be stored.", param="background")
    previous = fields.text(body, "previous_response_id")
    conversation = conversation_id(body.get("conversation"))
    if previous and conversation:
        raise UnusableRequest(
            "Send `previous_response_id` or `conversation`, not both.", param="conversation"
        )
    choice = tool_fields.tool_choice(body, tools)
    text_format = fields.mapping(body.get("text") or {}, "text")
    if text_format.get("verbosity") not in (None, "medium"):
        raise UnusableRequest("`text.verbosity` is not supported here.", param="text", code=NOT_SUPPORTED)
    temperature = fields.number(body, "temperature", least=0, most=2)
    parallel = fields.flag(body, "parallel_tool_calls", True)
    most = fields.whole_number(body, "max_output_tokens", least=1, most=chat_request.MAX_OUTPUT_TOKENS)
    include = [
        name for name in fields.items(body.get("include") or [], "include", most=20) if isinstance(name, str)
    ]
    more = chat_request.instructions_in(messages)
    echo: dict[str, Any] = {
        "protocol": "responses",
        "model": model,
        "metadata": metadata,
        "previous_response_id": previous or None,
        "background": background,
        "store": store,
        "include": include,
        "instructions": instructions or None,
        "user": fields.text(body, "user") or None,
    }
    options = TurnOptions(
        instructions="\n\n".join(text for text in (instructions, more) if text),
        tools=tools,
        tool_choice=choice,
        parallel_tool_calls=None if parallel else False,
        response_format=tool_fields.response_format(text_format.get("format"), "text.format"),
        temperature=temperature,
        max_output_tokens=most,
        echo=echo,
    )
    return chat_request.from_messages(
        [item for item in messages if item["role"] not in ("system", "developer")],
        where="input",
        model=model,
        options=options,
        stream=stream,
        background=background,
        store=store,
        metadata=metadata,
        conversation=conversation,
        previous_response_id=previous,
    )


def conversation_id(value: object) -> str:
    if value is None:
        return ""
    found = value.get("id") if isinstance(value, Mapping) else value
    if not isinstance(found, str) or not found:
        raise UnusableRequest("`conversation` must be an id, or an object with one.", param="conversation")
    return found


def input_messages(value: object) -> list[ChatMessage]:
    """Return the input in the form of chat completions."""
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    found: list[ChatMessage] = []
    for index, item in enumerate(fields.items(value, "input", most=limits.MAX_MESSAGES)):
        where = f"input[{index}]"
        take(fields.mapping(item, where), where, found)
    return found


def take(item: Mapping[str, Any], where: str, found: list[ChatMessage]) -> None:
    """Append one item; calls of one answer become one message, as chat completions have it."""
    match item.get("type", "message"):
        case "message":
            found.append(chat_request.message(item, where))
        case "function_call":
            call = {
                "id": chat_request.required_text(item, "call_id", where),
                "type": "function",
                "function": {
                    "name": chat_request.required_text(item, "name", where),
                    "arguments": fields.text(item, "arguments"),
                },
            }
            if found and found[-1]["role"] == "assistant":
                found[-1].setdefault("tool_calls", []).append(call)
                found[-1]["content"] = found[-1]["content"] or None
            else:
                found.append({"role": "assistant", "content": None, "tool_calls": [call]})
        case "function_call_output":
            output = item.get("output")
            text = (
                output
                if isinstance(output, str)
                else chat_request.content(output, where, allows_files=False)[0]
            )
            call_id = chat_request.required_text(item, "call_id", where)
            found.append({"role": "tool", "tool_call_id": call_id, "content": text})
        case "reasoning":
            return  # ours are summaries for people; the model's own stay here
        case other:
            kind = json.dumps(str(other)[:50])
            raise UnusableRequest(
                f"`{where}`: items of type {kind} are not supported.", param=where, code=NOT_SUPPORTED
            )
