"""/api/blocks: the catalogue of blocks, and running a single block."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.authentication import current_user
from accounts.api.long_poll import LongPollView, PendingResponse, Watch
from accounts.api.throttling import WriteRate
from blocks.base import Block
from blocks.errors import UnknownBlock
from blocks.foreign_blocks import known_elsewhere
from blocks.registry import get_registry
from blocks.schema import PinInfo
from executions import limits
from executions.models import BlockRun
from executions.run_block.block_jobs import answer_of, ended_block_run, start_block_run

SEARCH = OpenApiParameter("search", str, description="Only blocks with these words in name or description.")


class BlockShape(serializers.Serializer[Any]):
    """A block of the catalogue; the schemas describe its pins."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    category = serializers.CharField()
    description = serializers.CharField()
    type = serializers.CharField()
    input_schema = serializers.DictField()
    output_schema = serializers.DictField()
    runs_alone = serializers.BooleanField(help_text="It can be run on its own.")
    sensitive = serializers.BooleanField(help_text="It needs a person's approval before it runs.")
    static_output = serializers.BooleanField(help_text="Its outputs keep their value.")
    credentials = serializers.CharField(allow_null=True, help_text="The provider whose credential it needs.")
    costs = serializers.BooleanField(help_text="Running it has a price besides that of a model.")
    advanced = serializers.ListField(
        child=serializers.CharField(), help_text="Inputs that forms show on request only."
    )
    hidden = serializers.ListField(
        child=serializers.CharField(), help_text="Inputs that forms do not show: the engine fills them in."
    )
    wraps = serializers.ListField(
        child=serializers.CharField(), help_text="Object inputs that also take a plain value."
    )
    schema_pin = serializers.CharField(
        allow_null=True, help_text="The input whose value is a schema of further inputs."
    )


class BlockList(serializers.Serializer[Any]):
    results = BlockShape(many=True)
    next = serializers.CharField(allow_null=True)


class BlockOrder(serializers.Serializer[Any]):
    """The inputs of a block run."""

    inputs = serializers.DictField(required=False, default=dict, help_text="Values by pin name.")
    client_id = serializers.CharField(
        required=False,
        allow_blank=True,
        allow_null=True,
        max_length=limits.MAX_CLIENT_ID_CHARACTERS,
        help_text="Idempotency key: repeated requests run and charge an effect once.",
    )


class BlockResult(serializers.Serializer[Any]):
    """The result. Repeat the request when the review `review_id` is decided, or while the status is `running`."""

    status = serializers.ChoiceField(choices=["completed", "failed", "review", "running"])
    outputs = serializers.DictField(child=serializers.ListField(child=serializers.JSONField()))
    error = serializers.CharField(allow_null=True)
    cost = serializers.DecimalField(max_digits=14, decimal_places=6)
    review_id = serializers.UUIDField(allow_null=True)
    client_id = serializers.CharField()


class Blocks(APIView):
    """The catalogue."""

    @extend_schema(
        summary="List blocks", operation_id="blocks_list", parameters=[SEARCH], responses=BlockList
    )
    def get(self, request: Request) -> Response:
        """List all blocks by name."""
        words = request.query_params.get("search", "")[: limits.MAX_SEARCH_CHARACTERS].lower().split()
        found = [block for block in get_registry() if fits(block, words)]
        shown = [shape(block) for block in sorted(found, key=lambda block: block.name.lower())]
        return Response({"results": shown, "next": None})


class ForeignBlockShape(serializers.Serializer[Any]):
    """A block of AutoGPT that is not installed here."""

    id = serializers.CharField()
    name = serializers.CharField()
    provider = serializers.CharField(help_text="The service it needs; AutoGPT for those that need none.")
    category = serializers.CharField()


class BlocksElsewhere(APIView):
    """Blocks that imported agents may use and that are not installed."""

    @extend_schema(
        summary="List blocks that are known but not installed", responses=ForeignBlockShape(many=True)
    )
    def get(self, request: Request) -> Response:
        """Return their names, services and categories, so that a graph can show them."""
        return Response([asdict(one) for one in known_elsewhere().values()])


class ExecuteBlock(LongPollView):
    """Run one block."""

    throttle_classes = [WriteRate]

    @extend_schema(summary="Run a block", request=BlockOrder, responses={200: BlockResult, 202: BlockResult})
    def post(self, request: Request, pk: uuid.UUID) -> HttpResponseBase:
        """Run the block on a worker and return its outputs; 202 when a person must approve it first.

        202 with the status `running` when it takes longer than a request may: repeat the request with the `client_id`
        of the response to keep waiting.
        """
        form = BlockOrder(data=request.data)
        form.is_valid(raise_exception=True)
        user, given = current_user(request), form.validated_data
        client_id = given.get("client_id") or uuid.uuid4().hex
        runs: list[BlockRun] = []

        def begin() -> Watch:
            try:
                found = start_block_run(user, str(pk), given["inputs"], client_id)
            except UnknownBlock:
                raise NotFound from None
            runs.append(found)
            return found.pk, lambda: ended_block_run(found.pk)

        return PendingResponse(
            owner=f"user:{user.pk}",
            seconds=limits.MAX_BLOCK_WAIT_SECONDS + limits.BLOCK_QUEUE_SECONDS,
            begin=begin,
            answer=lambda: answer(BlockRun.objects.get(pk=runs[0].pk)),
        )


def answer(block_run: BlockRun) -> Response:
    shown = answer_of(block_run) | {"client_id": block_run.client_id}
    is_over = shown["status"] in ("completed", "failed")
    return Response(shown, status=status.HTTP_200_OK if is_over else status.HTTP_202_ACCEPTED)


def fits(block: Block, words: list[str]) -> bool:
    text = f"{block.id} {block.name} {block.description}".lower()
    return all(word in text for word in words)


def shape(block: Block) -> dict[str, Any]:
    return {
        "id": block.id,
        "name": block.name,
        "category": block.category.value,
        "description": block.description,
        "type": block.type.value,
        "input_schema": block.input_schema,
        "output_schema": block.output_schema,
        "runs_alone": block.runs_alone,
        "sensitive": block.sensitive,
        "static_output": block.static_output,
        "credentials": block.credentials.provider if block.credentials else None,
        "costs": bool(block.cost),
        "advanced": [pin.name for pin in block.input_pins if pin.advanced],
        "hidden": [pin.name for pin in block.input_pins if pin.hidden or is_filled_in(pin)],
        "wraps": [pin.name for pin in block.input_pins if pin.scalar_key],
        "schema_pin": block.dynamic_inputs.schema_pin if block.dynamic_inputs else None,
    }


def is_filled_in(pin: PinInfo) -> bool:
    """Return whether the engine fills the pin in; a credential is chosen by the person."""
    return pin.provided and pin.type != "credentials"
