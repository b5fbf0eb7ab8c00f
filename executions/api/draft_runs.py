"""/api/agents/{id}/draft/run and its neighbours: test a draft, one node of it, with pinned outputs; proposals."""

from __future__ import annotations

import uuid
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.authentication import current_user
from accounts.api.long_poll import LongPollView, PendingResponse, Watch
from executions import limits
from executions.api.agents import AgentView, read_form
from executions.api.blocks import BlockResult, answer
from executions.api.draft_serializers import (
    DraftShape,
    NodeRunOrder,
    PinOrder,
    ProposalAnswer,
    SessionOrder,
    draft_answer,
)
from executions.api.execution_serializers import ExecutionShape
from executions.drafts.actions import open_draft, validate_draft
from executions.drafts.draft_runs import DraftRunRequest, start_draft_run
from executions.drafts.node_inputs import gather_inputs, node_of
from executions.drafts.pinned_outputs import outputs_in, pin_outputs, unpin_outputs
from executions.drafts.proposals import close_proposal, open_session
from executions.models import AgentDraft, BlockRun
from executions.run_block.block_jobs import ended_block_run, start_block_run


class DraftRunOrder(serializers.Serializer[Any]):
    """The inputs of a test run."""

    revision = serializers.IntegerField(min_value=0, help_text="The revision to run.")
    inputs = serializers.DictField(required=False, default=dict)
    client_id = serializers.CharField(
        max_length=limits.MAX_CLIENT_ID_CHARACTERS, help_text="Idempotency key."
    )


class RunDraft(AgentView):
    """Run a draft."""

    @extend_schema(
        summary="Run the draft of an agent",
        request=DraftRunOrder,
        responses={202: ExecutionShape, 200: ExecutionShape},
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Start a test run of this revision; pinned nodes emit their pinned outputs and cost nothing."""
        agent, order = self.agent(pk), read_form(DraftRunOrder, request.data)
        started = start_draft_run(current_user(request), agent, DraftRunRequest(**order))
        code = status.HTTP_202_ACCEPTED if started.created else status.HTTP_200_OK
        return Response(ExecutionShape(started.execution).data, status=code)


class RunDraftNode(AgentView, LongPollView):
    """Run one node of a draft."""

    @extend_schema(
        summary="Run a node of a draft", request=NodeRunOrder, responses={200: BlockResult, 202: BlockResult}
    )
    def post(self, request: Request, pk: uuid.UUID, node_id: str) -> HttpResponseBase:
        """Run the node alone, with its own values and what its sources pinned or last emitted.

        202 as for a single block: repeat the request with the same `client_id` to keep waiting.
        """
        agent, order = self.agent(pk), read_form(NodeRunOrder, request.data)
        user = current_user(request)
        draft = open_draft(agent)
        node = node_of(draft, node_id)
        inputs = gather_inputs(user, draft, node, order["inputs"])
        runs: list[BlockRun] = []

        def begin() -> Watch:
            runs.append(start_block_run(user, node.block_id, inputs, order["client_id"]))
            return runs[0].pk, lambda: ended_block_run(runs[0].pk)

        return PendingResponse(
            owner=f"user:{user.pk}",
            seconds=limits.MAX_BLOCK_WAIT_SECONDS + limits.BLOCK_QUEUE_SECONDS,
            begin=begin,
            answer=lambda: answer(BlockRun.objects.get(pk=runs[0].pk)),
        )


class PinDraftNode(AgentView):
    """The pinned outputs of a node."""

    @extend_schema(summary="Pin outputs of a node", request=PinOrder, responses=DraftShape)
    def put(self, request: Request, pk: uuid.UUID, node_id: str) -> Response:
        """Pin outputs, given or from an execution: test runs use them instead of running the node."""
        agent, order = self.agent(pk), read_form(PinOrder, request.data)
        if "outputs" not in order and "execution_id" not in order:
            raise ValidationError({"outputs": ["Give the outputs, or the execution that emitted them."]})
        pairs = order.get("outputs") or []
        if "execution_id" in order:
            pairs = outputs_in(current_user(request), order["execution_id"], node_id)
        return shown(pin_outputs(agent, node_id, pairs))

    @extend_schema(summary="Unpin a node", responses=DraftShape)
    def delete(self, request: Request, pk: uuid.UUID, node_id: str) -> Response:
        """Let test runs run the node again."""
        return shown(unpin_outputs(self.agent(pk), node_id))


class DraftProposal(AgentView):
    """What the copilot proposes."""

    @extend_schema(summary="Close a proposal", request=ProposalAnswer, responses=DraftShape)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Remove a proposal that was accepted or rejected; to accept it, save the merged draft first."""
        agent, order = self.agent(pk), read_form(ProposalAnswer, request.data)
        return shown(close_proposal(agent, order["key"]))


class DraftSession(AgentView):
    """The conversation beside the canvas."""

    @extend_schema(summary="Set the conversation of a draft", request=SessionOrder, responses=DraftShape)
    def put(self, request: Request, pk: uuid.UUID) -> Response:
        """Edits of this agent in that conversation become proposals for the draft."""
        agent, order = self.agent(pk), read_form(SessionOrder, request.data)
        return shown(open_session(agent, order["session_id"]))


def shown(draft: AgentDraft) -> Response:
    return Response(draft_answer(draft, validate_draft(draft)))
