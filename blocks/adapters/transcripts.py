"""Captions of YouTube videos, fetched over guarded HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blocks.ports import HttpPort, PortError
from boundary.errors import FetchError, ParserError
from boundary.parser_process import parse_isolated

if TYPE_CHECKING:
    from youtube_transcript_api import Transcript

PARSER = "boundary.parsers.captions"
LANGUAGES = ("en", "en-US", "en-GB")
# What the library raises for unexpected responses; ParseError is a SyntaxError.
NONSENSE = (AttributeError, KeyError, TypeError, ValueError, SyntaxError)


class YouTubeCaptions:
    """Fetches English captions if available, else those of the first language."""

    def __init__(self, http: HttpPort) -> None:
        self._http = http

    def transcript(self, video_id: str) -> str:
        # Both libraries are slow to import and rarely needed.
        from youtube_transcript_api import CouldNotRetrieveTranscript, NoTranscriptFound, YouTubeTranscriptApi

        from blocks.adapters.guarded_requests import guarded_session

        try:
            listed = YouTubeTranscriptApi(http_client=guarded_session(self._http)).list(video_id)
            try:
                chosen = listed.find_transcript(LANGUAGES)
            except NoTranscriptFound:
                chosen = next(iter(listed))
            lines: list[str] = parse_isolated(PARSER, self._fetch(chosen))
            return "\n".join(lines)
        except ParserError as error:
            raise PortError(f"The captions of {video_id} cannot be read: {error}") from None
        except (CouldNotRetrieveTranscript, StopIteration, *NONSENSE) as error:
            raise PortError(
                f"The video {video_id} has no readable captions ({type(error).__name__})."
            ) from None
        except (OSError, FetchError) as error:  # errors of `requests` are OSErrors
            raise PortError(f"The captions of {video_id} could not be fetched: {error}") from None

    def _fetch(self, chosen: Transcript) -> bytes:
        """Return the raw captions. The library's `fetch` would parse them in this process and in quadratic time."""
        answer = chosen._http_client.get(chosen._url)
        answer.raise_for_status()
        return answer.content
