"""Which model answers: the one picked for a message, else for its conversation, else by the person, else the site's."""

from __future__ import annotations

from accounts.groups import group_names
from accounts.models import User
from chat.errors import NoModelForYou
from chat.models import Session, Turn
from durable.errors import InvalidFields
from llm import offers
from llm.endpoint_rows import refresh_if_old
from llm.offers import ModelNotOffered, OfferedModel

UNKNOWN = "This model does not exist here, or you may not use it. GET /api/models lists those you may pick."


def offered(user: User | None) -> list[OfferedModel]:
    """Return the models that a person may pick."""
    refresh_if_old()
    return offers.offered_models(groups_of(user))


def check_pick(user: User | None, name: str | None) -> str:
    """Return the full name of a model that was picked, "" for none; raise InvalidFields if it may not be used."""
    if not name:
        return ""
    refresh_if_old()
    try:
        return offers.check_offered(name, groups_of(user))
    except ModelNotOffered:
        raise InvalidFields({"model": [UNKNOWN]}) from None


def model_for(session: Session, picked: str = "") -> str:
    """Return the model for the next turn of a session, "" for the site's default; raise NoModelForYou.

    A stored pick that may no longer be used counts for nothing.
    """
    user = session.user
    for name in (picked, session.model, user.model if user else ""):
        if name and _may_use(user, name):
            return name
    return default_for(user, offers.site_default())


def default_for(user: User | None, default: str) -> str:
    """Return "" if the person may use the site's default model, else the first model that they may use."""
    if offers.is_for_everybody(default) or offers.is_open(default, groups_of(user)):
        return ""
    mine = offers.offered_models(groups_of(user))
    if not mine:
        raise NoModelForYou
    return mine[0].name


def default_name(user: User | None) -> str:
    """Return the full name of the model that answers this person where they pick none; "" if the server decides."""
    if user is not None and user.model and _may_use(user, user.model):
        return user.model
    try:
        return default_for(user, offers.site_default()) or offers.site_default()
    except NoModelForYou:
        return ""


def model_to_continue(session: Session, turn: Turn | None) -> str:
    """Return the model for a turn without an input: that of the turn it goes on from."""
    try:
        return model_for(session, turn.asked_model if turn else "")
    except NoModelForYou:
        return ""  # what has been started is brought to its end


def groups_of(user: User | None) -> frozenset[str]:
    return group_names(user.pk if user else None)


def _may_use(user: User | None, name: str) -> bool:
    groups = frozenset() if offers.is_for_everybody(name) else groups_of(user)
    try:
        return bool(offers.check_offered(name, groups))
    except ModelNotOffered:
        return False
