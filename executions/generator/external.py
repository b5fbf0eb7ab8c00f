"""Client of the external generator at AGENT_GENERATOR_URL, which answers at once or later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from boundary.errors import BlockedUrl, FetchError
from boundary.http import OutboundRequest, OutboundResponse, Outside, fetch
from boundary.policy import AllowList, policy_from_settings
from boundary.urls import parse_url
from durable import storable
from executions import limits
from executions.generator.decompose import read_plan, read_questions
from executions.generator.drafts import read_draft
from executions.generator.errors import BadDraft, ExternalGeneratorFailed
from executions.generator.requests import AgentRequest, ClarifyingQuestions, Plan, Steps
from executions.graph import Graph, graph_to_json

ACCEPTED = 202


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
    """The service; every method raises ExternalGeneratorFailed with what went wrong."""

    base_url: str

    def decompose(self, request: AgentRequest) -> Plan:
        """Return steps, questions or a better goal. The answer must come at once."""
        body = {"description": request.goal, "context": request.context, "library_agents": parts_of(request)}
        answer = self._post("/api/decompose", body)
        if answer.status == ACCEPTED:
            raise ExternalGeneratorFailed(
                "The external generator answered /api/decompose with 202; it must answer at once."
            )
        return read_plan(read_answer(answer))

    def generate(
        self, request: AgentRequest, plan: Steps, job: ExternalJob
    ) -> Graph | ClarifyingQuestions | Accepted:
        body = {
            "description": request.goal,
            "context": request.context,
            "instructions": list(plan.steps),
            "library_agents": parts_of(request),
        }
        return self._build("/api/generate-agent", body, job)

    def update(self, request: AgentRequest, job: ExternalJob) -> Graph | ClarifyingQuestions | Accepted:
        assert request.base is not None
        body = {
            "update_request": request.goal,
            "context": request.context,
            "current_agent_json": graph_to_json(request.base),
            "library_agents": parts_of(request),
        }
        return self._build("/api/update-agent", body, job)

    def customize(self, request: AgentRequest, job: ExternalJob) -> Graph | ClarifyingQuestions | Accepted:
        assert request.base is not None
        body = {
            "modification_request": request.goal,
            "context": request.context,
            "template_agent_json": graph_to_json(request.base),
        }
        return self._build("/api/customize", body, job)

    def _build(
        self, path: str, body: dict[str, Any], job: ExternalJob
    ) -> Graph | ClarifyingQuestions | Accepted:
        answer = self._post(path, body | job.as_json())
        return Accepted() if answer.status == ACCEPTED else read_built(read_answer(answer))

    def _post(self, path: str, body: dict[str, Any]) -> OutboundResponse:
        url = self.base_url.rstrip("/") + path
        outbound = OutboundRequest(
            url=url,
            method="POST",
            json=body,
            headers=headers(),
            timeout=settings.AGENT_GENERATOR_TIMEOUT_SECONDS,
            max_bytes=limits.MAX_GENERATOR_BYTES,
            follow_redirects=False,
        )
        try:
            answer = fetch(outbound, allowed_outside(self.base_url))
        except FetchError as error:
            raise ExternalGeneratorFailed(f"The external generator cannot be reached: {error}") from error
        if not 200 <= answer.status < 300:
            raise ExternalGeneratorFailed(f"The external generator answered with status {answer.status}.")
        return answer


def configured() -> ExternalGenerator | None:
    """Return the configured service, if any."""
    url = str(settings.AGENT_GENERATOR_URL or "")
    return ExternalGenerator(base_url=url) if url else None


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
    try:
        found = storable.nearest_json(storable.loads(answer.body))
    except ValueError:
        raise ExternalGeneratorFailed("The external generator did not answer with JSON.") from None
    if not isinstance(found, dict):
        raise ExternalGeneratorFailed("The external generator did not answer with a JSON object.")
    if found.get("success") is False:
        raise ExternalGeneratorFailed(
            f"The external generator failed: {str(found.get('error') or 'it gave no reason')[:500]}"
        )
    return found


def read_built(answer: Any) -> Graph | ClarifyingQuestions:
    """Return the graph or the questions of an immediate or later answer; raises ExternalGeneratorFailed."""
    if not isinstance(answer, Mapping):
        raise ExternalGeneratorFailed("The external generator did not answer with an agent.")
    if questions := read_questions(answer):
        return questions
    try:
        return read_draft(answer)
    except BadDraft as error:
        raise ExternalGeneratorFailed(f"The external generator's agent cannot be read: {error}") from None


def parts_of(request: AgentRequest) -> list[dict[str, Any]]:
    return [part.as_json() for part in request.parts]
