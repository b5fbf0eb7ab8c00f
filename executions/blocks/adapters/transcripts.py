"""Captions of YouTube videos, as a port: the library asks, the guarded way to the web carries it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boundary.errors import FetchError, ParserError
from boundary.isolated import parse_isolated
from boundary.parsers.errors import UnreadableContent
from executions.ports import HttpPort, PortError

if TYPE_CHECKING:
    from youtube_transcript_api import Transcript

PARSER = "boundary.parsers.captions"
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
            lines: list[str] = parse_isolated(PARSER, self._fetch(chosen))
            return "\n".join(lines)
        except (ParserError, UnreadableContent) as error:
            raise PortError(f"The captions of {video_id} cannot be read: {error}") from None
        except (CouldNotRetrieveTranscript, StopIteration, *NONSENSE) as error:
            raise PortError(
                f"The video {video_id} has no captions that can be read ({type(error).__name__})."
            ) from None
        except (OSError, FetchError) as error:  # every error of `requests` is an OSError
            raise PortError(f"The captions of {video_id} could not be fetched: {error}") from None

    def _fetch(self, chosen: Transcript) -> bytes:
        """Return the captions as they come. The library's own `fetch` also parses them, here and in quadratic time."""
        answer = chosen._http_client.get(chosen._url)
        answer.raise_for_status()
        return answer.content
