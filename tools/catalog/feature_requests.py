"""search_feature_requests and create_feature_request: what users want the product to do."""

from __future__ import annotations

from typing import Literal

from django.db.models import Count
from pydantic import BaseModel, Field
from rapidfuzz import fuzz, process, utils

from tools.base import Effect, Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext
from tools.errors import NoResults
from tools.models.feature_request import FeatureRequest
from tools.preconditions import login_required

MAX_SEARCHED = 2000
MAX_FOUND = 10
MIN_SCORE = 60
MAX_SHOWN_DESCRIPTION = 500


class SearchFeatureRequestsArgs(ToolArgs):
    query: str = Field(min_length=1, max_length=100)


class FoundRequest(BaseModel):
    id: str
    title: str
    description: str
    status: str
    supporters: int


class FeatureRequestSearch(ToolResult):
    type: Literal["feature_request_search"] = "feature_request_search"
    results: list[FoundRequest]
    count: int


@tool(gates=[login_required], reads=Reads.ALWAYS, holds=False)
def search_feature_requests(args: SearchFeatureRequestsArgs, context: ToolContext) -> FeatureRequestSearch:
    """Search the feature requests that users of this product have made."""
    requests = list(FeatureRequest.objects.annotate(votes=Count("supporters"))[:MAX_SEARCHED])
    texts = [f"{request.title} {request.description[:1000]}" for request in requests]
    ranked = process.extract(
        args.query,
        texts,
        scorer=fuzz.token_set_ratio,
        processor=utils.default_process,
        score_cutoff=MIN_SCORE,
        limit=MAX_FOUND,
    )
    found = [requests[index] for _, _, index in ranked]
    if not found:
        raise NoResults(
            f"No feature request is about {args.query!r}.",
            suggestions=["If the user wants that, make one with create_feature_request."],
        )
    results = [
        FoundRequest(
            id=str(request.id),
            title=request.title,
            description=request.description[:MAX_SHOWN_DESCRIPTION],
            status=request.status,
            supporters=request.votes,
        )
        for request in found
    ]
    return FeatureRequestSearch(message=f"Found {len(results)}.", results=results, count=len(results))


class CreateArgs(ToolArgs):
    title: str = Field(min_length=3, max_length=200)
    description: str = Field(min_length=1, max_length=5000, description="What is needed and why.")


class FeatureRequestCreated(ToolResult):
    type: Literal["feature_request_created"] = "feature_request_created"
    request_id: str
    title: str
    is_new: bool
    supporters: int


@tool(effect=Effect.IDEMPOTENT, gates=[login_required], reads=Reads.NOTHING, holds=True)
def create_feature_request(args: CreateArgs, context: ToolContext) -> FeatureRequestCreated:
    """Make a feature request to the people who run this product. Search first; the same title supports that request."""
    support = FeatureRequest.support(context.user.pk, args.title, args.description)
    request = support.request
    return FeatureRequestCreated(
        message="The feature request was made."
        if support.is_first
        else "There was such a request already; it now counts this user's vote too.",
        request_id=str(request.id),
        title=request.title,
        is_new=support.is_first,
        supporters=request.supporters.count(),
    )
