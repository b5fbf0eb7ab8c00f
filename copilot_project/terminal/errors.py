"""Errors of the terminal chat.

ChatFailed
├── SiteRefused      the site answered with an error
└── ConnectionLost   the site could not be reached for too long
"""

from __future__ import annotations


class ChatFailed(Exception):
    """The message could not be answered."""


class SiteRefused(ChatFailed):
    """The site refused the request."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class ConnectionLost(ChatFailed):
    """The site cannot be reached. Check that it is running, for example with ./copilot doctor."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)
