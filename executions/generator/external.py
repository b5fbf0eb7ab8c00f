"""Client of the external generator at AGENT_GENERATOR_URL, which answers at once or later."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import quote

from django.conf import settings

from boundary.errors import BlockedUrl, FetchError
from boundary.http import OutboundRequest, OutboundResponse, Outside, fetch
from boundary.policy import AllowList, policy_from_settings
from boundary.urls import parse_url
from durable import storable
from durable.database import outside_wait
from durable.stop_signal import StopSignal
from executions import limits
from executions.generator.decompose import read_plan, read_questions
from executions.generator.drafts import read_draft
from executions.generator.errors import BadDraft, ExternalGeneratorFailed
from executions.generator.requests import AgentRequest, ClarifyingQuestions, Plan, Steps
from executions.graph import Graph, graph_to_json

OK, ACCEPTED = 200, 202


@dataclass(frozen=True, kw_only=True)
class ExternalJob:
    """The ids of a job for the external generator, and where it sends a later answer."""

    operation_id: str
    task_id: str
    completion_url: str
    secret: str

    def as_json(self) -> dict[str, str]:
        return {
            "operation_id": self.operation_id,
            "task_id": self.task_id,
            "completion_url": self.completion_url,
            "completion_secret": self.secret,
        }


class Accepted:
    """The external generator accepted the job and will answer later."""


@dataclass(frozen=True, kw_only=True)
class ExternalGenerator:
    """The service under this project's addresses; every method raises ExternalGeneratorFailed with what went wrong."""

    base_url: str
    stop: StopSignal = field(default_factory=StopSignal)

    def decompose(self, request: AgentRequest) -> Plan:
        """Return steps, questions or a better goal. The answer must come at once, or as a job that can be polled."""
        body = {"description": request.goal, "context": request.context, "library_agents": parts_of(request)}
        return self._plan("/api/decompose", body)

    def generate(self, request: AgentRequest, plan: Steps, job: ExternalJob) -> BuiltOutside:
        body = {
            "description": request.goal,
            "context": request.context,
            "instructions": list(plan.whole or plan.steps),
            "library_agents": parts_of(request),
        }
        return self._build("/api/generate-agent", body, job)

    def update(self, request: AgentRequest, job: ExternalJob) -> BuiltOutside:
        body = {
            "update_request": request.goal,
            "context": request.context,
            "current_agent_json": base_of(request),
            "library_agents": parts_of(request),
        }
        return self._build("/api/update-agent", body, job)

    def customize(self, request: AgentRequest, job: ExternalJob) -> BuiltOutside:
        body = {
            "modification_request": request.goal,
            "context": request.context,
            "template_agent_json": base_of(request),
        }
        return self._build("/api/customize", body, job)

    def _plan(self, path: str, body: dict[str, Any]) -> Plan:
        answer = self._send(path, body)
        if answer is None:
            raise ExternalGeneratorFailed(
                f"The external generator answered {path} with 202; it must answer at once."
            )
        return read_plan(answer)

    def _build(self, path: str, body: dict[str, Any], job: ExternalJob) -> BuiltOutside:
        answer = self._send(path, body | job.as_json())
        return Accepted() if answer is None else read_built(answer)

    def _send(self, path: str, body: dict[str, Any]) -> Mapping[str, Any] | None:
        """Return the answer; None if the service accepted the job and will report its end itself."""
        answer = self._request("POST", path, body)
        if answer.status != ACCEPTED:
            return read_answer(answer)
        job_id = read_object_of(answer).get("job_id")
        return self._poll(str(job_id)) if job_id else None

    def _poll(self, job_id: str) -> Mapping[str, Any]:
        """Ask for a job until it has ended, for at most the time of one request."""
        deadline = time.monotonic() + settings.AGENT_GENERATOR_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            pause(limits.GENERATOR_POLL_SECONDS, self.stop)
            job = read_object_of(self._request("GET", f"/api/jobs/{quote(job_id, safe='')}"))
            match job.get("status"):
                case "completed" if isinstance(job.get("result"), Mapping):
                    return checked(job["result"])
                case "queued" | "pending" | "running":
                    continue
                case "failed":
                    raise reported(job)
                case status:
                    raise ExternalGeneratorFailed(
                        f"The external generator's job has the unknown status {str(status)[:50]!r}."
                    )
        raise ExternalGeneratorFailed("The external generator did not finish in time.")

    def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> OutboundResponse:
        answer = self._fetch(method, path, body, settings.AGENT_GENERATOR_TIMEOUT_SECONDS)
        if not 200 <= answer.status < 300:
            raise ExternalGeneratorFailed(f"The external generator answered with status {answer.status}.")
        return answer

    def _fetch(self, method: str, path: str, body: dict[str, Any] | None, seconds: float) -> OutboundResponse:
        outbound = OutboundRequest(
            url=self.base_url.rstrip("/") + path,
            method=method,
            json=body,
            headers=headers(),
            timeout=seconds,
            max_bytes=limits.MAX_GENERATOR_BYTES,
            follow_redirects=False,
        )
        try:
            return fetch(outbound, allowed_outside(self.base_url))
        except FetchError as error:
            raise ExternalGeneratorFailed(f"The external generator cannot be reached: {error}") from error

    def health(self) -> Mapping[str, Any]:
        """Return what /health answers; empty if it has no such address."""
        answer = self._fetch("GET", "/health", None, limits.GENERATOR_HEALTH_SECONDS)
        try:
            return read_object_of(answer) if answer.status == OK else {}
        except ExternalGeneratorFailed:
            return {}


