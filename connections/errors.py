"""How talking to an MCP server can fail, and refusals about servers.

ToolServerError                the request gave no result; the text is for a person
├── ServerUnreachable      no answer, or none that is HTTP: counts as a failure of the server
│   └── ServerPaused       it failed before and is left alone for a while; nothing was sent
├── ServerRefused          the server answered the request with an error
├── SignInNeeded           it wants a sign-in, or a better one
├── ServerMisbehaved       its answer is not one of the protocol
└── NoCommonVersion        it speaks no revision that we speak

Refusal
├── TooManyServers         409
├── BadServer              400
├── ServerNotReached       502  the server gave no answer, or not one that helps
├── ToolNotWaiting         409  there is no change to approve
└── SignInImpossible       400  the server offers no sign-in that we can use
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from durable.errors import Refusal


class ToolServerError(Exception):
    """The MCP server did not do what was asked."""

    code = "server_failed"

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class ServerUnreachable(ToolServerError):
    """The MCP server did not answer."""

    code = "server_unreachable"


class ServerPaused(ServerUnreachable):
    """The MCP server failed several times and is left alone for a while."""

    code = "server_paused"


class ServerRefused(ToolServerError):
    """The MCP server answered with an error."""

    code = "server_refused"

    def __init__(self, message: str, *, error_code: int, data: Any = None) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.data = data


class SignInNeeded(ToolServerError):
    """The MCP server wants you to sign in. Open the library, Connections, and sign in there."""

    code = "sign_in_needed"

    def __init__(self, message: str = "", *, challenge: str = "") -> None:
        super().__init__(message)
        self.challenge = challenge


class ServerMisbehaved(ToolServerError):
    """The MCP server did not answer in the words of the protocol."""

    code = "server_misbehaved"


class NoCommonVersion(ToolServerError):
    """The MCP server speaks no revision of the protocol that this site speaks."""

    code = "no_common_version"


class TooManyServers(Refusal):
    """You have reached the maximum number of MCP servers."""

    status = HTTPStatus.CONFLICT
    code = "too_many_servers"
    hint = "Remove one that you no longer use, then add the new one."


class BadServer(Refusal):
    """The MCP server cannot be added like this."""

    code = "bad_server"


class ServerNotReached(Refusal):
    """The MCP server did not answer."""

    status = HTTPStatus.BAD_GATEWAY
    code = "server_not_reached"


class ToolNotWaiting(Refusal):
    """There is no change of this tool to approve."""

    status = HTTPStatus.CONFLICT
    code = "tool_not_waiting"


class SignInImpossible(Refusal):
    """This MCP server offers no sign-in that this site can use."""

    code = "sign_in_impossible"
