"""What can go wrong with a block.

BlockError                 ends the node as FAILED; its text travels along the links of the `error` pin
├── InputError             the inputs do not fit the pins: nothing was run
├── OutputError            the block emitted something its pins do not allow
├── BlockFailed            the block's own refusal: the sentence is for the person
│   └── CredentialsMissing a credential the block needs is not there
├── BlockTimedOut          the time cap of the node run passed
├── BlockCancelled         nobody wants the result any more
├── BudgetUsedUp           there is no money left for it: ends the execution, whatever is linked
└── BlockCrashed           an error nobody foresaw; its traceback is in the log

BlockParked                not an error: the node waits without a worker and is run again later
├── ParkedForReview        until a person has decided
├── ParkedUntil            until a time
└── ParkedForJob           until another job has ended

RegistryError              the catalogue itself is wrong: found at start-up by a system check
├── DuplicateBlock         two blocks share an id or a name
├── UnknownBlock           no block has that id
└── BadBlock               a declaration contradicts itself
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from durable import storable


class BlockError(Exception):
    """The block could not do its work."""

    def __init__(self, message: str = "") -> None:
        super().__init__(storable.text(message) or (type(self).__doc__ or "").strip())


@dataclass(frozen=True, kw_only=True)
class PinProblem:
    """One pin that does not fit: which, what it takes, and a sentence that says what to do."""

    pin: str
    expected: str
    message: str


class InputError(BlockError):
    """The inputs do not fit the block's pins."""

    def __init__(self, problems: Sequence[PinProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__(" ".join(problem.message for problem in self.problems))


class OutputError(BlockError):
    """The block emitted something its pins do not allow."""


class BlockFailed(BlockError):
    """The block could not do what was asked."""


class CredentialsMissing(BlockFailed):
    """A credential this block needs is not there. Add it under credentials and run the agent again."""

    def __init__(self, provider: str, message: str = "") -> None:
        self.provider = provider
        super().__init__(
            message
            or f"This block needs a {provider} credential. Add one under credentials and run it again."
        )


class BlockTimedOut(BlockError):
    """The block ran longer than its time cap and was stopped."""


class BlockCancelled(BlockError):
    """The block was stopped."""


class BudgetUsedUp(BlockError):
    """Your budget is used up."""


class BlockCrashed(BlockError):
    """The block failed for a reason nobody foresaw. The log has the details."""


class BlockParked(Exception):
    """The node waits without a worker."""


class ParkedForReview(BlockParked):
    """The node waits for a person's decision."""

    def __init__(self, review_id: str) -> None:
        super().__init__(f"Waiting for review {review_id}.")
        self.review_id = review_id


class ParkedUntil(BlockParked):
    """The node waits for a time."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"Waiting until {until.isoformat()}.")
        self.until = until


class ParkedForJob(BlockParked):
    """The node waits for another job to end; whoever ends it calls `executions.waking.wake`."""

    def __init__(self, job_id: object) -> None:
        super().__init__(f"Waiting for {job_id}.")
        self.job_id = str(job_id)


class RegistryError(Exception):
    """The block catalogue is wrong."""


class DuplicateBlock(RegistryError):
    """Two blocks share an id or a name."""


class UnknownBlock(RegistryError):
    """No block has that id."""


class BadBlock(RegistryError):
    """A block's declaration contradicts itself."""
