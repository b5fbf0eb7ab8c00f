"""Display of JSON values in the admin."""

from __future__ import annotations

import json
from typing import Any

from durable.redaction import redact

SHOWN_CHARACTERS = 20_000


def shown(value: Any) -> str:
    """Return the value as JSON with secrets redacted, cut to SHOWN_CHARACTERS."""
    return json.dumps(redact(value), indent=2, ensure_ascii=False)[:SHOWN_CHARACTERS]
