"""Send generated requests to every operation of the API, from its OpenAPI schema and with ids of real objects."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as begin_at
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.core.transport import Response
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from attack.belongings import Belongings, furnish
from attack.site import ATTACKER, INTERNAL_KEY, Site, own_site

ApiCase: TypeAlias = schemathesis.Case[Any]
STREAM = "text/event-stream"
STREAM_CHECKS = [status_code_conformance, content_type_conformance]  # OpenAPI 3.0 cannot describe one event
CHECKS = [*STREAM_CHECKS, response_schema_conformance]
FULL_WORKSPACE = 507  # documented, and not a fault of the site
REQUEST_SECONDS = 60.0
STREAM_SECONDS = 15.0
LONGEST_WAIT = 1
SHOWN_CHARACTERS = 400
INTERNAL = "/api/operations/{operation_id}/complete"


@dataclass
class SchemaReport:
    """How many requests were sent, and which responses were wrong."""

    requests: int = 0
    operations: set[str] = field(default_factory=set)
    statuses: dict[int, int] = field(default_factory=dict)
    findings: dict[str, str] = field(default_factory=dict)  # the first of each kind

    def add(self, name: str, kind: str, detail: str) -> None:
        if f"{name}: {kind}" not in self.findings:
            self.findings[f"{name}: {kind}"] = detail
            print(f"{name}: {kind}\n    {detail}", flush=True)


def main(*, seconds: float, seed: int, short: bool) -> int:
    """Send requests for that long, print what was wrong and return the exit code."""
    started = time.monotonic()
    with own_site() as site:
        report = try_schema(
            site, seed=seed, **({"examples": 2} if short else {"examples": 10, "seconds": seconds})
        )
    spread = ", ".join(f"{count} x {status}" for status, count in sorted(report.statuses.items()))
    took = time.monotonic() - started
    print(f"{report.requests} requests to {len(report.operations)} operations in {took:.0f} s: {spread}.")
    print(
        f"{len(report.findings)} kinds of wrong responses."
        if report.findings
        else "Every response was correct."
    )
    return 1 if report.findings else 0


def try_schema(site: Site, *, seed: int, examples: int, seconds: float = 0.0) -> SchemaReport:
    """Send this many requests per operation in rounds until the time is up; at least one round."""
    report = SchemaReport()
    document = site.attacker.get("/api/schema/?format=json").json()
    loaded = schemathesis.openapi.from_dict(document)
    deadline = time.monotonic() + seconds
    while True:
        mine = site.own if not report.requests else furnish(site.client(ATTACKER), site.hook_url)
        for operation in in_order(loaded):
            if seconds and time.monotonic() > deadline:
                return report
            ask(site, operation, mine, report, seed=seed, examples=examples)
        seed += 1
        if time.monotonic() > deadline:
            return report


def in_order(loaded: Any) -> Iterator[APIOperation[Any, Any, Any, Any]]:
    """Yield every operation, those that delete objects last."""
    operations = [found.ok() for found in loaded.get_all_operations()]
    yield from sorted(operations, key=lambda operation: operation.method.upper() == "DELETE")


def real_ids(site: Site, mine: Belongings, path: str) -> dict[str, str]:
    """Return path parameters that name objects of the requesting user."""
    kinds = {
        "agents": mine.agent, "sessions": mine.session, "chat": mine.session, "turns": mine.turn,
        "executions": mine.execution, "reviews": mine.review, "schedules": mine.schedule, "triggers": mine.trigger,
        "webhooks": mine.webhook, "credentials": mine.credential, "keys": mine.key, "files": mine.file,
        "operations": mine.operation, "hooks": mine.trigger_url.rpartition("/")[2],
        "blocks": site.blocks["Combine Texts"],
    }  # fmt: skip
    deliveries = {"triggers": mine.trigger_delivery, "webhooks": mine.webhook_delivery}
    parts = path.strip("/").split("/")[1:]
    found: dict[str, str] = {}
    for before, part in itertools.pairwise(parts):
        if part.startswith("{"):
            value = deliveries[parts[0]] if before == "deliveries" else kinds.get(before)
            found |= {part.strip("{}"): value} if value else {}
    return found


def ask(
    site: Site,
    operation: APIOperation[Any, Any, Any, Any],
    mine: Belongings,
    report: SchemaReport,
    *,
    seed: int,
    examples: int,
) -> None:
    """Send requests to one operation; most match the schema and name existing objects, some do not."""
    name = f"{operation.method.upper()} {operation.path}"
    report.operations.add(name)
    ids, theirs = (real_ids(site, whose, operation.path) for whose in (mine, site.belongings))
    fitting = operation.as_strategy(GenerationMode.POSITIVE, path_parameters=ids)
    kinds = [
        fitting,
        fitting,
        fitting,
        operation.as_strategy(GenerationMode.POSITIVE, path_parameters=theirs),
    ]
    kinds.append(operation.as_strategy(GenerationMode.POSITIVE))

    def send(case: ApiCase) -> None:
        prepare(case, mine)
        check(site, name, case, report)

    run(st.one_of(kinds), send, seed=seed, examples=examples)
    if can_be_wrong(operation):
        run(operation.as_strategy(GenerationMode.NEGATIVE), send, seed=seed, examples=max(examples // 2, 1))


def can_be_wrong(operation: APIOperation[Any, Any, Any, Any]) -> bool:
    """Return whether a request to the operation can violate the schema at all."""
    return bool(operation.body or operation.query or operation.path_parameters)


def run(strategy: st.SearchStrategy[ApiCase], send: Any, *, seed: int, examples: int) -> None:
    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def each(case: ApiCase) -> None:
        send(case)

    with contextlib.suppress(Unsatisfiable):
        begin_at(seed)(each)()


def check(site: Site, name: str, case: ApiCase, report: SchemaReport) -> None:
    """Send one request and report what is wrong with its response."""
    report.requests += 1
    try:
        answer = call(site, case)
    except requests.RequestException as error:
        report.add(name, type(error).__name__, f"{error} after {shown(case)}"[:SHOWN_CHARACTERS])
        return
    status = answer.status_code
    report.statuses[status] = report.statuses.get(status, 0) + 1
    if status >= 500 and status != FULL_WORKSPACE:
        report.add(name, str(status), f"{answer.text[:200]} after {shown(case)}")
        return
    streamed = answer.headers.get("content-type", "").startswith(STREAM)
    try:
        case.validate_response(Response.from_any(answer), checks=STREAM_CHECKS if streamed else CHECKS)
    except FailureGroup as group:
        for failure in group.exceptions:
            detail = f"{status}: {' '.join(str(failure).split())[:SHOWN_CHARACTERS]} after {shown(case)}"
            report.add(name, type(failure).__name__, detail)


def prepare(case: ApiCase, mine: Belongings) -> None:
    """Put ids of existing objects into the body, and shorten waits."""
    body, query = case.body, case.query
    real: dict[str, Any] = {"agent_id": mine.agent, "session_id": mine.session, "attachments": [mine.file]}
    for name, value in real.items():
        if isinstance(body, dict) and body.get(name):
            body[name] = value
    if isinstance(query, dict) and isinstance(query.get("wait"), (int, float)):
        query["wait"] = min(query["wait"], LONGEST_WAIT)


def call(site: Site, case: ApiCase) -> requests.Response:
    """Send the request; of a stream, read for a few seconds."""
    headers = {"Authorization": f"Bearer {site.keys[ATTACKER]}"}
    if case.operation.path == INTERNAL:
        headers["X-API-Key"] = INTERNAL_KEY
    sent: Mapping[str, Any] = case.as_transport_kwargs(base_url=site.url, headers=headers)
    answer = requests.request(**sent, stream=True, timeout=REQUEST_SECONDS, allow_redirects=False)
    if answer.headers.get("content-type", "").startswith(STREAM):
        deadline, received = time.monotonic() + STREAM_SECONDS, b""
        for part in answer.iter_content(65536):
            received += part
            if time.monotonic() > deadline:
                break
        answer._content = received
        answer.close()
    answer.content  # noqa: B018 - reads it
    return answer


def shown(case: ApiCase) -> str:
    parts = {"path": case.path_parameters, "query": case.query, "body": case.body}
    return json.dumps(parts, default=repr)[:SHOWN_CHARACTERS]
