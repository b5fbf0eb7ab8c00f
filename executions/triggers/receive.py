"""Receipt of a webhook call: check it, store it, then start its agent."""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.message import Message
from typing import Any, assert_never

from django.core.exceptions import SuspiciousOperation
from django.db import DatabaseError, InterfaceError, connection
from django.http import QueryDict

from accounts.tokens import hash_token
from blocks.ports import JSON
from durable import crashpoints, rate_limit, storable
from durable.clock import database_now
from durable.database import in_transaction
from durable.encryption import CannotUnseal
from durable.redaction import REDACTED, is_secret_header
from executions import limits
from executions.errors import BadPayload, TooManyCalls, UnknownHook, WrongSignature
from executions.models import Trigger, TriggerDelivery
from executions.triggers.dispatch import start_delivery
from executions.triggers.signatures import is_signed

logger = logging.getLogger(__name__)
State = TriggerDelivery.State
CALL_IDS = (  # the names under which callers number their calls
    "webhook-id",
    "svix-id",
    "x-github-delivery",
    "x-gitlab-event-uuid",
    "x-shopify-webhook-id",
    "idempotency-key",
)
MAX_KEY_CHARACTERS = 200
WHOLE = "body"  # the key of a payload that is not an object
GITHUB_FIELD = "payload"


@dataclass(frozen=True, kw_only=True)
class HookRequest:
    """One request as it came; names of headers in lower case."""

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class ReceivedCall:
    """The delivery of a call; `created` is False if it had come before."""

    delivery: TriggerDelivery
    created: bool


def receive(token: str, call: HookRequest) -> ReceivedCall:
    """Store the call and start its agent. Once per key, see `key_of`: a repeated call returns the same delivery.

    Raises UnknownHook, TooManyCalls, WrongSignature or BadPayload; the trigger's owner finds them in its log.
    """
    trigger = Trigger.objects.filter(token_hash=hash_token(token)).select_related("user", "agent").first()
    if trigger is None or not trigger.user.is_active:
        raise UnknownHook
    if wait := rate_limit.seconds_to_wait(f"hook:{trigger.pk}", most=limits.HOOK_CALLS_PER_MINUTE):
        raise TooManyCalls(retry_after=wait)
    payload = checked_payload(trigger, call)
    delivery, created = store(trigger, call, payload)
    crashpoints.reached("hook_stored")
    if created:
        start_quietly(delivery)
    return ReceivedCall(delivery=delivery, created=created)


def checked_payload(trigger: Trigger, call: HookRequest) -> dict[str, JSON]:
    """Return the payload of a call with a valid signature; log a refusal and raise otherwise."""
    if not trigger.enabled:
        note_refusal(trigger, "The trigger is switched off.")
        raise UnknownHook
    try:
        signed = is_signed(trigger, call.body, call.headers)
    except CannotUnseal as error:
        note_refusal(trigger, str(error))
        raise WrongSignature from None
    if not signed:
        note_refusal(trigger, "The signature is missing, wrong or too old.")
        raise WrongSignature
    try:
        return read_payload(call.body, call.headers.get("content-type", ""))
    except BadPayload as error:
        note_refusal(trigger, error.message)
        raise


def note_refusal(trigger: Trigger, reason: str) -> None:
    """Log that a call was refused, without its content and at a limited rate."""
    if rate_limit.seconds_to_wait(f"hook-refused:{trigger.pk}", most=limits.HOOK_REFUSALS_PER_MINUTE):
        return
    TriggerDelivery.objects.create(
        trigger=trigger, delivery_key=f"refused:{uuid.uuid4()}", state=State.REFUSED, error=reason
    )


@in_transaction
def store(trigger: Trigger, call: HookRequest, payload: dict[str, JSON]) -> tuple[TriggerDelivery, bool]:
    """Store the call or find the same call; the trigger's row serialises its calls."""
    now = database_now()
    Trigger.objects.filter(pk=trigger.pk).update(called_at=now)
    return TriggerDelivery.objects.get_or_create(
        trigger=trigger,
        delivery_key=key_of(trigger, call, now),
        defaults={
            "headers": shown_headers(call.headers),
            "payload": payload,
            "due_at": now + timedelta(seconds=limits.HOOK_PATIENCE_SECONDS),
        },
    )


