"""The outside generator at AGENT_GENERATOR_URL: asked over HTTP, answered at once or later."""

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
from executions.generator.errors import BadDraft, OutsideFailed
from executions.generator.requests import AgentRequest, ClarifyingQuestions, Plan, Steps
from executions.graph import Graph, graph_to_json

ACCEPTED = 202


@dataclass(frozen=True, kw_only=True)
class ExternalJob:
    """How the outside names the work, and how it answers later."""

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
    """The outside has taken the work and will answer later."""


@dataclass(frozen=True, kw_only=True)
class OutsideGenerator:
    """One service; every method raises OutsideFailed in a sentence that says what it did wrong."""

    base_url: str

    def decompose(self, wish: AgentRequest) -> Plan:
        """Steps, questions or a better goal; always at once."""
        body = {"description": wish.goal, "context": wish.context, "library_agents": parts_of(wish)}
        answer = self._post("/api/decompose", body)
        if answer.status == ACCEPTED:
            raise OutsideFailed("The outside generator wants to take a goal apart later, which it may not.")
        return read_plan(read_answer(answer))

    def generate(
        self, wish: AgentRequest, plan: Steps, ticket: ExternalJob
    ) -> Graph | ClarifyingQuestions | Accepted:
        body = {
            "description": wish.goal,
            "context": wish.context,
            "instructions": list(plan.steps),
            "library_agents": parts_of(wish),
        }
        return self._build("/api/generate-agent", body, ticket)

    def update(self, wish: AgentRequest, ticket: ExternalJob) -> Graph | ClarifyingQuestions | Accepted:
        assert wish.base is not None
        body = {
            "update_request": wish.goal,
            "context": wish.context,
            "current_agent_json": graph_to_json(wish.base),
            "library_agents": parts_of(wish),
        }
        return self._build("/api/update-agent", body, ticket)

    def customize(self, wish: AgentRequest, ticket: ExternalJob) -> Graph | ClarifyingQuestions | Accepted:
        assert wish.base is not None
        body = {
            "modification_request": wish.goal,
            "context": wish.context,
            "template_agent_json": graph_to_json(wish.base),
        }
        return self._build("/api/customize", body, ticket)

    def _build(
        self, path: str, body: dict[str, Any], ticket: ExternalJob
    ) -> Graph | ClarifyingQuestions | Accepted:
        answer = self._post(path, body | ticket.as_json())
        return Accepted() if answer.status == ACCEPTED else read_built(read_answer(answer))

    def _post(self, path: str, body: dict[str, Any]) -> OutboundResponse:
        url = self.base_url.rstrip("/") + path
        request = OutboundRequest(
            url=url,
            method="POST",
            json=body,
            headers=headers(),
            timeout=settings.AGENT_GENERATOR_TIMEOUT_SECONDS,
            max_bytes=limits.MAX_GENERATOR_BYTES,
            follow_redirects=False,
        )
        try:
            answer = fetch(request, allowed_outside(self.base_url))
        except FetchError as error:
            raise OutsideFailed(f"The outside generator cannot be reached: {error}") from error
        if not 200 <= answer.status < 300:
            raise OutsideFailed(f"The outside generator answered with the status {answer.status}.")
        return answer


def configured() -> OutsideGenerator | None:
    """The service the site names, if it names one."""
    url = str(settings.AGENT_GENERATOR_URL or "")
    return OutsideGenerator(base_url=url) if url else None


def headers() -> dict[str, str]:
    key = str(settings.INTERNAL_API_KEY or "")
    return {"X-API-Key": key} if key else {}


def allowed_outside(url: str) -> Outside:
    """The operator named this very host and its time, so it may be reached wherever it is; nothing else may."""
    policy = policy_from_settings()
    try:
        target = parse_url(url)
    except BlockedUrl as error:
        raise OutsideFailed(f"AGENT_GENERATOR_URL is no address that can be asked: {error}") from error
    allowed = AllowList(pairs=policy.allowed.pairs | {(target.host, target.port)})
    return Outside(policy=replace(policy, allowed=allowed), max_seconds=limits.MAX_OPERATION_SECONDS)


def read_answer(answer: OutboundResponse) -> Mapping[str, Any]:
    try:
        found = storable.nearest_json(storable.loads(answer.body))
    except ValueError:
        raise OutsideFailed("The outside generator did not answer with JSON.") from None
    if not isinstance(found, dict):
        raise OutsideFailed("The outside generator did not answer with a JSON object.")
    if found.get("success") is False:
        raise OutsideFailed(
            f"The outside generator failed: {str(found.get('error') or 'it gave no reason')[:500]}"
        )
    return found


def read_built(answer: Any) -> Graph | ClarifyingQuestions:
    """What came of the work, at once or later; raises OutsideFailed for nonsense."""
    if not isinstance(answer, Mapping):
        raise OutsideFailed("The outside generator did not answer with an agent.")
    if questions := read_questions(answer):
        return questions
    try:
        return read_draft(answer)
    except BadDraft as error:
        raise OutsideFailed(f"The outside generator's agent cannot be read: {error}") from None


def parts_of(wish: AgentRequest) -> list[dict[str, Any]]:
    return [part.as_json() for part in wish.parts]
