"""How values are shown to operators."""

from __future__ import annotations

import json
from typing import Any

from durable.redaction import redact

SHOWN_CHARACTERS = 20_000


def shown(value: Any) -> str:
    """JSON with secrets blotted out, cut."""
    return json.dumps(redact(value), indent=2, ensure_ascii=False)[:SHOWN_CHARACTERS]
