"""What every dialect must do, and does alike: one suite over real servers of the three protocols."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pytest_django import Settings

import llm
from durable.stop_signal import StopSignal
from llm import (
    AnswerCancelled,
    BadModelAnswer,
    BadModelRequest,
    Completion,
    ContextTooLong,
    FailedTry,
    LLMError,
    ModelCut,
    ModelIdle,
    ModelRefused,
    ModelUnavailable,
    Policy,
    RateLimited,
    ReasoningDelta,
    StreamReset,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    ToolSpec,
    Usage,
)
from llm.carry import CARRY, VOLATILE, Carry
from tests.llm.conftest import PATIENT, Asked, wait_for
from tests.llm.dialect_servers import KEY, OPAQUE, PROTOCOLS, Fault, ModelServer, Script, need, running

ADD = ToolSpec(
    name="add", description="Add.", parameters={"type": "object", "properties": {"a": {"type": "integer"}}}
)
PIXEL = "data:image/png;base64,iVBORw0KGgo="
MODEL = {"chat": "gpt-4o", "anthropic": "claude-sonnet-5-5", "responses": "gpt-6.1-sol"}
HELLO = Script(text=("one ", "two ", "three ", "four"))
TEXT = "one two three four"
CALLS = Script(
    thoughts=("let me ", "see"),
    redacted=True,
    text=("Adding.",),
    calls=(("call_a", "add", ('{"a"', ": 1}")), ("call_b", "add", ('{"a": 2}',))),
)
Message = dict[str, Any]


@pytest.fixture(params=list(PROTOCOLS))
def server(request: pytest.FixtureRequest, settings: Settings) -> Iterator[ModelServer]:
    with running(PROTOCOLS[request.param]()) as model:
        use(settings, model)
        yield model


def use(settings: Settings, server: ModelServer) -> None:
    name = server.protocol.name
    is_anthropic = name == "anthropic"
    settings.OPENAI_API_KEY = "" if is_anthropic else KEY
    settings.OPENAI_BASE_URL = "" if is_anthropic else server.url
    settings.OPENAI_DIALECT = "responses" if name == "responses" else "chat"
    settings.ANTHROPIC_API_KEY = KEY if is_anthropic else ""
    settings.ANTHROPIC_BASE_URL = server.url.removesuffix("/v1") if is_anthropic else ""
    settings.COPILOT_MODEL = MODEL[name]
    settings.COPILOT_TITLE_MODEL = settings.COPILOT_FALLBACK_MODEL = ""


def ask(
    server: ModelServer, messages: list[Message] | None = None, **fields: Any
) -> tuple[Completion, Asked]:
    asked = Asked(
        model=fields.pop("model", MODEL[server.protocol.name]), policy=fields.pop("policy", PATIENT), **fields
    )
    if messages is not None:
        asked.request = replace(asked.request, messages=messages)
    return asked.run(), asked


def answer_message(completion: Completion) -> Message:
    """An answer as the engine keeps it: through the text of a database column."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in completion.tool_calls
    ]
    message: Message = {"role": "assistant", "content": completion.text or None}
    if calls:
        message["tool_calls"] = calls
    return message | ({CARRY: Carry.read(completion.carry.stored())} if completion.carry else {})


def results(completion: Completion) -> list[Message]:
    return [
        {"role": "tool", "tool_call_id": call.id, "content": f"result of {call.id}"}
        for call in completion.tool_calls
    ]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


# --- answers --------------------------------------------------------------------------------------


def test_text_streams_piece_by_piece_and_is_returned_whole(server: ModelServer) -> None:
    server.play(Script(text=("Hel", "lo ", "wörld 🌍")))
    server.pause = 0.02
    answer, asked = ask(server)
    assert (answer.text, answer.finish_reason, answer.model) == (
        "Hello wörld 🌍",
        "stop",
        MODEL[server.protocol.name],
    )
    assert asked.deltas == [TextDelta(text=piece) for piece in ("Hel", "lo ", "wörld 🌍")]


def test_reasoning_is_kept_apart_from_text(server: ModelServer) -> None:
    server.play(Script(thoughts=("let me see",), text=("42",)))
    answer, asked = ask(server)
    assert (answer.reasoning, answer.text) == ("let me see", "42")
    assert asked.of(ReasoningDelta) == [ReasoningDelta(text="let me see")]


