"""A login that can be asked again later whether it still stands: what a long-lived socket holds on to."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from importlib import import_module

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.utils.crypto import constant_time_compare

from accounts.models import ApiKey, User


@dataclass(frozen=True, kw_only=True)
class Login:
    """Who was let in, and by what: a browser session, an API key, or (neither) the account alone."""

    user_id: int
    auth_hash: str  # changes with the password
    session_key: str | None = None
    api_key_id: uuid.UUID | None = None


def login_of(user: User, *, session_key: str | None = None, api_key_id: uuid.UUID | None = None) -> Login:
    """The login of this user as it stands now."""
    return Login(
        user_id=user.pk,
        auth_hash=user.get_session_auth_hash(),
        session_key=session_key,
        api_key_id=api_key_id,
    )


def user_of(login: Login) -> User | None:
    """The user, when the login still stands: account active, password unchanged, session and key alive."""
    user = User.objects.filter(pk=login.user_id, is_active=True).first()
    if user is None or not constant_time_compare(user.get_session_auth_hash(), login.auth_hash):
        return None
    if login.session_key and not session_alive(login.session_key, login):
        return None
    if login.api_key_id and not ApiKey.objects.filter(pk=login.api_key_id, revoked_at=None).exists():
        return None
    return user


async def still_stands(login: Login) -> bool:
    """For sockets, at least once a minute: may this connection go on?"""
    return await sync_to_async(user_of)(login) is not None


def session_alive(session_key: str, login: Login) -> bool:
    """Whether that browser session is still logged in as that user."""
    session = open_session(session_key)
    return session.get(SESSION_KEY) == str(login.user_id) and constant_time_compare(
        session.get(HASH_SESSION_KEY, ""), login.auth_hash
    )


def open_session(session_key: str) -> SessionBase:
    store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore
    return store(session_key)
