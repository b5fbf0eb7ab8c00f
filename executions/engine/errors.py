"""Errors that end an attempt at an execution; a failed block is not one.

EngineError
├── CannotPlan     the graph cannot be run at all
├── NodeFailed     a node failed and its error pin is not linked
├── OutOfMoney     a run could not be paid for
├── Woken          a wake-up came before the execution began to wait
└── ValueNotStored a value was too large to be stored
"""

from __future__ import annotations


class EngineError(Exception):
    """The execution cannot continue."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class CannotPlan(EngineError):
    """The graph of this agent cannot be run."""


class NodeFailed(EngineError):
    """A node failed."""


class OutOfMoney(EngineError):
    """Your budget is used up."""


class Woken(EngineError):
    """A wake-up came before the execution began to wait."""


class ValueNotStored(EngineError):
    """A value is too large to be stored."""
