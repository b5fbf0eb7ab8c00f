"""Captions of YouTube videos, as a port: the library asks, the guarded way to the web carries it."""

from __future__ import annotations

from boundary.errors import FetchError
from executions.ports import HttpPort, PortError

LANGUAGES = ("en", "en-US", "en-GB")
# What the library trips over when YouTube answers with something else than it knows; ParseError is a SyntaxError.
NONSENSE = (AttributeError, KeyError, TypeError, ValueError, SyntaxError)


class YouTubeCaptions:
    """English captions where there are some, else those of the first language."""

    def __init__(self, http: HttpPort) -> None:
        self._http = http

    def transcript(self, video_id: str) -> str:
        # Both libraries take long to import, and few agents watch videos.
        from youtube_transcript_api import CouldNotRetrieveTranscript, NoTranscriptFound, YouTubeTranscriptApi

        from executions.blocks.adapters.guarded_requests import guarded_session

        try:
            listed = YouTubeTranscriptApi(http_client=guarded_session(self._http)).list(video_id)
            try:
                chosen = listed.find_transcript(LANGUAGES)
            except NoTranscriptFound:
                chosen = next(iter(listed))
            return "\n".join(snippet.text for snippet in chosen.fetch())
        except (CouldNotRetrieveTranscript, StopIteration, *NONSENSE) as error:
            raise PortError(
                f"The video {video_id} has no captions that can be read ({type(error).__name__})."
            ) from None
        except (OSError, FetchError) as error:  # every error of `requests` is an OSError
            raise PortError(f"The captions of {video_id} could not be fetched: {error}") from None
