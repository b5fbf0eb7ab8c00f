"""The error tree of blocks.

BlockError                 ends the node as FAILED; the message is passed along links from the `error` pin
├── InputError             the inputs do not match the pins; the block was not run
├── OutputError            the block emitted something its pins do not allow
├── BlockFailed            raised by the block itself; the message is for the user
│   └── CredentialsMissing a required credential is missing
├── BlockTimedOut          the node run exceeded its time limit
├── BlockCancelled         the run was cancelled
├── BudgetUsedUp           the user's budget is used up: ends the execution
└── BlockCrashed           an unexpected error; the traceback is in the log

BlockParked                not an error: the node waits without a worker and is run again later
├── ParkedForReview        until a person has decided
├── ParkedUntil            until a point in time
└── ParkedForJob           until another job has ended

RegistryError              the catalogue is invalid; reported at start-up by a system check
├── DuplicateBlock         two blocks have the same id or name
├── UnknownBlock           no block has that id
└── BadBlock               a declaration is inconsistent
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from durable import storable


class BlockError(Exception):
    """The block failed."""

    def __init__(self, message: str = "") -> None:
        super().__init__(storable.text(message) or (type(self).__doc__ or "").strip())


@dataclass(frozen=True, kw_only=True)
class PinProblem:
    """A problem with one pin: its name, the expected type, and a message that says what to do."""

    pin: str
    expected: str
    message: str


class InputError(BlockError):
    """The inputs do not match the block's pins."""

    def __init__(self, problems: Sequence[PinProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__(" ".join(problem.message for problem in self.problems))


class OutputError(BlockError):
    """The block emitted something its pins do not allow."""


class BlockFailed(BlockError):
    """The block could not complete its task."""


class CredentialsMissing(BlockFailed):
    """A credential that this block needs is missing. Add it under Credentials and run the agent again."""

    def __init__(self, provider: str, message: str = "") -> None:
        self.provider = provider
        super().__init__(
            message
            or f"This block needs a credential for {provider}. Add one under Credentials and run it again."
        )


class BlockTimedOut(BlockError):
    """The block exceeded its time limit and was stopped."""


class BlockCancelled(BlockError):
    """The block was stopped."""


class BudgetUsedUp(BlockError):
    """Your budget is used up."""


class BlockCrashed(BlockError):
    """The block failed unexpectedly. The error was logged."""


class BlockParked(Exception):
    """The node waits without a worker."""


class ParkedForReview(BlockParked):
    """The node waits for a person's decision."""

    def __init__(self, review_id: str) -> None:
        super().__init__(f"Waiting for review {review_id}.")
        self.review_id = review_id


class ParkedUntil(BlockParked):
    """The node waits until a point in time."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"Waiting until {until.isoformat()}.")
        self.until = until


class ParkedForJob(BlockParked):
    """The node waits for another job to end. The package that ends the job wakes the node up."""

    def __init__(self, job_id: object) -> None:
        super().__init__(f"Waiting for {job_id}.")
        self.job_id = str(job_id)


class RegistryError(Exception):
    """The block catalogue is invalid."""


class DuplicateBlock(RegistryError):
    """Two blocks have the same id or name."""


class UnknownBlock(RegistryError):
    """No block has that id."""


class BadBlock(RegistryError):
    """A block's declaration is inconsistent."""
