"""Captions of YouTube videos, as a port: the library asks, the guarded way to the web carries it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from boundary.errors import FetchError
from boundary.http import OutboundRequest
from executions.ports import HttpPort, PortError

LANGUAGES = ("en", "en-US", "en-GB")
# What the library trips over when YouTube answers with something else than it knows; ParseError is a SyntaxError.
NONSENSE = (AttributeError, KeyError, TypeError, ValueError, SyntaxError)
NOT_SENT = frozenset({"connection", "content-length", "accept-encoding", "host"})


class YouTubeCaptions:
    """English captions where there are some, else those of the first language."""

    def __init__(self, http: HttpPort) -> None:
        self._http = http

    def transcript(self, video_id: str) -> str:
        # The library takes 0.3 s to import, and few agents watch videos.
        from youtube_transcript_api import CouldNotRetrieveTranscript, NoTranscriptFound, YouTubeTranscriptApi

        session = requests.Session()
        session.trust_env = False
        for scheme in ("http://", "https://"):
            session.mount(scheme, GuardedAdapter(self._http))
        try:
            listed = YouTubeTranscriptApi(http_client=session).list(video_id)
            try:
                chosen = listed.find_transcript(LANGUAGES)
            except NoTranscriptFound:
                chosen = next(iter(listed))
            return "\n".join(snippet.text for snippet in chosen.fetch())
        except (CouldNotRetrieveTranscript, StopIteration, *NONSENSE) as error:
            raise PortError(
                f"The video {video_id} has no captions that can be read ({type(error).__name__})."
            ) from None
        except (requests.RequestException, FetchError) as error:
            raise PortError(f"The captions of {video_id} could not be fetched: {error}") from None


class GuardedAdapter(BaseAdapter):
    """Carries what `requests` would send through the port."""

    def __init__(self, http: HttpPort) -> None:
        super().__init__()
        self._http = http

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        body = request.body.encode() if isinstance(request.body, str) else request.body
        headers: Mapping[str, str] = request.headers
        answer = self._http.fetch(
            OutboundRequest(
                url=str(request.url),
                method=str(request.method),
                headers={name: str(value) for name, value in headers.items() if name.lower() not in NOT_SENT},
                body=body or None,
            )
        )
        response = requests.Response()
        response.status_code = answer.status
        response.url = answer.url
        response.headers = CaseInsensitiveDict(answer.headers)
        response._content = answer.body
        response.encoding = answer.charset or "utf-8"
        response.request = request
        return response

    def close(self) -> None:
        """Nothing is kept open."""
