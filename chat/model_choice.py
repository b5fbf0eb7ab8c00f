"""Which model answers: the one picked for a message, else for its conversation, else by the person, else the site's."""

from __future__ import annotations

import llm
from accounts.groups import group_names
from accounts.models import User
from chat.errors import NoModelForYou
from chat.models import Session, Turn
from durable.errors import InvalidFields
from llm import offers
from llm.endpoint_rows import refresh, refresh_if_old
from llm.offers import ModelNotOffered, OfferedModel

UNKNOWN = "This model does not exist here, or you may not use it. Leave `model` out for the default"
NAMED_MODELS = 10  # in an error; GET /api/models lists them all


def offered(user: User | None) -> list[OfferedModel]:
    """Return the models that a person may pick."""
    refresh_if_old()
    offers.read_lists_if_old()
    return offers.offered_models(groups_of(user))


def check_pick(user: User | None, name: str | None) -> str:
    """Return the full name of a model that was picked, "" for none; raise InvalidFields if it may not be used."""
    if not name:
        return ""
    refresh_if_old()
    try:
        return offers.check_offered(name, groups_of(user))
    except ModelNotOffered:
        raise InvalidFields({"model": [_unknown(user)]}) from None


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


def model_of(turn: Turn) -> str:
    """Return the model for the next step of a turn, "" for the site's default: that of its last step, else its pick.

    One that has gone since then, or is no longer open to the person, counts for nothing. Raise NoModelForYou.
    """
    name, user = turn.model_name or turn.asked_model, turn.session.user
    default = offers.site_default()
    if not name or name == (default or llm.default_model()):
        return default_for(user, default) or name
    if name in fallbacks_for(user) or _may_use(user, name):
        return name
    refresh()  # it may have been added a moment ago
    return name if _may_use(user, name) else model_for(turn.session)


def fallbacks_for(user: User | None) -> list[str]:
    """Return the models of the fallback chain that may answer a person."""
    return offers.open_fallbacks(lambda: groups_of(user))


def small_model_for(user: User | None) -> str:
    """Return the model for titles and summaries of a person's sessions: the site's, unless it is closed to them."""
    small = llm.title_model()
    if offers.is_for_everybody(small) or offers.is_open(small, groups_of(user)):
        return small
    return default_name(user) or small


def groups_of(user: User | None) -> frozenset[str]:
    return group_names(user.pk if user else None)


def _unknown(user: User | None) -> str:
    """Return the error of a pick, with the models that the person may pick instead."""
    names = [model.name for model in offered(user) if model.name]
    if not names:
        return f"{UNKNOWN}."
    more = ", and more: see GET /api/models" if len(names) > NAMED_MODELS else ""
    return f"{UNKNOWN}, or pick one of: {', '.join(names[:NAMED_MODELS])}{more}."


def _may_use(user: User | None, name: str) -> bool:
    groups = frozenset() if offers.is_for_everybody(name) else groups_of(user)
    try:
        return bool(offers.check_offered(name, groups))
    except ModelNotOffered:
        return False