def test_parallel_calls_keep_their_order_ids_and_arguments(server: ModelServer) -> None:
    server.play(CALLS)
    server.pause = 0.02
    answer, asked = ask(server, tools=[ADD])
    assert answer.finish_reason == "tool_calls"
    assert [(call.id, call.name, json.loads(call.arguments)) for call in answer.tool_calls] == [
        ("call_a", "add", {"a": 1}),
        ("call_b", "add", {"a": 2}),
    ]
    assert asked.of(ToolCallStart) == [
        ToolCallStart(index=0, id="call_a", name="add"),
        ToolCallStart(index=1, id="call_b", name="add"),
    ]
    assert asked.of(ToolCallDelta) == [
        ToolCallDelta(index=0, arguments='{"a"'),
        ToolCallDelta(index=0, arguments=": 1}"),
        ToolCallDelta(index=1, arguments='{"a": 2}'),
    ]


def test_a_call_without_arguments_is_one(server: ModelServer) -> None:
    server.play(Script(calls=(("call_a", "now", ()),)))
    answer, _ = ask(server)
    assert [(call.name, call.arguments) for call in answer.tool_calls] == [("now", "")]


def test_usage_has_what_was_read_from_the_cache_and_written_to_it_and_both_are_priced(
    server: ModelServer, settings: Settings, tmp_path: Any
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(
        json.dumps({MODEL[server.protocol.name]: {"input": 8, "output": 16, "cached": 1, "cache_write": 10}})
    )
    settings.COPILOT_PRICES_FILE = str(prices)
    server.play(replace(HELLO, usage={"fresh": 1000, "cached": 2000, "written": 500, "output": 100}))
    answer, _ = ask(server)
    assert answer.usage == Usage(
        input_tokens=3500, output_tokens=100, cached_tokens=2000, cache_write_tokens=500
    )
    assert answer.cost == Decimal(1000 * 8 + 2000 * 1 + 500 * 10 + 100 * 16) / 1_000_000


def test_an_answer_that_ends_at_the_cap_says_so(server: ModelServer) -> None:
    server.play(replace(HELLO, stop="length"))
    answer, _ = ask(server)
    assert (answer.text, answer.finish_reason) == (TEXT, "length")


def test_a_refusal_without_an_answer_is_an_error_and_is_not_asked_again(server: ModelServer) -> None:
    words = () if server.protocol.name == "anthropic" else ("I cannot do that.",)
    server.play(Script(text=words, stop="refusal"))
    with pytest.raises(ModelRefused):
        ask(server)
    assert len(server.asked) == 1


def test_an_answer_in_one_piece_although_a_stream_was_asked_for(server: ModelServer) -> None:
    server.play(replace(CALLS, redacted=False))
    server.faults = [Fault(whole=True)]
    answer, _ = ask(server)
    assert (answer.text, answer.finish_reason, len(answer.tool_calls)) == ("Adding.", "tool_calls", 2)
    assert answer.usage.output_tokens == 5


def test_events_that_nobody_knows_yet_are_passed_over(server: ModelServer) -> None:
    if server.protocol.name == "chat":
        pytest.skip("chat completions have no types of events")
    server.play(HELLO)
    server.faults = [Fault(garbage_at=2, garbage=b'event: new\ndata: {"type": "new_in_2027", "x": [1]}\n\n')]
    assert ask(server)[0].text == TEXT


# --- requests -------------------------------------------------------------------------------------


def test_a_server_that_is_strict_accepts_everything_a_request_can_hold(server: ModelServer) -> None:
    server.play(HELLO)
    picture = {"type": "image_url", "image_url": {"url": PIXEL}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "system", "content": "And kind."},
        user("hello"),
        {"role": "assistant", "content": "Hello."},
        {"role": "system", "content": "A note in the middle."},
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]},
        {"role": "system", "content": "It is Monday.", VOLATILE: True},
    ]
    wanted = {
        "type": "json_schema",
        "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True},
    }
    answer, _ = ask(
        server,
        messages,
        tools=[ADD],
        temperature=0.5,
        max_output_tokens=2000,
        user="u1",
        response_format=wanted,
    )
    assert (answer.text, server.refusals) == (TEXT, [])
    sent = json.dumps(server.asked[0].body)
    for words in (
        "Be brief.",
        "And kind.",
        "A note in the middle.",
        "It is Monday.",
        "iVBORw0KGgo=",
        "u1",
        "2000",
    ):
        assert words in sent
    assert VOLATILE not in sent
    thinks = server.protocol.name == "anthropic"  # a model that thinks takes no temperature
    assert server.asked[0].body.get("temperature") == (None if thinks else 0.5)


