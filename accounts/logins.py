"""Logins that can be checked again later, for long-lived sockets."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from importlib import import_module

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.utils.crypto import constant_time_compare

from accounts.models import ApiKey, User


@dataclass(frozen=True, kw_only=True)
class Login:
    """A user and how they logged in: with a browser session, an API key, or neither."""

    user_id: int
    auth_hash: str  # changes with the password
    session_key: str | None = None
    api_key_id: uuid.UUID | None = None


def login_of(user: User, *, session_key: str | None = None, api_key_id: uuid.UUID | None = None) -> Login:
    """Return the login of this user as of now."""
    return Login(
        user_id=user.pk,
        auth_hash=user.get_session_auth_hash(),
        session_key=session_key,
        api_key_id=api_key_id,
    )


def user_of(login: Login) -> User | None:
    """Return the user if the login is still valid: account active, password unchanged, session and key valid."""
    user = User.objects.filter(pk=login.user_id, is_active=True).first()
    if user is None or not constant_time_compare(user.get_session_auth_hash(), login.auth_hash):
        return None
    if login.session_key and not session_alive(login.session_key, login):
        return None
    if login.api_key_id and not ApiKey.objects.filter(pk=login.api_key_id, revoked_at=None).exists():
        return None
    return user


def session_alive(session_key: str, login: Login) -> bool:
    """Return whether that browser session is still logged in as that user."""
    session = open_session(session_key)
    return session.get(SESSION_KEY) == str(login.user_id) and constant_time_compare(
        session.get(HASH_SESSION_KEY, ""), login.auth_hash
    )


def open_session(session_key: str) -> SessionBase:
    store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore
    return store(session_key)
