"""Refusals about drafts.

Refusal
├── DraftMoved         409  saved elsewhere since
├── ProposalMissing    404
├── NodeMissing        404
├── PinsTooLarge       413
└── NoFailedNode     409  the execution has not failed, or the draft changed what had finished
"""

from __future__ import annotations

from http import HTTPStatus

from durable.errors import NotFound, Refusal


class DraftMoved(Refusal):
    """The draft was saved elsewhere since. Load it, merge your change and save again."""

    status = HTTPStatus.CONFLICT
    code = "draft_moved"


class ProposalMissing(NotFound):
    """There is no proposal for this draft."""


class NodeMissing(NotFound):
    """The draft has no such node."""


class PinsTooLarge(Refusal):
    """The pinned outputs are too large. Unpin a node first, or pin a smaller output."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "pins_too_large"


class NoFailedNode(Refusal):
    """Only an execution that failed or was stopped can be retried."""

    status = HTTPStatus.CONFLICT
    code = "nothing_to_retry"
