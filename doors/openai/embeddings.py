"""POST /v1/embeddings: checked, charged, and passed to the model server."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.utils import timezone

from accounts.budgets import check_budget as check_user_budget
from accounts.ledger import charge_once
from accounts.models import LedgerEntry
from chat.key_budgets import embedding_prefix
from chat.threads import in_thread
from doors.openai import fields, limits
from doors.openai.access import Caller, check_budget
from doors.openai.errors import ServerError, TooFast, UnknownModel, UnusableRequest
from doors.openai.identity import RequestIdentity
from durable.ids import new_id
from llm.embeddings import EmbeddingRefused, Embeddings, embed
from llm.endpoint_rows import refresh_if_old
from llm.errors import LLMError, RateLimited

PASSED = ("input", "model", "encoding_format", "dimensions", "user")


async def create(caller: Caller, body: fields.Body, identity: RequestIdentity) -> dict[str, Any]:
    """Return the embeddings as OpenAI would; raise OpenAIError. A repeated request is charged once."""
    model = fields.text(body, "model", most=200)
    if not model or not caller.may_use_model(model):
        raise UnknownModel(param="model")
    check_input(body.get("input"))
    await in_thread(check_budgets, caller)
    try:
        found = await embed({name: body[name] for name in PASSED if body.get(name) is not None})
    except EmbeddingRefused as error:
        raise UnusableRequest(str(error), param="model") from None
    except RateLimited as error:
        raise TooFast(retry_after=error.retry_after, message=error.user_message) from None
    except LLMError as error:
        failed = ServerError(error.user_message)
        failed.status = HTTPStatus.BAD_GATEWAY
        raise failed from None
    await in_thread(charge, caller, found, identity)
    return found.body


def charge(caller: Caller, found: Embeddings, identity: RequestIdentity) -> None:
    """Charge for embeddings, unless this is another try of a request that was charged."""
    prefix = f"{embedding_prefix(caller.key)}{identity.body_hash}:"
    if identity.repeats and not identity.is_explicit and was_charged(caller, prefix):
        return
    charge_once(
        user_id=caller.user.pk,
        key=prefix + (identity.key if identity.is_explicit else new_id().hex),
        kind=LedgerEntry.Kind.MODEL,
        amount=found.cost,
        input_tokens=found.input_tokens,
        description=f"embeddings with {found.model}",
    )


def was_charged(caller: Caller, prefix: str) -> bool:
    oldest = timezone.now() - timedelta(seconds=limits.REPEATED_REQUEST_SECONDS)
    recent = LedgerEntry.objects.filter(user=caller.user, created_at__gt=oldest)
    return recent.filter(key__startswith=prefix).exists()


def check_budgets(caller: Caller) -> None:
    refresh_if_old()
    check_user_budget(caller.user)
    check_budget(caller)


def check_input(value: object) -> None:
    """Raise UnusableRequest unless the input is a text, tokens, or a list of either."""
    if isinstance(value, str) and value:
        return
    listed = fields.items(value, "input", most=limits.MAX_EMBEDDING_INPUTS)
    if not listed or not all(isinstance(item, str | int | list) for item in listed):
        raise UnusableRequest("`input` must be a text, tokens, or a list of them.", param="input")
