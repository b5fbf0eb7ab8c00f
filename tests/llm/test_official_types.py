"""The providers' own packages as referees: their types of requests and events, and their clients at our servers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import anthropic
import openai
import pytest
from anthropic.types import RawMessageStreamEvent
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses import ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import Field, TypeAdapter
from typing_extensions import is_typeddict

from llm.carry import VOLATILE
from llm.dialects.anthropic import VERSION
from tests.llm.dialect_servers import KEY, PROTOCOLS, ModelServer, Script
from tests.llm.test_dialects import (
    ADD,
    CALLS,
    HELLO,
    PIXEL,
    answer_message,
    ask,
    results,
    server,
    user,
)

__all__ = ["server"]
STREAMS = Path(__file__).parent / "streams"
REQUESTS: dict[str, Any] = {
    "chat": CompletionCreateParamsStreaming,
    "anthropic": MessageCreateParamsStreaming,
    "responses": ResponseCreateParamsStreaming,
}
EVENTS: dict[str, Any] = {
    "chat": ChatCompletionChunk,
    "anthropic": Annotated[RawMessageStreamEvent, Field(discriminator="type")],
    "responses": Annotated[ResponseStreamEvent, Field(discriminator="type")],
}
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "required": ["a"],
            "additionalProperties": False,
        },
    },
}
# What compatible servers add to the chat protocol, and want back: the carry.
NOT_OF_OPENAI = {"reasoning_content", "encrypted_content"}


def test_requests_are_of_the_providers_own_type_with_no_field_beside_it(server: ModelServer) -> None:
    server.play(CALLS, HELLO)
    picture = {"type": "image_url", "image_url": {"url": PIXEL}}
    question = {"role": "user", "content": [{"type": "text", "text": "add"}, picture]}
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}, question]
    options: dict[str, Any] = {
        "tools": [ADD],
        "user": "u1",
        "max_output_tokens": 2_000,
        "response_format": SCHEMA,
    }
    first, _ = ask(server, messages, **options)
    strange = {"role": "assistant", "content": "of another model"}
    note = {"role": "system", "content": "A note."}
    more = [answer_message(first), *results(first), strange, note, user("go on")]
    ask(server, [*messages, *more, user("facts") | {VOLATILE: True}], **options)
    assert server.refusals == [] and len(server.asked) == 2
    for asked in server.asked:
        body = readable(without(asked.body, NOT_OF_OPENAI if server.protocol.name == "chat" else set()))
        assert misfits(body, REQUESTS[server.protocol.name]) == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "script", [HELLO, CALLS, Script(text=("half",), stop="length"), Script(text=("No.",), stop="refusal")]
)
def test_the_streams_of_our_servers_are_of_the_providers_own_types(protocol: str, script: Script) -> None:
    stream = b"".join(PROTOCOLS[protocol]().events(script, 1))
    check_events(protocol, stream)


@pytest.mark.parametrize("path", sorted(STREAMS.iterdir()), ids=lambda path: path.stem)
def test_the_documented_streams_are_of_the_providers_own_types(path: Path) -> None:
    check_events(path.stem.partition("_")[0], path.read_bytes())


def check_events(protocol: str, stream: bytes) -> None:
    events = [line[5:] for line in stream.splitlines() if line.startswith(b"data:")]
    adapter: TypeAdapter[Any] = TypeAdapter(EVENTS[protocol])
    read = [readable(json.loads(event)) for event in events if event.strip() != b"[DONE]"]
    # these two are read by the clients themselves and are in no type
    for event in (
        event for event in read if event.get("type") not in ("ping", "error") or protocol == "responses"
    ):
        adapter.validate_python(event)
    assert read


def test_the_official_clients_read_from_our_servers_what_we_read(server: ModelServer) -> None:
    server.play(CALLS, CALLS)
    ours, _ = ask(server, tools=[ADD])
    text, calls, tokens = OFFICIAL[server.protocol.name](server, server.asked[0].body)
    assert (text, calls, tokens) == (
        ours.text,
        [(call.id, call.name, json.loads(call.arguments)) for call in ours.tool_calls],
        ours.usage.output_tokens,
    )
    assert server.refusals == [], "our server takes what the official client sends"


Read = tuple[str, list[tuple[str, str, Any]], int]


def official_anthropic(server: ModelServer, body: dict[str, Any]) -> Read:
    # the newest client speaks a later version of the API, which not every server knows
    headers = {"x-api-key": KEY, "anthropic-version": VERSION, "Authorization": anthropic.Omit()}
    url = server.url.removesuffix("/v1")
    client = anthropic.Anthropic(api_key=KEY, base_url=url, max_retries=0, default_headers=headers)  # type: ignore[arg-type]
    with client.messages.stream(**without(body, {"stream"})) as stream:
        message = stream.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"]
    return text, calls, message.usage.output_tokens


def official_responses(server: ModelServer, body: dict[str, Any]) -> Read:
    client = openai.OpenAI(api_key=KEY, base_url=server.url, max_retries=0)
    with client.responses.stream(**without(body, {"stream"})) as stream:
        response = stream.get_final_response()
    calls = [
        (item.call_id, item.name, json.loads(item.arguments))
        for item in response.output
        if item.type == "function_call"
    ]
    assert response.usage is not None
    return response.output_text, calls, response.usage.output_tokens


def official_chat(server: ModelServer, body: dict[str, Any]) -> Read:
    client = openai.OpenAI(api_key=KEY, base_url=server.url, max_retries=0)
    with client.chat.completions.stream(**without(body, {"stream"})) as stream:
        completion = stream.get_final_completion()
    message = completion.choices[0].message
    calls = [
        (call.id, call.function.name, json.loads(call.function.arguments))
        for call in message.tool_calls or ()
    ]
    assert completion.usage is not None
    return message.content or "", calls, completion.usage.completion_tokens


OFFICIAL = {"chat": official_chat, "anthropic": official_anthropic, "responses": official_responses}


def misfits(value: Any, hint: Any, place: str = "") -> list[str]:
    """What of a value is not as a type of a request says, unknown fields included."""
    kind, inside = get_origin(hint), get_args(hint)
    if kind in (Required, NotRequired, Annotated):
        return misfits(value, inside[0], place)
    if kind in (Union, UnionType):
        found = [misfits(value, option, place) for option in inside]
        return min(
            found, key=lambda texts: (any(text.startswith(f"{place}: ") for text in texts), len(texts))
        )
    if kind is Literal:
        return [] if value in inside else [f"{place}: {value!r} is none of {inside}"]
    if is_typeddict(hint):
        return misfits_of_fields(value, hint, place)
    if kind in (list, Iterable, Sequence) and isinstance(value, list):
        return [
            text
            for number, item in enumerate(value)
            for text in misfits(item, inside[0], f"{place}.{number}")
        ]
    if kind in (dict, Mapping) and isinstance(value, dict):
        return [text for name, item in value.items() for text in misfits(item, inside[1], f"{place}.{name}")]
    plain = {float: (int, float), object: object, Any: object}.get(hint, hint)
    fits = kind is None and isinstance(value, plain)  # type: ignore[arg-type]
    return [] if fits else [f"{place}: {value!r} is no {hint}"]


def misfits_of_fields(value: Any, hint: Any, place: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{place}: {value!r} has no fields"]
    fields = get_type_hints(hint, include_extras=True)
    wrong = [f"{place}.{name} is unknown" for name in value.keys() - fields.keys()]
    required = {
        name for name, inner in fields.items() if get_origin(inner) is Required
    } | hint.__required_keys__
    wrong += [f"{place}.{name} is missing" for name in required - value.keys()]
    known = value.keys() & fields.keys()
    return wrong + [text for name in known for text in misfits(value[name], fields[name], f"{place}.{name}")]


def test_the_check_of_requests_finds_what_does_not_belong() -> None:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": [{"type": "text", "txt": "x"}]}],
        "stream": True,
    }
    found = misfits(body, MessageCreateParamsStreaming)
    assert ".max_tokens is missing" in found and any(".messages.0" in text for text in found)
    assert misfits(body | {"max_tokens": 1, "messages": [], "top": 1}, MessageCreateParamsStreaming) == [
        ".top is unknown"
    ]


def readable(value: Any) -> Any:
    """The value without half characters, which pydantic cannot read and which we carry all the same."""
    return json.loads(json.dumps(value).replace("\\ud800", ""))


def without(value: Any, names: set[str]) -> Any:
    if isinstance(value, Mapping):
        return {name: without(inner, names) for name, inner in value.items() if name not in names}
    return [without(inner, names) for inner in value] if isinstance(value, list) else value