def test_what_was_given_with_an_answer_comes_back_exactly_through_a_turn_and_a_session(
    server: ModelServer,
) -> None:
    second = replace(CALLS, text=(), calls=(("call_c", "add", ('{"a": 3}',)),), redacted=False)
    server.play(CALLS, second, Script(thoughts=("so",), text=("Six.",)), Script(text=("Bye.",)))
    messages = [{"role": "system", "content": "Add."}, user("add 1, 2 and 3")]
    for text in ("Adding.", "", "Six."):
        answer, _ = ask(server, messages, tools=[ADD])
        assert answer.text == text
        messages += [answer_message(answer), *results(answer)]
    ask(server, [*messages, user("bye")], tools=[ADD])
    assert server.refusals == []
    assert json.dumps(OPAQUE)[1:-1] in json.dumps(server.asked[-1].body)


def test_text_before_the_thought_keeps_its_place(server: ModelServer) -> None:
    server.play(replace(CALLS, text_first=True), HELLO)
    messages = [user("add")]
    answer, _ = ask(server, messages, tools=[ADD])
    ask(server, [*messages, answer_message(answer), *results(answer)], tools=[ADD])
    assert server.refusals == []


def test_another_model_is_sent_nothing_opaque(server: ModelServer) -> None:
    server.play(CALLS, HELLO)
    answer, _ = ask(server, [user("add")], tools=[ADD])
    assert answer.carry
    server.protocol.given.clear()
    ask(server, [user("add"), answer_message(answer), *results(answer)], tools=[ADD], model="another")
    assert server.refusals == []
    assert "OPAQUE" not in json.dumps(server.asked[-1].body)


def test_a_carry_that_does_not_come_back_is_refused_by_the_server(server: ModelServer) -> None:
    """The proof that the server of these tests is strict."""
    server.play(CALLS, HELLO)
    answer, _ = ask(server, [user("add")], tools=[ADD])
    said = answer_message(answer)
    del said[CARRY]
    with pytest.raises(BadModelRequest):
        ask(server, [user("add"), said, *results(answer)], tools=[ADD])
    with pytest.raises(BadModelRequest):
        ask(server, [user("add"), answer_message(answer), *results(answer)[:1]], tools=[ADD])
    assert len(server.refusals) == 2


def test_a_provider_that_no_longer_accepts_what_it_gave_is_asked_without_it(server: ModelServer) -> None:
    server.play(CALLS, Script(thoughts=("x",), text=("Three.",)), HELLO)
    messages = [user("add")]
    for _ in range(2):
        answer, _ = ask(server, messages, tools=[ADD])
        messages += [answer_message(answer), *results(answer)]
    server.protocol.given.clear()
    server.check = refuse_what_was_given
    answer, _ = ask(server, [*messages, user("more")], tools=[ADD])
    assert (answer.text, len(server.refusals)) == (TEXT, 1)


def refuse_what_was_given(body: Message) -> None:
    need("OPAQUE" not in json.dumps(body), "messages.1.content.0: Invalid `signature` in `thinking` block")


def test_calls_of_another_provider_are_sent_under_ids_that_are_allowed(server: ModelServer) -> None:
    server.play(HELLO)
    ids = ["call.1", "call_1", "a" * 80, "é/日本"]
    calls = [{"id": one, "type": "function", "function": {"name": "add", "arguments": "{}"}} for one in ids]
    answers = [{"role": "tool", "tool_call_id": one, "content": "1"} for one in ids]
    said = {"role": "assistant", "content": None, "tool_calls": calls}
    ask(server, [user("add"), said, *answers], tools=[ADD])
    assert server.refusals == []


# --- failures -------------------------------------------------------------------------------------

OVERLOADED: Message = {"type": "overloaded_error", "message": "Overloaded"}


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_a_passing_status_is_tried_again(server: ModelServer, status: int) -> None:
    server.play(HELLO)
    server.faults = [Fault(status=status, times=2, error=OVERLOADED if status == 529 else {})]
    answer, asked = ask(server)
    assert (answer.text, asked.shown, len(server.asked)) == (TEXT, TEXT, 3)


