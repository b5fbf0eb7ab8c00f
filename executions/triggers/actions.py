"""Actions on triggers: create, change, renew address or secret."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from accounts.tokens import hash_token, new_token
from blocks.ports import JSON
from durable.database import in_transaction
from durable.encryption import seal
from durable.ids import new_id
from executions import limits
from executions.errors import BadTrigger, TooManyTriggers
from executions.inputs import fit_inputs
from executions.models import Agent, Trigger
from executions.start import check_not_removed, find_version
from executions.triggers.dispatch import webhook_nodes
from executions.triggers.signatures import Scheme, check_secret, new_secret

HINT_CHARACTERS = 6


@dataclass(frozen=True, kw_only=True)
class NewTrigger:
    """What a call starts; without a secret one is generated."""

    agent: Agent
    name: str
    version: int | None = None
    node_id: str = ""
    scheme: str = Scheme.NONE
    secret: str = field(default="", repr=False)
    inputs: Mapping[str, JSON] = field(default_factory=dict)
    enabled: bool = True
    id: uuid.UUID | None = None  # the same id again is refused by the database


@dataclass(frozen=True, kw_only=True)
class TriggerSecrets:
    """A trigger with its address or secret, which are shown only once."""

    trigger: Trigger
    url: str = ""
    secret: str = field(default="", repr=False)


def create(user: User, new: NewTrigger) -> TriggerSecrets:
    """Create a trigger; raises BadTrigger, TooManyTriggers, CannotRun or BadInputs."""
    check_agent(new.agent, new.version, new.node_id, new.inputs)
    secret = chosen_secret(new.scheme, new.secret)
    token = new_token()

    @in_transaction
    def insert() -> Trigger:
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # one at a time, so the limit holds
        if Trigger.objects.filter(user=user).count() >= limits.MAX_TRIGGERS_PER_USER:
            raise TooManyTriggers
        return Trigger.objects.create(
            id=new.id or new_id(),
            user=user,
            agent=new.agent,
            version=new.version,
            node_id=new.node_id,
            name=new.name,
            token_hash=hash_token(token),
            token_hint=token[:HINT_CHARACTERS],
            scheme=new.scheme,
            secret=seal(secret) if secret else "",
            inputs=dict(new.inputs),
            enabled=new.enabled,
        )

    return TriggerSecrets(trigger=insert(), url=url_of(token), secret=secret)


def change(trigger: Trigger, *, secret: str = "", **values: Any) -> TriggerSecrets:
    """Change name, version, node, scheme, inputs or enabled. A new scheme gets a new secret at once.

    Raises as `create` does.
    """
    if values.get("enabled"):
        check_not_removed(trigger.agent)
    scheme = values.get("scheme", trigger.scheme)
    another = scheme != trigger.scheme
    for name, value in values.items():
        setattr(trigger, name, value)
    if {"version", "node_id", "inputs"} & values.keys():
        check_agent(trigger.agent, trigger.version, trigger.node_id, trigger.inputs)
    made = ""
    if secret or another:
        made = chosen_secret(scheme, secret)
        values |= {"secret": seal(made) if made else "", "old_secret": "", "old_secret_until": None}
    for name in ("secret", "old_secret", "old_secret_until"):
        if name in values:
            setattr(trigger, name, values[name])
    trigger.save(update_fields=list(values))
    return TriggerSecrets(trigger=trigger, secret=made)


def rotate_address(trigger: Trigger) -> TriggerSecrets:
    """Replace the address; the old one stops working at once."""
    token = new_token()
    trigger.token_hash, trigger.token_hint = hash_token(token), token[:HINT_CHARACTERS]
    trigger.save(update_fields=["token_hash", "token_hint"])
    return TriggerSecrets(trigger=trigger, url=url_of(token))


def rotate_secret(trigger: Trigger, *, secret: str = "", grace_seconds: float) -> TriggerSecrets:
    """Replace the secret; the old one stays valid for a while, so that callers can change over."""
    if trigger.scheme == Scheme.NONE:
        raise BadTrigger("Calls of this trigger are not signed, so it has no secret to rotate.")
    made = chosen_secret(trigger.scheme, secret)
    trigger.old_secret, trigger.secret = trigger.secret, seal(made)
    trigger.old_secret_until = timezone.now() + timedelta(seconds=grace_seconds)
    trigger.save(update_fields=["secret", "old_secret", "old_secret_until"])
    return TriggerSecrets(trigger=trigger, secret=made)


def chosen_secret(scheme: str, given: str) -> str:
    if given:
        check_secret(scheme, given)
    return given or new_secret(scheme)


def check_agent(agent: Agent, number: int | None, node_id: str, inputs: Mapping[str, JSON]) -> None:
    """Raise for what would fail at every call; the payload is checked at each call."""
    version = find_version(agent, number)
    nodes = webhook_nodes(version)
    if node_id and node_id not in nodes:
        raise BadTrigger(f"The agent has no trigger block with the id {node_id!r}.")
    fit_inputs(inputs, version.input_schema | {"required": []})


def url_of(token: str) -> str:
    return f"{settings.SITE_URL}{reverse('hook', args=[token])}"


def shown_url(trigger: Trigger) -> str:
    """Return the address without its secret part."""
    return f"{url_of(trigger.token_hint)}…"
