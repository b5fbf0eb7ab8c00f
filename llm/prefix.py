"""Conversations whose beginning was sent before: it is counted and written as JSON once, not with every request."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from llm.carry import CARRY

Message = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class StablePrefix:
    """Messages that do not change any more, as the model `origin` reads them, with the number of their tokens.

    It ends where an exchange ends, so that no later message changes which carries it is sent with. The messages are
    shared between requests: nobody may change them.
    """

    messages: Sequence[Message] = ()
    origin: str = ""
    tokens: int = 0
    has_carry: bool = False
    _written: dict[Hashable, tuple[int, str]] = field(default_factory=dict, repr=False)

    def extended(self, messages: Sequence[Message], tokens: int) -> StablePrefix:
        """Return a longer prefix; what was written of this one is not written again."""
        return StablePrefix(
            messages=[*self.messages, *messages],
            origin=self.origin,
            tokens=self.tokens + tokens,
            has_carry=self.has_carry or any(CARRY in message for message in messages),
            _written=dict(self._written),
        )

    def written(self, form: Hashable, write: Callable[[Sequence[Message]], str]) -> str:
        """Return the messages in a written form, separated by commas; only those not yet written are."""
        count, text = self._written.get(form, (0, ""))
        if count < len(self.messages):
            text = joined(text, write(self.messages[count:]))
            self._written[form] = len(self.messages), text
        return text


class PrefixedMessages(Sequence[Message]):
    """The messages of a request: an opening, a prefix that stays the same, and the rest, which begins an exchange."""

    def __init__(self, opening: Sequence[Message], prefix: StablePrefix, rest: Sequence[Message]) -> None:
        self.opening = opening
        self.prefix = prefix
        self.rest = rest

    def with_last(self, message: Message) -> PrefixedMessages:
        """Return the same messages and one more."""
        return PrefixedMessages(self.opening, self.prefix, [*self.rest, message])

    def __len__(self) -> int:
        return len(self.opening) + len(self.prefix.messages) + len(self.rest)

    def __iter__(self) -> Iterator[Message]:
        yield from self.opening
        yield from self.prefix.messages
        yield from self.rest

    @overload
    def __getitem__(self, place: int) -> Message: ...
    @overload
    def __getitem__(self, place: slice) -> list[Message]: ...
    def __getitem__(self, place: int | slice) -> Message | list[Message]:
        return [*self.opening, *self.prefix.messages, *self.rest][place]


def joined(*texts: str) -> str:
    """Return the written messages of several parts, some of which may be empty, as those of one list."""
    return ", ".join(text for text in texts if text)


def has_carry(messages: Sequence[Message]) -> bool:
    """Return whether an answer among the messages has a carry."""
    if isinstance(messages, PrefixedMessages):
        return messages.prefix.has_carry or has_carry(messages.opening) or has_carry(messages.rest)
    return any(CARRY in message for message in messages)
