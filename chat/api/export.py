"""/api/sessions/{id}/export: the whole conversation as a file."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from datetime import date

from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from chat.api import transcript
from chat.api.sessions import shape
from chat.api.view import ChatView
from chat.delivery.threads import in_thread
from chat.models import Session

FORMS = {"json": ("json", "application/json"), "markdown": ("md", "text/markdown; charset=utf-8")}
AS = OpenApiParameter("as", str, enum=list(FORMS), default="json", description="In which form.")
WRITTEN = {(200, "application/json"): OpenApiTypes.OBJECT, (200, "text/markdown"): OpenApiTypes.STR}


class Export(ChatView):
    """The conversation to keep elsewhere."""

    @extend_schema(parameters=[AS], responses=WRITTEN)
    def get(self, request: Request, key: str) -> StreamingHttpResponse:
        """Every message that is part of the conversation, oldest first."""
        session, form = self.session(key), request.query_params.get("as", "json")
        if form not in FORMS:
            raise ValidationError({"as": [f"This is neither of {', '.join(FORMS)}."]})
        ending, media_type = FORMS[form]
        pieces = (
            transcript.as_json(session, shape(session)) if form == "json" else transcript.as_markdown(session)
        )
        response = StreamingHttpResponse(sent(request, pieces), content_type=media_type)
        response["Content-Disposition"] = content_disposition_header(True, f"{file_name(session)}.{ending}")
        return response


def sent(request: Request, pieces: Iterator[str]) -> Iterator[str] | AsyncIterator[str]:
    """Under ASGI each piece is made in a thread, so that a long export holds nobody up."""
    return apart(pieces) if isinstance(request._request, ASGIRequest) else pieces


async def apart(pieces: Iterator[str]) -> AsyncIterator[str]:
    while (piece := await in_thread(next, pieces, None)) is not None:
        yield piece


def file_name(session: Session) -> str:
    words = re.sub(r"[^\w -]+", "", session.title).strip().replace(" ", "-")[:60]
    return f"{words or 'conversation'}-{date.today().isoformat()}"
