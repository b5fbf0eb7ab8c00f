"""Transcribe YouTube Video: get the captions of a video."""

import re
from urllib.parse import parse_qs, urlsplit

from blocks.base import Category, CredentialsNeed, Effects, Emissions, Leaves, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, World
from blocks.schema import BlockInputs, BlockOutputs, Credentials, Text, credentials_pin, pin

VIDEO_ID = re.compile(r"[A-Za-z0-9_-]{11}")
HOSTS = frozenset(
    {"youtube.com", "www.youtube.com", "m.youtube.com", "music.youtube.com", "www.youtube-nocookie.com"}
)
PATHS = ("embed", "shorts", "live", "v", "e")


class Inputs(BlockInputs):
    youtube_url: Text = pin(description="URL of the video.")
    credentials: Credentials = credentials_pin()


class Outputs(BlockOutputs):
    video_id: Text
    transcript: Text


SPOKEN = World(transcripts={"dQw4w9WgXcQ": "Never gonna\ngive you up"})
OUTPUTS = [("video_id", "dQw4w9WgXcQ"), ("transcript", "Never gonna\ngive you up")]
EXAMPLES = [
    Example(
        inputs={"youtube_url": "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=5"},
        outputs=OUTPUTS,
        world=SPOKEN,
    ),
    Example(inputs={"youtube_url": "https://youtu.be/dQw4w9WgXcQ"}, outputs=OUTPUTS, world=SPOKEN),
    Example(inputs={"youtube_url": "https://youtube.com/shorts/dQw4w9WgXcQ"}, outputs=OUTPUTS, world=SPOKEN),
    Example(
        inputs={"youtube_url": "https://youtu.be/aaaaaaaaaaa"},
        outputs=[("video_id", "aaaaaaaaaaa")],
        error="no captions",
    ),
    Example(
        inputs={"youtube_url": "https://example.com/watch?v=dQw4w9WgXcQ"},
        error="not the URL of a YouTube video",
    ),
]


@block(
    id="f3a8f7e1-4b1d-4e5f-9f2a-7c3d5a2e6b4c",
    name="Transcribe YouTube Video",
    category=Category.SOCIAL,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.NETWORK,
    reads_outside=True,
    leaves=Leaves.NOTHING,
    credentials=CredentialsNeed(
        provider="webshare_proxy", kind="user_password", required=False, note="not needed"
    ),
)
def transcribe_youtube_video(inputs: Inputs, context: BlockContext) -> Emissions:
    """Fetch the captions of a YouTube video."""
    video_id = read_video_id(inputs.youtube_url)
    yield "video_id", video_id
    yield "transcript", context.ports.transcripts.transcript(video_id)


def read_video_id(url: str) -> str:
    """Return the video id of any YouTube URL; raise BlockFailed."""
    try:
        parts = urlsplit(url.strip())
        host, path = parts.hostname or "", parts.path.strip("/").split("/")
    except ValueError:
        host, path, parts = "", [""], urlsplit("")
    if host == "youtu.be":
        candidate = path[0]
    elif host in HOSTS and path[0] in PATHS and len(path) > 1:
        candidate = path[1]
    elif host in HOSTS:
        candidate = parse_qs(parts.query).get("v", [""])[0]
    else:
        candidate = ""
    if not VIDEO_ID.fullmatch(candidate):
        raise BlockFailed(
            "This is not the URL of a YouTube video. Use one like https://www.youtube.com/watch?v=…."
        )
    return candidate
