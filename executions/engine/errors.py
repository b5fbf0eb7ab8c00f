"""What can go wrong while an execution runs; a failed block is no such error.

EngineError
├── CannotPlan     the graph cannot be run at all
├── NodeFailed     a node failed and nothing in the graph takes its error
├── OutOfMoney     a run could not be paid for
├── Woken          on its way to wait, the execution heard that there is something to do
└── NotKept        a value was too large to be kept
"""

from __future__ import annotations


class EngineError(Exception):
    """The execution cannot go on."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class CannotPlan(EngineError):
    """The graph of this agent cannot be run."""


class NodeFailed(EngineError):
    """A node failed."""


class OutOfMoney(EngineError):
    """Your budget is used up."""


class Woken(EngineError):
    """There is something to do after all."""


class NotKept(EngineError):
    """A value is too large to be kept."""
