"""Well-known OAuth2 providers: their addresses and habits, so that an operator enters only a client id and secret.

They are those of AutoGPT, so that its agents find the credentials they name. Any field can be set otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "discord": {
        "title": "Discord",
        "authorize_url": "https://discord.com/oauth2/authorize",
        "token_url": "https://discord.com/api/oauth2/token",
        "scopes": ["identify"],
        "host": "discord.com",
    },
    "github": {
        "title": "GitHub",
        "authorize_url": "https://github.com/login/oauth/authorize",
        "token_url": "https://github.com/login/oauth/access_token",
        "scopes": ["repo", "read:user"],
        "host": "api.github.com",
    },
    "google": {
        "title": "Google",
        "authorize_url": "https://accounts.google.com/o/oauth2/v2/auth",
        "token_url": "https://oauth2.googleapis.com/token",
        "scopes": ["openid", "email"],
        "host": "*.googleapis.com",
        "authorize_params": {"access_type": "offline", "prompt": "consent"},  # or there is no refresh token
    },
    "linear": {
        "title": "Linear",
        "authorize_url": "https://linear.app/oauth/authorize",
        "token_url": "https://api.linear.app/oauth/token",
        "scopes": ["read", "write"],
        "scope_separator": ",",
        "host": "api.linear.app",
    },
    "notion": {
        "title": "Notion",
        "authorize_url": "https://api.notion.com/v1/oauth/authorize",
        "token_url": "https://api.notion.com/v1/oauth/token",
        "client_auth": "basic",
        "host": "api.notion.com",
        "authorize_params": {"owner": "user"},
    },
    "reddit": {
        "title": "Reddit",
        "authorize_url": "https://www.reddit.com/api/v1/authorize",
        "token_url": "https://www.reddit.com/api/v1/access_token",
        "client_auth": "basic",
        "scopes": ["identity", "read", "submit"],
        "host": "oauth.reddit.com",
        "authorize_params": {"duration": "permanent"},  # or there is no refresh token
    },
    "todoist": {
        "title": "Todoist",
        "authorize_url": "https://todoist.com/oauth/authorize",
        "token_url": "https://todoist.com/oauth/access_token",
        "scopes": ["data:read_write"],
        "scope_separator": ",",
        "host": "api.todoist.com",
    },
    "twitter": {
        "title": "X (Twitter)",
        "authorize_url": "https://x.com/i/oauth2/authorize",
        "token_url": "https://api.x.com/2/oauth2/token",
        "client_auth": "basic",
        "scopes": ["tweet.read", "tweet.write", "users.read", "offline.access"],
        "host": "api.x.com",
    },
}


def with_presets(providers: Any) -> Any:
    """Return the entries with the fields they leave out, for names that have a preset; anything else as it is."""
    if not isinstance(providers, dict):
        return providers
    return {
        name: {**PRESETS.get(name, {}), **entry} if isinstance(entry, dict) else entry
        for name, entry in providers.items()
    }
