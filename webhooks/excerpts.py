"""What is kept of a receiver's answer: a few words for whoever has to find out what is wrong, and no secret."""

from __future__ import annotations

import json
import re

from durable import limits, storable
from durable.redaction import REDACTED, redact

SECRET_WORDS = re.compile(
    r"(?i)(?:\b(?:bearer|basic|token|secret|password|passwd|authorization|cookie|api[ _-]?key|whsec)\b[\s:=_\"']*+)++"
    r"[^\s,;<>\"']{4,}"
)
KEY_SHAPES = re.compile(r"\b[A-Za-z0-9_\-+/]{32,}={0,2}")  # long and random: a key, or nothing worth reading


def excerpt(body: bytes) -> str:
    """The beginning of an answer, with secrets blotted out."""
    text = storable.text(body.decode("utf-8", "replace"))
    try:
        text = json.dumps(redact(json.loads(text)), ensure_ascii=False)
    except (ValueError, RecursionError):
        text = SECRET_WORDS.sub(REDACTED, text)
    text = KEY_SHAPES.sub(REDACTED, " ".join(text.split()))
    return text[: limits.WEBHOOK_EXCERPT_CHARACTERS]
