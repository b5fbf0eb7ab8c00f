"""A parser that does what a hostile document makes a library do."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boundary.errors import UnreadableContent

HELD = re.compile(r"(a+)+$")  # never lets go of the interpreter


def parse(body: bytes, arguments: Mapping[str, Any]) -> Any:
    match arguments["does"]:
        case "echo":
            return body.decode()
        case "loop":
            return bool(HELD.match("a" * 60 + "b"))
        case "sleep":
            time.sleep(3600)
        case "memory":
            return len(b"x" * (1 << 40))
        case "much memory":
            return len([bytearray(1 << 20) for _ in range(1 << 20)])
        case "die":
            os.abort()
        case "refuse":
            raise UnreadableContent("It is no feed.")
        case "crash":
            raise KeyError("secret")
        case "write":
            Path(body.decode()).write_text("x")
        case "environment":
            return dict(os.environ)
        case "process":
            return os.getpid()
    return None
