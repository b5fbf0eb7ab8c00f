"""What can go wrong at the border with the outside.

BoundaryError
├── FetchError
│   ├── BlockedUrl           refused before any packet; `reason` says which rule
│   ├── InvalidRequest       the caller asked for something that cannot be sent
│   ├── TooLarge             the answer is larger than allowed
│   ├── TooSlow              the whole exchange took longer than allowed
│   └── FetchFailed
│       ├── HostNotFound
│       ├── ConnectionFailed
│       ├── TooManyRedirects
│       └── BadAnswer
├── UnreadablePage
├── ParserError
│   ├── ParserStopped
│   ├── ParserBusy
│   └── ParserCrashed
└── SandboxError
    ├── SandboxUnavailable
    ├── SandboxBusy
    └── SandboxBroken
"""

from __future__ import annotations

from enum import StrEnum


class BlockedReason(StrEnum):
    """Which rule refused a URL."""

    MALFORMED = "malformed"  # not a URL that every parser reads the same way
    SCHEME = "scheme"  # neither http nor https
    CREDENTIALS = "credentials"  # user:password in the URL
    PORT = "port"  # a port that is not served to the public web
    AMBIGUOUS_ADDRESS = "ambiguous_address"  # 2130706433, 0x7f000001, 0177.0.0.1, 127.1
    NOT_PUBLIC = "not_public"  # an address, or one of a name's addresses, is not on the public internet
    INTERNAL_NAME = "internal_name"  # localhost, *.internal and the like
    OWN_HOST = "own_host"  # this site itself


class BoundaryError(Exception):
    """Something went wrong at the border with the outside."""

    code = "boundary_error"

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class FetchError(BoundaryError):
    """The request could not be made."""

    code = "fetch_error"


class BlockedUrl(FetchError):
    """This address may not be fetched."""

    code = "blocked_url"

    def __init__(self, reason: BlockedReason, message: str = "") -> None:
        self.reason = reason
        super().__init__(message)


class InvalidRequest(FetchError):
    """The request itself is not valid."""

    code = "invalid_request"


class TooLarge(FetchError):
    """The answer is larger than allowed."""

    code = "too_large"


class TooSlow(FetchError):
    """The answer took longer than allowed."""

    code = "too_slow"


class FetchFailed(FetchError):
    """The server could not be reached or gave no usable answer."""

    code = "fetch_failed"


class HostNotFound(FetchFailed):
    """The host name does not exist."""


class ConnectionFailed(FetchFailed):
    """The connection to the server failed."""


class TooManyRedirects(FetchFailed):
    """The server redirected too often."""


class BadAnswer(FetchFailed):
    """The server's answer does not follow HTTP."""


class UnreadablePage(BoundaryError):
    """This content cannot be shown as text."""

    code = "unreadable_page"


class ParserError(BoundaryError):
    """The content could not be read."""

    code = "parser_error"


class ParserStopped(ParserError):
    """The content takes too much time or memory to read, so reading it was stopped."""

    code = "parser_stopped"


class ParserBusy(ParserError):
    """Too much content is being read on this machine right now. Try again shortly."""

    code = "parser_busy"


class ParserCrashed(ParserError):
    """The content could not be read because of an error on our side, which was logged."""

    code = "parser_crashed"


class SandboxError(BoundaryError):
    """The code could not be run."""

    code = "sandbox_error"


class SandboxUnavailable(SandboxError):
    """Running code is switched off or not possible on this machine. See `./copilot doctor`."""

    code = "sandbox_unavailable"


class SandboxBusy(SandboxError):
    """Too much code is running on this machine right now. Try again shortly."""

    code = "sandbox_busy"


class SandboxBroken(SandboxError):
    """The sandbox could not be set up, so nothing was run."""

    code = "sandbox_broken"
