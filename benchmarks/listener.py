"""A process that hears the events of some turns and says how late they came.

It is started as `python -m benchmarks.listener SOCKET CHANNEL...`.
"""

from __future__ import annotations

import json
import re
import sys
import time
from typing import Any

import redis

from benchmarks.side_by_side import Series

STAMP = re.compile(
    r"@(\d+)"
)  # in the text of an event: when it was emitted, in nanoseconds of the machine's clock
LAST = "@end"


def main(socket: str, channels: list[str]) -> None:
    """Listen until an event says that it is the last one; print the count and the lags in milliseconds."""
    client: Any = redis.Redis(unix_socket_path=socket, decode_responses=True)
    listening = client.pubsub()
    listening.subscribe(*channels)
    for _ in channels:
        listening.get_message(timeout=5)  # confirmed
    print("READY", flush=True)
    lags: list[float] = []
    while True:
        message = listening.get_message(timeout=30)
        if message is None:
            break
        now = time.monotonic_ns()
        lags += [(now - int(stamp)) / 1e6 for stamp in STAMP.findall(message["data"])]
        if LAST in message["data"]:
            break
    found = Series.of(lags or [0.0])
    figures = {"events": len(lags), "p50": found.median, "p99": found.quantile(0.99), "max": found.high}
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
