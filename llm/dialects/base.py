"""The interface of dialects: everything that differs between the protocols of model servers, and nothing else.

A dialect says where a request goes and with which headers, writes its body, and reads the stream that answers it.
Retries, timeouts, size limits, cancellation and costs are the same for all of them: see `llm.model_call`.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from llm.answer import AnswerCollector
from llm.endpoint import Endpoint
from llm.failures import error_object
from llm.prefix import has_carry
from llm.types import Delta, Request

COMMON_WORDS = ("include", "metadata", "reasoning", "signature", "text", "thinking", "user")
UNWANTED = re.compile(  # about a field that was sent, not about one that is missing
    r"extra[ _](inputs?|fields?|forbidden)|not (permitted|allowed|supported)|does not support|unsupported|unknown|"
    r"unrecogni[sz]ed|unexpected|please remove",
    re.IGNORECASE,
)
BAD_ID_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")
MAX_ID_CHARACTERS = 64


class WrittenJSON(str):
    """The value of a field of a request, written as JSON already."""


class Dialect(ABC):
    """The protocol of one model at one server, without the fields it refused; learned from its 400 responses."""

    path: ClassVar[str]  # below the address of the endpoint
    optional: ClassVar[tuple[str, ...]]  # fields of a request that are left out if the server refuses them

    def __init__(self, *, origin: str = "", is_openai: bool = False, effort: str = "") -> None:
        self._origin = origin
        self._effort = effort
        self._refused: frozenset[str] = frozenset()

    @staticmethod
    def headers(endpoint: Endpoint) -> Mapping[str, str | None]:
        """Return the headers beside the usual ones; None leaves out a usual one."""
        return {}

    @abstractmethod
    def body(self, request: Request, model: str) -> dict[str, Any]:
        """Return the request as the server reads it, with every optional field."""

    @abstractmethod
    def answer(self, on_delta: Callable[[Delta], None]) -> AnswerCollector:
        """Return what reads the stream that answers a request."""

    def write(self, request: Request, model: str) -> bytes:
        """Return the bytes of a request, without what was refused before."""
        body = self.body(request, model)
        for name in self._refused:
            body.pop(name, None)
        fields = (f"{written_json(name)}: {written_json(value)}" for name, value in body.items())
        text = f"{{{', '.join(fields)}}}"
        # a lone surrogate becomes a question mark in text, but is restored from its escape in a carry
        exact = has_carry(request.messages)
        return text.encode("utf-8", "backslashreplace" if exact else "replace")

    def learn(self, status: int, body: bytes, sent: bytes) -> bool:
        """Return whether the server refused something that can be left out or renamed; the next request does so."""
        if status not in (400, 422):
            return False
        error = error_object(body) or {"message": body.decode("utf-8", "replace")}
        text = f"{error.get('param') or ''} {error.get('message') or ''}"
        return self._adapt(text, json.loads(sent))

    def _adapt(self, text: str, sent: Mapping[str, Any]) -> bool:
        """Refuse the optional fields that an error names; False when it names none that was sent."""
        named = [name for name in self.optional if name in sent and names_field(text, name)]
        self._refused |= frozenset(named)
        return bool(named)


def names_field(text: str, name: str) -> bool:
    """Return whether an error names the field; a common word must be quoted, a path, or the `param`."""
    anywhere = "" if name in COMMON_WORDS else rf"|\b{name}\b"
    return re.search(rf"^{name}[ .]|['\"`]{name}[.'\"`]|\.{name}\b{anywhere}", text) is not None


def wire_id(call_id: str) -> str:
    """Return the id of a tool call in the characters that strict servers allow; it may come from another provider."""
    if call_id and len(call_id) <= MAX_ID_CHARACTERS and not BAD_ID_CHARACTER.search(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{BAD_ID_CHARACTER.sub('_', call_id)[:40]}_{digest}"


def written_json(value: object) -> str:
    """Return a value as it is sent, in JSON."""
    if isinstance(value, WrittenJSON):
        return value
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be sent to a model")
