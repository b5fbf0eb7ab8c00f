"""Errors of the generator.

GeneratorError
├── BadDraft          the model's answer is not an agent: it gets the message and tries again
├── NotBuilt          the repair rounds were not enough; carries the last draft
└── ExternalGeneratorFailed     the external generator is down, slow or gives an unusable answer
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
    """This is not agent JSON."""


class NotBuilt(GeneratorError):
    """The model did not produce an agent that can run."""

    def __init__(self, message: str, *, draft: Graph | None = None, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.draft = draft
        self.problems = tuple(problems)


class ExternalGeneratorFailed(GeneratorError):
    """The external generator gave no usable answer."""
