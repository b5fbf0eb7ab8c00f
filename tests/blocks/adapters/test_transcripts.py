"""Captions: the library's requests go through the port, and nonsense becomes a sentence."""

from __future__ import annotations

import json
import time

import pytest

from blocks.adapters.transcripts import YouTubeCaptions
from blocks.examples import ExamplePage
from blocks.ports import PortError
from tests.blocks.doubles import ScriptedWeb

VIDEO = "dQw4w9WgXcQ"
WATCH = f"https://www.youtube.com/watch?v={VIDEO}"
PLAYER = "https://www.youtube.com/youtubei/v1/player?key=key-1"
GERMAN, ENGLISH = (
    "https://www.youtube.com/api/timedtext?lang=de",
    "https://www.youtube.com/api/timedtext?lang=en",
)
WATCH_PAGE = ExamplePage(body='<script>{"INNERTUBE_API_KEY": "key-1"}</script>')


def player(*tracks: tuple[str, str], status: str = "OK") -> ExamplePage:
    listed = [
        {"baseUrl": url, "languageCode": code, "name": {"runs": [{"text": code}]}, "isTranslatable": False}
        for code, url in tracks
    ]
    body = {
        "playabilityStatus": {"status": status},
        "captions": {
            "playerCaptionsTracklistRenderer": {"captionTracks": listed, "translationLanguages": []}
        },
    }
    return ExamplePage(body=json.dumps(body), media_type="application/json")


def captions(text: str) -> ExamplePage:
    return ExamplePage(
        body=f'<transcript><text start="0" dur="1">{text}</text></transcript>', media_type="text/xml"
    )


def test_english_captions_are_preferred_and_everything_goes_through_the_port() -> None:
    pages = {
        WATCH: WATCH_PAGE,
        PLAYER: player(("de", GERMAN), ("en", ENGLISH)),
        ENGLISH: captions("Never &amp;#39;gonna"),
        GERMAN: captions("Nie"),
    }
    web = ScriptedWeb(pages=pages)
    assert YouTubeCaptions(web).transcript(VIDEO) == "Never 'gonna"
    assert [(request.method, request.url) for request in web.requests] == [
        ("GET", WATCH),
        ("POST", PLAYER),
        ("GET", ENGLISH),
    ]
    assert json.loads(web.requests[1].body or b"")["videoId"] == VIDEO


def test_another_language_is_better_than_none() -> None:
    pages = {WATCH: WATCH_PAGE, PLAYER: player(("de", GERMAN)), GERMAN: captions("Nie")}
    assert YouTubeCaptions(ScriptedWeb(pages=pages)).transcript(VIDEO) == "Nie"


@pytest.mark.parametrize(
    "pages",
    [
        {},
        {WATCH: ExamplePage(status=429)},
        {WATCH: ExamplePage(body="nothing known")},
        {WATCH: ExamplePage(body='<div class="g-recaptcha">')},
        {WATCH: WATCH_PAGE, PLAYER: player()},
        {WATCH: WATCH_PAGE, PLAYER: player(status="ERROR")},
        {WATCH: WATCH_PAGE, PLAYER: ExamplePage(body="{}", media_type="application/json")},
        {WATCH: WATCH_PAGE, PLAYER: ExamplePage(body="not json", media_type="application/json")},
        {
            WATCH: WATCH_PAGE,
            PLAYER: player(("en", ENGLISH)),
            ENGLISH: ExamplePage(body="<broken", media_type="text/xml"),
        },
        {
            WATCH: WATCH_PAGE,
            PLAYER: player(("en", ENGLISH)),
            ENGLISH: ExamplePage(body='<!DOCTYPE t [<!ENTITY a "aa">]><t>&a;</t>', media_type="text/xml"),
        },
    ],
)
def test_what_cannot_be_read_is_told(pages: dict[str, ExamplePage]) -> None:
    with pytest.raises(PortError, match=VIDEO):
        YouTubeCaptions(ScriptedWeb(pages=pages)).transcript(VIDEO)


def test_captions_that_take_for_ever_hold_up_nobody() -> None:
    """A tag that never closes, as often as fits: each would be looked for to the end of the text."""
    pages = {WATCH: WATCH_PAGE, PLAYER: player(("en", ENGLISH)), ENGLISH: captions("&lt;" * 1_000_000)}
    used = time.process_time()
    assert YouTubeCaptions(ScriptedWeb(pages=pages)).transcript(VIDEO) == "<" * 1_000_000
    assert time.process_time() - used < 2  # processor time of this process, not of the parser's


@pytest.mark.parametrize(
    "page",
    [
        '"INNERTUBE_API_KEY":' * 200_000,
        '"INNERTUBE_API_KEY":' + " " * 4_000_000,
        'name="v" value=' * 250_000,
        "&" * 4_000_000,
    ],
)
def test_a_page_that_names_no_captions_is_searched_once(page: str) -> None:
    used = time.process_time()
    with pytest.raises(PortError):
        YouTubeCaptions(
            ScriptedWeb(pages={WATCH: ExamplePage(body=page + 'action="https://consent.youtube.com/s"')})
        ).transcript(VIDEO)
    assert time.process_time() - used < 5
