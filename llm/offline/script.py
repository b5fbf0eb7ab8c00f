"""Scripted answers: a test defines exactly what the offline model answers and which faults occur.

A script can be played in two ways:

1. In a chat, through the whole product: the user's most recent message contains `SCRIPT:` followed by a JSON
   object, fenced or not::

       Please run this. SCRIPT:
       ```json
       {"id": "refund-1", "steps": [{"tool_calls": [{"name": "find_block", "arguments": {"query": "sum"}}]},
                                    {"text": "Found it."}]}
       ```

2. From Python: `OfflineModel.play(script, contains="words of the user's message")`.

`steps` has one entry per round of the turn; the round is the number of assistant messages after the user's most recent
message. After the last step the answer is `done`. `id` names the script in the request log and the fault counters; the
default is a hash of the script. Requests for a title or a summary never play a script.

A step:

| field | meaning |
|---|---|
| `text` | the answer's text, streamed word by word |
| `chunks` | a list of exact pieces, or a number of pieces for the text (`0 1 2 ...` without text) |
| `delay` | seconds between pieces (0) |
| `first_delay` | seconds before the first byte (0) |
| `reasoning` | streamed first, as `reasoning_content` |
| `tool_calls` | list of `{"name", "arguments", "id"?}`; arguments are an object, or a string sent verbatim |
| `finish_reason` | default `stop`, or `tool_calls` with tool calls |
| `usage` | `{"prompt_tokens", "completion_tokens", ...}`; counted if absent; `{}` sends none |
| `fault` | see below |
| `gate`, `gate_at` | wait before piece `gate_at` (0) until the named gate is released |

A gate is released for good by `OfflineModel.release(name)` or `POST /control/release {"gate": name}`, also before it is
reached. Pieces are counted over reasoning (one piece), text and tool calls (two pieces each: name and arguments).

A fault (`"model": name` limits it to that model):

| fault | meaning |
|---|---|
| `{"status": 429, "retry_after": 2}` | an HTTP error; also `retry_after_ms`, and `error` with fields of the body |
| `{"cut_after_chunks": 5}` | the connection breaks after that many pieces |
| `{"hang_after_chunks": 3}` | silence after that many pieces, until the client disconnects |
| `{"drop": true}` | the connection is closed without any answer |
| `{"nonsense": "html"}` | 200 with a web page |
| `{"nonsense": "bad_sse"}` | an event whose data is not JSON, after the first piece |
| `{"nonsense": "no_sse"}` | text/event-stream whose body is not an event stream |
| `{"nonsense": "error_body"}` | 200 with an error object as JSON |
| `{"nonsense": "error_event"}` | an error object as an event, after the first piece |
| `{"nonsense": "bad_tool_json"}` | truncated tool call arguments in an otherwise complete answer |
| `{"nonsense": "huge_chunk"}` | the whole text in one event, repeated to 4 MB |
| `{"nonsense": "half_event"}` | the body ends in the middle of an event, after the first piece |
| `{"nonsense": "no_finish"}` | the stream ends with [DONE] but without a finish reason |
| `{"nonsense": "no_done"}` | the stream ends after the finish reason, without usage and [DONE] |

`times` is how often a fault occurs before the step is played as written: by default once, and always for nonsense;
`null` means always. It is counted per script `id` and step, in the server's memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from llm.offline.conversation import find_object
from llm.offline.reply import Fault, OfflineToolCall, Reply, split_evenly, split_words

MARKER = "SCRIPT:"
DONE = Reply(pieces=("done",))
NONSENSE = {
    *("html", "bad_sse", "no_sse", "error_body", "error_event", "bad_tool_json", "huge_chunk"),
    *("half_event", "no_finish", "no_done"),
}
STEP_FIELDS = {
    *("text", "chunks", "delay", "first_delay", "reasoning", "tool_calls", "finish_reason"),
    *("usage", "fault", "gate", "gate_at"),
}


class BadScript(ValueError):
    """The script has an unknown field or an invalid value."""


@dataclass(frozen=True, kw_only=True)
class Script:
    """The answers of one turn, round by round."""

    id: str
    steps: tuple[Reply, ...]

    def reply(self, round: int) -> Reply:
        return self.steps[round] if round < len(self.steps) else DONE


def find_script(text: str) -> Script | None:
    """Return the script in a message, or None."""
    _, marker, rest = text.partition(MARKER)
    if not marker:
        return None
    data = find_object(rest)
    if not data:
        raise BadScript(f"No JSON object follows {MARKER}")
    return read_script(data)


def read_script(data: Mapping[str, Any]) -> Script:
    """Validate a script and return it."""
    steps = data.get("steps")
    if not isinstance(steps, list):
        raise BadScript('A script must be {"steps": [...]}')
    name = data.get("id") or hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
    return Script(id=str(name), steps=tuple(_read_step(step) for step in steps))


def _read_step(step: Mapping[str, Any]) -> Reply:
    unknown = set(step) - STEP_FIELDS
    if unknown:
        raise BadScript(f"A step has no field {', '.join(sorted(unknown))}")
    return Reply(
        pieces=_read_pieces(str(step.get("text", "")), step.get("chunks")),
        reasoning=str(step.get("reasoning", "")),
        tool_calls=tuple(_read_call(call) for call in step.get("tool_calls", ())),
        finish_reason=str(step.get("finish_reason") or ""),
        usage=step.get("usage"),
        delay=float(step.get("delay", 0)),
        first_delay=float(step.get("first_delay", 0)),
        fault=_read_fault(step["fault"]) if step.get("fault") else None,
        gate=str(step.get("gate", "")),
        gate_at=int(step.get("gate_at", 0)),
    )


def _read_pieces(text: str, chunks: int | list[str] | None) -> tuple[str, ...]:
    if isinstance(chunks, list):
        return tuple(str(piece) for piece in chunks)
    if chunks is None:
        return split_words(text)
    return split_evenly(text, chunks) if text else tuple(f"{number} " for number in range(chunks))


def _read_call(call: Mapping[str, Any]) -> OfflineToolCall:
    arguments = call.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return OfflineToolCall(name=str(call["name"]), arguments=text, id=str(call.get("id", "")))


def _read_fault(fault: Mapping[str, Any]) -> Fault:
    unknown = set(fault) - {field.name for field in fields(Fault)}
    if unknown:
        raise BadScript(f"A fault has no field {', '.join(sorted(unknown))}")
    nonsense = fault.get("nonsense", "")
    if nonsense and nonsense not in NONSENSE:
        raise BadScript(f"Unknown nonsense {nonsense!r}; known are {', '.join(sorted(NONSENSE))}")
    return Fault(**({"times": None if nonsense else 1} | dict(fault)))
