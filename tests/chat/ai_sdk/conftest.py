"""The people and clients of the API tests."""

from __future__ import annotations

from tests.chat.api.conftest import ada, api, bob, bobs_api, fast_passwords, real_redis, send, session

__all__ = ["ada", "api", "bob", "bobs_api", "fast_passwords", "real_redis", "send", "session"]