def key_of(trigger: Trigger, call: HookRequest, now: datetime) -> str:
    """Return the key that identifies a call; where calls are signed, from what is signed only."""
    match Trigger.Scheme(trigger.scheme):
        case Trigger.Scheme.NONE:
            return key_by_id(call, CALL_IDS)
        case Trigger.Scheme.STANDARD:
            return key_by_id(call, CALL_IDS[:1])  # the signature covers it
        case Trigger.Scheme.HMAC:
            return key_by_body(trigger, call, now)
        case other:
            assert_never(other)


def key_by_id(call: HookRequest, names: Sequence[str]) -> str:
    """Return the caller's own id of the call; without one every call is new."""
    for name in names:
        if given := call.headers.get(name):
            key = f"{name}:{given}"
            short = len(key) <= MAX_KEY_CHARACTERS and key.isprintable()
            return key if short else f"{name}:{hashlib.sha256(given.encode()).hexdigest()}"
    return f"call:{uuid.uuid4()}"


def key_by_body(trigger: Trigger, call: HookRequest, now: datetime) -> str:
    """Return a key from the signed bytes, as an id beside them is not signed; after a day the same body is new."""
    digest, window = hashlib.sha256(call.body).hexdigest(), limits.HOOK_REPLAY_SECONDS
    bucket = int(now.timestamp() // window)
    before = f"body:{digest}:{bucket - 1}"
    since = now - timedelta(seconds=window)
    recent = trigger.deliveries.filter(delivery_key=before, received_at__gt=since).exists()
    return before if recent else f"body:{digest}:{bucket}"


def start_quietly(delivery: TriggerDelivery) -> None:
    """Start a stored call; if the database fails, leave it to a sweep."""
    try:
        start_delivery(delivery.pk)
    except (DatabaseError, InterfaceError) as error:
        logger.warning("A stored call was not started, a sweep will do it: %s", error)
        if not connection.in_atomic_block:
            connection.close()
        return
    delivery.refresh_from_db()


def read_payload(body: bytes, content_type: str) -> dict[str, JSON]:
    """Return the payload as an object; a list, a number or text becomes its `body`. Raises BadPayload."""
    kind = media_type(content_type)
    if not body.strip():
        return {}
    if kind == "application/x-www-form-urlencoded":
        return kept(read_form(body))
    if kind.startswith("multipart/"):
        raise BadPayload("Forms with files are not supported. Send JSON, a plain form, or text.")
    text = decode(body)
    if kind == "application/json" or kind.endswith("+json"):
        return kept(as_object(parse(text)))
    return kept({WHOLE: text})


def media_type(content_type: str) -> str:
    """Return the media type; JSON by default, because nearly all callers send it."""
    message = Message()
    message["content-type"] = content_type or "application/json"
    return message.get_content_type()


def decode(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadPayload("The body is not UTF-8 text.") from None


def parse(text: str) -> JSON:
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise BadPayload(f"The body is not valid JSON: {error}.") from None
    except (RecursionError, ValueError):
        raise BadPayload(
            "The body is JSON that cannot be used: a number is too large, or it is nested too deeply."
        ) from None


def refuse_constant(name: str) -> None:
    raise BadPayload(f"The body contains {name}, which is not JSON.")


def read_form(body: bytes) -> dict[str, JSON]:
    """Return the fields of a form; repeated ones as a list. GitHub puts its JSON into one field."""
    try:
        fields = QueryDict(body, encoding="utf-8")
    except (SuspiciousOperation, ValueError):
        raise BadPayload("The form cannot be read.") from None
    values: dict[str, Any] = {
        name: found if len(found) > 1 else found[0] for name, found in fields.lists() if found
    }
    if set(values) == {GITHUB_FIELD} and isinstance(values[GITHUB_FIELD], str):
        try:
            return as_object(parse(values[GITHUB_FIELD]))
        except BadPayload:
            return values
    return values


def as_object(value: JSON) -> dict[str, JSON]:
    return value if isinstance(value, dict) else {WHOLE: value}


def kept(payload: dict[str, JSON]) -> dict[str, JSON]:
    """Return the payload as it is stored; raises BadPayload if it has no JSON form."""
    try:
        return dict(storable.json_value(payload))
    except storable.NotStorable as error:
        raise BadPayload(f"The body cannot be stored: {error}.") from None


def shown_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the first headers, cut, with secrets redacted."""
    few = list(headers.items())[: limits.MAX_HOOK_HEADERS]
    return {name: shown_header(name, value) for name, value in few}


def shown_header(name: str, value: str) -> str:
    if is_secret_header(name):
        return REDACTED
    return storable.text(value, most=limits.MAX_HOOK_HEADER_CHARACTERS)
