"""/api/store: search published agents, add one to the library, publish and withdraw your own."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.authentication import current_user
from accounts.api.throttling import WriteRate
from executions import limits
from executions.agents import library, store
from executions.api.agent_serializers import AgentShape, ListingDetail, ListingShape, Publication
from executions.api.agents import read_form, shown
from executions.models import StoreListing

SEARCH = OpenApiParameter("search", str, description="Words of the name or description, or username/slug.")


class Store(GenericAPIView[StoreListing]):
    """List and publish agents."""

    queryset = StoreListing.objects.none()
    serializer_class = ListingShape
    throttle_classes = [WriteRate]

    @extend_schema(summary="List store listings", parameters=[SEARCH], responses=ListingShape(many=True))
    def get(self, request: Request) -> Response:
        """List published agents, newest first; with `search`, the matches, best first."""
        words = request.query_params.get("search", "")
        if words.strip():
            ranked = store.search_store(words, most=limits.MAX_SEARCHED_ROWS)
            page = self.paginate_queryset([match.item for match in ranked])
        else:
            page = self.paginate_queryset(store.listings())
        return self.get_paginated_response(ListingShape(page, many=True).data)

    @extend_schema(summary="Publish an agent", request=Publication, responses={201: ListingShape})
    def post(self, request: Request) -> Response:
        """Publish the newest version of your agent; the same slug replaces the earlier listing."""
        given = read_form(Publication, request.data)
        agent = library.get_agent(current_user(request), given.pop("agent_id"))
        return Response(ListingShape(store.publish(agent, **given)).data, status=status.HTTP_201_CREATED)


class Listing(APIView):
    """One published agent."""

    throttle_classes = [WriteRate]

    @extend_schema(summary="Get a store listing", responses=ListingDetail)
    def get(self, request: Request, username: str, slug: str) -> Response:
        """Return the listing with its description, inputs, outputs and graph."""
        listing = store.get_listing(username, slug)
        return Response({**ListingShape(listing).data, "graph": store.offered_graph(listing)})

    @extend_schema(summary="Withdraw a store listing", responses={204: None})
    def delete(self, request: Request, username: str, slug: str) -> Response:
        """Withdraw your listing; copies in other libraries stay."""
        store.withdraw(current_user(request), username, slug)
        return Response(status=status.HTTP_204_NO_CONTENT)


class Add(APIView):
    """Add a published agent to the library."""

    throttle_classes = [WriteRate]

    @extend_schema(
        summary="Add a store agent to the library", request=None, responses={200: AgentShape, 201: AgentShape}
    )
    def post(self, request: Request, username: str, slug: str) -> Response:
        """Copy the agent and its sub-agents to your library; a repeated request returns the same copy."""
        agent, is_new = store.add_to_library(current_user(request), username, slug)
        return Response(shown([agent])[0], status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)
