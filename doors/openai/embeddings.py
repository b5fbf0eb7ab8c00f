"""POST /v1/embeddings: checked, charged, and passed to the model server."""

from __future__ import annotations

from typing import Any

from accounts.budgets import check_budget as check_user_budget
from accounts.ledger import charge_once
from accounts.models import LedgerEntry
from chat.threads import in_thread
from doors.openai import fields, limits
from doors.openai.access import Caller, check_budget
from doors.openai.errors import ServerError, UnknownModel, UnusableRequest
from durable.ids import new_id
from llm.embeddings import EmbeddingRefused, embed
from llm.endpoint_rows import refresh_if_old
from llm.errors import LLMError

PASSED = ("input", "model", "encoding_format", "dimensions", "user")


async def create(caller: Caller, body: fields.Body) -> dict[str, Any]:
    """Return the embeddings as OpenAI would; raise OpenAIError."""
    model = fields.text(body, "model", most=200)
    if not model or not caller.may_use_model(model):
        raise UnknownModel(param="model")
    check_input(body.get("input"))
    await in_thread(check_budgets, caller)
    try:
        found = await embed({name: body[name] for name in PASSED if body.get(name) is not None})
    except EmbeddingRefused as error:
        raise UnusableRequest(str(error), param="model") from None
    except LLMError as error:
        raise ServerError(error.user_message) from None
    await in_thread(
        charge_once,
        user_id=caller.user.pk,
        key=f"embeddings:{new_id()}",
        kind=LedgerEntry.Kind.MODEL,
        amount=found.cost,
        input_tokens=found.input_tokens,
        description=f"embeddings with {found.model}",
    )
    return found.body


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
