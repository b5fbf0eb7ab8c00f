"""The body of POST /v1/chat/completions, read as what is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chat.turn_options import TurnOptions
from doors.openai import asked, fields, limits, tool_fields
from doors.openai.asked import ChatMessage, ClientAsk, ClientFile
from doors.openai.errors import UnusableRequest
from doors.openai.fields import NOT_SUPPORTED, Body

# Fields that would change the answer and are not honoured, with the values that change nothing.
UNHONOURED: dict[str, tuple[object, ...]] = {
    "n": (1,),
    "stop": ([], ""),
    "top_p": (1, 1.0),
    "presence_penalty": (0, 0.0),
    "frequency_penalty": (0, 0.0),
    "logit_bias": ({},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "modalities": (["text"],),
    "audio": (),
    "functions": ([],),
    "function_call": ("auto", "none"),
    "reasoning_effort": ("none",),
    "verbosity": ("medium",),
    "web_search_options": (),
    "seed": (),
}
MAX_OUTPUT_TOKENS = 10_000_000
ROLES = ("system", "developer", "user", "assistant", "tool")


def read(body: Body) -> ClientAsk:
    """Return what is asked for; raise UnusableRequest naming the field that cannot be used."""
    fields.refuse_unhonoured(body, UNHONOURED)
    messages = [
        message(fields.mapping(item, f"messages[{index}]"), f"messages[{index}]")
        for index, item in enumerate(fields.items(body.get("messages"), "messages", most=limits.MAX_MESSAGES))
    ]
    tools = tool_fields.tools(body, nested=True)
    most = fields.whole_number(body, "max_completion_tokens", least=1, most=MAX_OUTPUT_TOKENS)
    older = fields.whole_number(body, "max_tokens", least=1, most=MAX_OUTPUT_TOKENS)
    options = TurnOptions(
        instructions=instructions_in(messages),
        tools=tools,
        tool_choice=tool_fields.tool_choice(body, tools),
        parallel_tool_calls=None if fields.flag(body, "parallel_tool_calls", True) else False,
        response_format=tool_fields.response_format(body.get("response_format"), "response_format"),
        temperature=fields.number(body, "temperature", least=0, most=2),
        max_output_tokens=most or older,
        echo={"protocol": "chat", "model": fields.text(body, "model")},
    )
    stream_options = body.get("stream_options")
    usage = stream_options is not None and fields.flag(
        fields.mapping(stream_options, "stream_options"), "include_usage"
    )
    return from_messages(
        [item for item in messages if item["role"] not in ("system", "developer")],
        model=fields.text(body, "model"),
        options=options,
        stream=fields.flag(body, "stream"),
        include_usage=usage,
        metadata=fields.metadata(body),
    )


def from_messages(messages: Sequence[ChatMessage], *, where: str = "messages", **rest: Any) -> ClientAsk:
    """Return what is asked for with these messages, which contain no instructions any more."""
    if not messages:
        raise UnusableRequest(f"`{where}` contains no message to answer.", param=where)
    history, results, last = asked.new_input(messages)
    if last is None and not results:
        history = messages  # it ends with an answer: the model goes on from there
    return ClientAsk(
        history=[without_files(item) for item in history],
        results=results,
        text=last["content"] if last else "",
        files=last.get("files", ()) if last else (),
        has_message=last is not None,
        **rest,
    )


def instructions_in(messages: Sequence[ChatMessage]) -> str:
    """Return all system and developer messages as one text."""
    texts = [item["content"] for item in messages if item["role"] in ("system", "developer")]
    found = "\n\n".join(text for text in texts if text)
    if len(found) > limits.MAX_INSTRUCTION_CHARACTERS:
        raise UnusableRequest("The system messages are too long.", param="messages")
    return found


def message(item: Mapping[str, Any], where: str) -> ChatMessage:
    """Return one message with its content as text; files of the person come under `files`."""
    role = item.get("role")
    if role not in ROLES:
        raise UnusableRequest(f"`{where}.role` must be one of {', '.join(ROLES)}.", param=where)
    texts, files = content(item.get("content"), where, allows_files=role == "user")
    found: ChatMessage = {"role": role, "content": texts}
    if files:
        found["files"] = files
    if role == "tool":
        found["tool_call_id"] = required_text(item, "tool_call_id", where)
    if role == "assistant" and item.get("tool_calls"):
        calls = fields.items(item["tool_calls"], f"{where}.tool_calls", most=limits.MAX_CLIENT_TOOLS)
        found["tool_calls"] = [tool_call(call, where) for call in calls]
        found["content"] = texts or None
    return found


def content(value: object, where: str, *, allows_files: bool) -> tuple[str, list[ClientFile]]:
    """Return the text of a message and its files."""
    if value is None:
        return "", []
    if isinstance(value, str):
        return value, []
    texts: list[str] = []
    files: list[ClientFile] = []
    for number, part in enumerate(fields.items(value, f"{where}.content", most=limits.MAX_MESSAGES)):
        named = f"{where}.content[{number}]"
        found = content_part(fields.mapping(part, named), named)
        if isinstance(found, str):
            texts.append(found)
        elif allows_files:
            files.append(found)
        else:
            raise UnusableRequest(f"`{named}`: only the user's messages can have files.", param=named)
    return "\n".join(texts), files


def content_part(part: Mapping[str, Any], where: str) -> str | ClientFile:
    match part.get("type"):
        case "text" | "input_text" | "output_text":
            return required_text(part, "text", where)
        case "refusal":
            return required_text(part, "refusal", where)
        case "image_url":
            image = part.get("image_url")
            return asked_file(image.get("url") if isinstance(image, Mapping) else image, "", where)
        case "input_image":
            return asked_file(part.get("image_url"), "", where)
        case "file":
            inner = fields.mapping(part.get("file"), f"{where}.file")
            return asked_file(inner.get("file_data"), inner.get("filename"), where)
        case "input_file":
            return asked_file(part.get("file_data"), part.get("filename"), where)
        case _:
            raise UnusableRequest(
                f"`{where}`: this kind of content is not supported. Send text, or a file as a data: URL.",
                param=where,
                code=NOT_SUPPORTED,
            )


def asked_file(url: object, name: object, where: str) -> ClientFile:
    if not isinstance(url, str) or not url.startswith(("data:", "workspace://")):
        raise UnusableRequest(
            f"`{where}`: send the file as a data: URL, or name a file of the workspace (workspace://id).",
            param=where,
        )
    return ClientFile(url=url, filename=name if isinstance(name, str) else "")


def tool_call(call: object, where: str) -> dict[str, Any]:
    item = fields.mapping(call, f"{where}.tool_calls")
    function = fields.mapping(item.get("function"), f"{where}.tool_calls.function")
    return {
        "id": required_text(item, "id", where),
        "type": "function",
        "function": {
            "name": required_text(function, "name", where),
            "arguments": fields.text(function, "arguments"),
        },
    }


def required_text(item: Mapping[str, Any], name: str, where: str) -> str:
    value = item.get(name)
    if not isinstance(value, str):
        raise UnusableRequest(f"`{where}.{name}` must be a string.", param=where)
    return value


def without_files(item: ChatMessage) -> ChatMessage:
    """Return a message of the past; files in it were shown when they were new."""
    return {name: value for name, value in item.items() if name != "files"}
