"""What can keep an agent from being built.

GeneratorError
├── BadDraft          what the model answered is no agent: it is told, and tries again
├── NotBuilt          a few rounds of repair were not enough; the last draft is kept
└── OutsideFailed     the outside generator is down, slow or answers nonsense
"""

from __future__ import annotations

from collections.abc import Sequence

from executions.agents.validation import Problem
from executions.graph import Graph


class GeneratorError(Exception):
    """The agent could not be built."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class BadDraft(GeneratorError):
    """This is no agent JSON."""


class NotBuilt(GeneratorError):
    """The model did not manage to draw an agent that can run."""

    def __init__(self, message: str, *, draft: Graph | None = None, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.draft = draft
        self.problems = tuple(problems)


class OutsideFailed(GeneratorError):
    """The outside generator did not answer as it should."""
