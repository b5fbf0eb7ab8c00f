"""A receiver of traces and of errors, as a process of its own: it understands both and writes down what it got."""

from __future__ import annotations

import gzip
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

SPANS, RAW, ENVELOPES = "spans.jsonl", "spans.raw", "envelopes.raw"
lock = threading.Lock()


class Receiver(BaseHTTPRequestHandler):
    folder: Path

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if self.path == "/v1/traces":
            self._keep(RAW, body)
            lines = [json.dumps(span) for span in spans_in(body)]
            self._keep(SPANS, "".join(f"{line}\n" for line in lines).encode())
            self._answer("application/x-protobuf", ExportTraceServiceResponse().SerializeToString())
        else:
            self._keep(ENVELOPES, body + b"\n")
            self._answer("application/json", b"{}")

    def _keep(self, name: str, body: bytes) -> None:
        with lock, (self.folder / name).open("ab") as kept:
            kept.write(body)

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """It writes files, not lines."""


def spans_in(body: bytes) -> Iterator[dict[str, Any]]:
    """The spans of one request, as plain values."""
    request = ExportTraceServiceRequest.FromString(body)
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield {
                    "trace": span.trace_id.hex(),
                    "id": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "name": span.name,
                    "kind": span.kind,
                    "failed": span.status.code == 2,
                    "seconds": (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                    "attributes": {pair.key: plain(pair.value) for pair in span.attributes},
                    "links": [link.span_id.hex() for link in span.links],
                    "linked_traces": [link.trace_id.hex() for link in span.links],
                    "resource": {pair.key: plain(pair.value) for pair in resource.resource.attributes},
                }


def plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return (
        [plain(item) for item in value.array_value.values] if kind == "array_value" else getattr(value, kind)
    )


if __name__ == "__main__":
    Receiver.folder = Path(sys.argv[2])
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
