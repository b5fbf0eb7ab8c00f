"""The error tree of this package.

BoundaryError
├── FetchError
│   ├── BlockedUrl           refused before any packet; `reason` says which rule
│   ├── InvalidRequest       the caller asked for something that cannot be sent
│   ├── ResponseTooLarge     the response is larger than allowed
│   ├── TooSlow              the whole exchange took longer than allowed
│   └── FetchFailed
│       ├── HostNotFound
│       ├── ConnectionFailed
│       ├── TooManyRedirects
│       └── BadAnswer
├── UnreadablePage
├── ParserError
│   ├── UnreadableContent    the content is not what it should be; the text says why
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
    PORT = "port"  # not a port of the public web
    AMBIGUOUS_ADDRESS = "ambiguous_address"  # such as 2130706433, 0x7f000001, 0177.0.0.1, 127.1
    NOT_PUBLIC = "not_public"  # an address, or one of a name's addresses, is not on the public internet
    INTERNAL_NAME = "internal_name"  # localhost, *.internal and the like
    OWN_HOST = "own_host"  # this site itself


class BoundaryError(Exception):
    """Talking to an outside system failed."""

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


class ResponseTooLarge(FetchError):
    """The response is larger than allowed."""

    code = "too_large"


class TooSlow(FetchError):
    """The request took longer than allowed."""

    code = "too_slow"


class FetchFailed(FetchError):
    """The server could not be reached or did not return a usable response."""

    code = "fetch_failed"


class HostNotFound(FetchFailed):
    """The host name does not exist."""


class ConnectionFailed(FetchFailed):
    """The connection to the server failed."""


class TooManyRedirects(FetchFailed):
    """The server redirected too many times."""


class BadAnswer(FetchFailed):
    """The server's response is not valid HTTP."""


class UnreadablePage(BoundaryError):
    """This content cannot be shown as text."""

    code = "unreadable_page"


class ParserError(BoundaryError):
    """The content could not be read."""

    code = "parser_error"


class UnreadableContent(ParserError):
    """The content is not in the expected format."""

    code = "unreadable_content"


class ParserStopped(ParserError):
    """Reading the content took too much time or memory, so it was stopped."""

    code = "parser_stopped"


class ParserBusy(ParserError):
    """Too much content is being read on this machine right now. Try again shortly."""

    code = "parser_busy"


class ParserCrashed(ParserError):
    """Reading the content failed because of an error on our side. The error was logged."""

    code = "parser_crashed"


class SandboxError(BoundaryError):
    """The code could not be run."""

    code = "sandbox_error"


class SandboxUnavailable(SandboxError):
    """Running code is switched off or not possible on this machine. Run `./copilot doctor` for details."""

    code = "sandbox_unavailable"


class SandboxBusy(SandboxError):
    """Too much code is running on this machine right now. Try again shortly."""

    code = "sandbox_busy"


class SandboxBroken(SandboxError):
    """The sandbox could not be set up, so nothing was run."""

    code = "sandbox_broken"