def test_a_short_pause_is_waited_for_and_a_long_one_frees_the_worker(server: ModelServer) -> None:
    server.play(HELLO)
    limited = {"type": "rate_limit_error", "message": "slow down"}
    server.faults = [Fault(status=429, headers={"retry-after": "0"}, error=limited)]
    assert ask(server)[0].text == TEXT
    server.faults = [Fault(status=429, headers={"retry-after": "120"}, error=limited)]
    with pytest.raises(RateLimited) as caught:
        ask(server)
    assert caught.value.retry_after == 120


@pytest.mark.parametrize(
    ("status", "message", "error"),
    [
        (401, "invalid x-api-key", BadModelRequest),
        (403, "no", BadModelRequest),
        (404, "model: nothing", BadModelRequest),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", ContextTooLong),
        (400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", ContextTooLong),
        (400, "Your input exceeds the context window of this model.", ContextTooLong),
        (413, "Request exceeds the maximum size", BadModelRequest),
    ],
)
def test_a_lasting_status_ends_at_once_in_its_error(
    server: ModelServer, status: int, message: str, error: type[LLMError]
) -> None:
    server.faults = [Fault(status=status, times=9, error={"message": message})]
    with pytest.raises(LLMError) as caught:
        ask(server)
    assert (type(caught.value), len(server.asked)) == (error, 1)


def test_a_refused_key_is_named_by_its_setting_and_never_shown(server: ModelServer) -> None:
    server.faults = [Fault(status=401, error={"message": f"invalid key {KEY}"})]
    with pytest.raises(BadModelRequest) as caught:
        ask(server)
    setting = "ANTHROPIC_API_KEY" if server.protocol.name == "anthropic" else "OPENAI_API_KEY"
    assert setting in caught.value.user_message and setting in str(caught.value)
    assert KEY not in str(caught.value) + repr(vars(caught.value))


PASSING: dict[str, Message] = {
    "chat": {"message": "Overloaded", "code": 529},
    "anthropic": OVERLOADED,
    "responses": {"code": "server_error", "message": "Overloaded", "failed": True},
}


@pytest.mark.parametrize("place", [1, 3, 5])
def test_an_error_inside_the_stream_voids_what_was_shown_and_is_tried_again(
    server: ModelServer, place: int
) -> None:
    server.play(HELLO)
    server.faults = [Fault(error_event_at=place, error=PASSING[server.protocol.name])]
    answer, asked = ask(server)
    assert (answer.text, asked.shown) == (TEXT, TEXT)
    failed = next(place for place, delta in enumerate(asked.deltas) if isinstance(delta, FailedTry))
    assert len(asked.of(StreamReset)) == (failed > 0)


def test_an_error_that_keeps_coming_inside_the_stream_ends_as_unavailable(server: ModelServer) -> None:
    server.faults = [Fault(error_event_at=1, error=PASSING[server.protocol.name], times=9)]
    with pytest.raises(ModelUnavailable):
        ask(server)
    assert len(server.asked) == PATIENT.tries


def test_a_lasting_error_inside_the_stream_is_not_tried_again(server: ModelServer) -> None:
    kinds: dict[str, Message] = {
        "chat": {"code": 400},
        "anthropic": {"type": "invalid_request_error"},
        "responses": {"code": "invalid_prompt", "failed": True},
    }
    server.faults = [Fault(error_event_at=1, times=9, error=kinds[server.protocol.name] | {"message": "bad"})]
    with pytest.raises(BadModelRequest):
        ask(server)
    assert len(server.asked) == 1


def number_of_events(server: ModelServer, script: Script) -> int:
    return len(server.protocol.events(script, 0))


@pytest.mark.parametrize("fault", ["cut_at", "end_at"])
@pytest.mark.parametrize("script", [HELLO, CALLS], ids=["text", "calls"])
def test_a_stream_that_breaks_anywhere_ends_in_the_whole_answer_once(
    server: ModelServer, script: Script, fault: str
) -> None:
    server.play(script)
    for place in range(number_of_events(server, script)):
        server.faults = [Fault(cut_at=place) if fault == "cut_at" else Fault(end_at=place)]
        server.answers = 0
        asked_before = len(server.asked)
        answer, asked = ask(server, tools=[ADD])
        assert answer.text == "".join(script.text) == asked.shown
        assert [call.id for call in answer.tool_calls] == [call[0] for call in script.calls]
        assert len(server.asked) - asked_before <= 2


def test_a_stream_that_always_breaks_is_given_up(server: ModelServer) -> None:
    server.play(HELLO)
    server.faults = [Fault(end_at=4, times=99)]
    with pytest.raises(ModelCut):
        ask(server)


@pytest.mark.parametrize("place", [0, 4])
def test_a_silent_server_is_given_up(server: ModelServer, place: int) -> None:
    server.faults = [Fault(hang_at=place, times=99)]
    with pytest.raises(ModelIdle):
        ask(server, policy=replace(PATIENT, idle_seconds=0.15))


@pytest.mark.parametrize(
    "garbage",
    [
        b"data: {no json\n\n",
        b"data: []\n\n",
        b'data: "x"\n\n',
        b'data: {"type": 7}\n\n',
        b"data: [" * 9000 + b"\n\n",
    ],
    ids=["no json", "a list", "a text", "no type", "deep"],
)
def test_nonsense_inside_the_stream_is_tried_again(server: ModelServer, garbage: bytes) -> None:
    server.play(HELLO)
    server.faults = [Fault(garbage_at=3, garbage=garbage)]
    answer, asked = ask(server)
    assert answer.text == TEXT == asked.shown


def test_an_answer_without_end_is_cut_off_at_the_cap(server: ModelServer) -> None:
    server.play(Script(text=("x" * 50_000, "y" * 100_000)))
    with pytest.raises(BadModelAnswer, match="larger than"):
        ask(server, policy=Policy(tries=1, cut_tries=0, max_answer_bytes=100_000))


def test_a_large_event_arrives_whole(server: ModelServer) -> None:
    server.play(Script(text=("x" * 3_000_000,)))
    assert len(ask(server)[0].text) == 3_000_000


def test_a_server_of_another_protocol_is_an_error_that_says_so(server: ModelServer) -> None:
    other = PROTOCOLS["anthropic" if server.protocol.name == "chat" else "chat"]()
    server.protocol.events = other.events  # type: ignore[method-assign]
    with pytest.raises(LLMError) as caught:
        ask(server)
    assert type(caught.value) in (BadModelAnswer, ModelCut)


def test_cancel_closes_the_request_at_once_and_nothing_follows(server: ModelServer) -> None:
    server.play(Script(text=tuple(f"{n} " for n in range(500))))
    server.pause = 0.01
    asked, cancelled = Asked(model=MODEL[server.protocol.name], policy=PATIENT), StopSignal()
    outcome: list[BaseException] = []

    def run() -> None:
        try:
            asked.run(cancelled)
        except AnswerCancelled as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_for(lambda: "1 " in asked.shown)
    cancelled.set()
    thread.join(5)
    shown = asked.shown
    assert [type(error) for error in outcome] == [AnswerCancelled]
    wait_for(lambda: server.asked[0].closed_early)
    assert asked.shown == shown and len(server.asked) == 1


@pytest.mark.parametrize("name", ["temperature", "user"])
def test_an_option_that_a_server_refuses_is_left_out_from_then_on(server: ModelServer, name: str) -> None:
    wire = {"anthropic": {"user": "metadata"}, "responses": {"user": "safety_identifier"}}
    field = wire.get(server.protocol.name, {}).get(name, name)
    server.play(HELLO)
    error = {"message": f"{field}: Extra inputs are not permitted", "param": field}
    server.faults = [Fault(status=400, error=error)]
    model = f"picky-{server.protocol.name}-{name}"
    for _ in range(2):
        assert ask(server, model=model, temperature=0.1, user="u")[0].text == TEXT
    assert [field in asked.body for asked in server.asked] == [True, False, False]


def test_a_server_is_asked_for_its_models_when_none_is_named(server: ModelServer, settings: Settings) -> None:
    settings.COPILOT_MODEL = ""
    assert llm.default_model() == "first-model"
    assert server.asked[0].path.partition("?")[0] == "/v1/models"
    assert ("x-api-key" in server.asked[0].headers) == (server.protocol.name == "anthropic")
    assert ("authorization" in server.asked[0].headers) == (server.protocol.name != "anthropic")