@dataclass(frozen=True, kw_only=True)
class AutoGPTGenerator(ExternalGenerator):
    """AutoGPT's Agent Generator. It has no field for the context, which is part of the wording there."""

    def decompose(self, request: AgentRequest) -> Plan:
        body = {"description": worded(request), **library_of(request)}
        return self._plan("/api/decompose-description", body)

    def generate(self, request: AgentRequest, plan: Steps, job: ExternalJob) -> BuiltOutside:
        steps = list(plan.whole or plan.steps)
        body = {"instructions": {"type": "instructions", "steps": steps}, **library_of(request)}
        return self._build("/api/generate-agent", body, job)

    def update(self, request: AgentRequest, job: ExternalJob) -> BuiltOutside:
        body = {
            "update_request": worded(request),
            "current_agent_json": base_of(request),
            **library_of(request),
        }
        return self._build("/api/update-agent", body, job)

    def customize(self, request: AgentRequest, job: ExternalJob) -> BuiltOutside:
        body = {"modification_request": worded(request), "template_agent_json": base_of(request)}
        return self._build("/api/template-modification", body, job)


BuiltOutside: TypeAlias = "Graph | ClarifyingQuestions | Accepted"


def configured(stop: StopSignal | None = None) -> ExternalGenerator | None:
    """Return the configured service, if any. Raises ExternalGeneratorFailed if it is not ready."""
    url = str(settings.AGENT_GENERATOR_URL or "")
    if not url:
        return None
    own = ExternalGenerator(base_url=url, stop=stop or StopSignal())
    match settings.AGENT_GENERATOR_API:
        case "autogpt":
            return AutoGPTGenerator(base_url=url, stop=own.stop)
        case "ratchet":
            return own
    health = own.health()
    if "blocks_loaded" not in health:  # AutoGPT's service says whether it has its blocks
        return own
    if not health["blocks_loaded"]:
        raise ExternalGeneratorFailed("The external generator is still starting.")
    return AutoGPTGenerator(base_url=url, stop=own.stop)


@outside_wait()
def pause(seconds: float, stop: StopSignal) -> None:
    """Wait; raises ExternalGeneratorFailed when the work was stopped meanwhile."""
    woken = threading.Event()
    remove = stop.add_callback(woken.set)
    try:
        if woken.wait(seconds):
            raise ExternalGeneratorFailed("The build was stopped.")
    finally:
        remove()


def headers() -> dict[str, str]:
    key = str(settings.INTERNAL_API_KEY or "")
    return {"X-API-Key": key} if key else {}


def allowed_outside(url: str) -> Outside:
    """Return a policy that also allows this host, internal or not: the operator configured it."""
    policy = policy_from_settings()
    try:
        target = parse_url(url)
    except BlockedUrl as error:
        raise ExternalGeneratorFailed(f"AGENT_GENERATOR_URL is not a usable address: {error}") from error
    allowed = AllowList(pairs=policy.allowed.pairs | {(target.host, target.port)})
    return Outside(policy=replace(policy, allowed=allowed), max_seconds=limits.MAX_OPERATION_SECONDS)


def read_answer(answer: OutboundResponse) -> Mapping[str, Any]:
    """Return the answer; raises ExternalGeneratorFailed with the service's own words if it reports a failure."""
    return checked(read_object_of(answer))


def checked(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    if answer.get("success") is False or answer.get("type") == "error":
        raise reported(answer)
    return answer


def reported(answer: Mapping[str, Any]) -> ExternalGeneratorFailed:
    words = answer.get("error") or answer.get("message") or answer.get("detail") or "it gave no reason"
    return ExternalGeneratorFailed(f"The external generator failed: {str(words)[:500]}")


def read_object_of(answer: OutboundResponse) -> Mapping[str, Any]:
    try:
        found = storable.nearest_json(storable.loads(answer.body))
    except ValueError:
        raise ExternalGeneratorFailed("The external generator did not answer with JSON.") from None
    if not isinstance(found, dict):
        raise ExternalGeneratorFailed("The external generator did not answer with a JSON object.")
    return found


def read_built(answer: Any) -> Graph | ClarifyingQuestions:
    """Return the graph or the questions of an immediate or later answer; raises ExternalGeneratorFailed."""
    if not isinstance(answer, Mapping):
        raise ExternalGeneratorFailed("The external generator did not answer with an agent.")
    if questions := read_questions(checked(answer)):
        return questions
    try:
        return read_draft(answer)
    except BadDraft as error:
        raise ExternalGeneratorFailed(f"The external generator's agent cannot be read: {error}") from None


def base_of(request: AgentRequest) -> dict[str, Any]:
    assert request.base is not None
    return graph_to_json(request.base)


def worded(request: AgentRequest) -> str:
    return f"{request.goal}\n\nAdditional context:\n{request.context}" if request.context else request.goal


def library_of(request: AgentRequest) -> dict[str, Any]:
    return {"library_agents": parts_of(request)} if request.parts else {}


def parts_of(request: AgentRequest) -> list[dict[str, Any]]:
    return [part.as_json() for part in request.parts]
