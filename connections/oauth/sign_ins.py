"""Sign-ins of people at servers: started, finished, and renewed before they expire by one process at a time."""

from __future__ import annotations

import json
import secrets
import uuid
from dataclasses import asdict, dataclass
from datetime import timedelta
from urllib.parse import urlencode, urlsplit

from django.core import signing
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from pydantic import SecretStr

from accounts.models import User
from connections.errors import SignInNeeded, ToolServerError
from connections.models import ServerSignIn, ToolServer
from connections.oauth.discovery import AuthorizationServer, discover
from connections.oauth.registration import BASIC, RegisteredClient, client_at, redirect_uri
from durable import event_log
from durable.encryption import CannotUnseal, seal, unseal
from durable.wait import wait_for
from executions import limits as executions_limits
from executions.credentials.errors import SignInRefused, SignInUnavailable
from executions.credentials.oauth.authorization import challenge_of, session_hash, verifier_of
from executions.credentials.oauth.providers import OAuthProvider
from executions.credentials.oauth.tokens import Granted, TokensRefused, request_tokens
from executions.credentials.secrets import OAuthTokens

SALT = "connections.oauth"


# --- signing in -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SignInAnswer:
    """What the authorization server's redirect brings back."""

    code: str
    state: str
    issuer: str = ""


def start(server: ToolServer, user: User, session_key: str, *, challenge: str = "", next: str = "") -> str:
    """Return the page at which the person signs in; raises SignInImpossible, ServerUnreachable.

    The state is valid in this browser session for ten minutes; the issuer is in it, so that an answer of another
    authorization server is recognised.
    """
    found = discover(server.url, challenge or last_challenge(server))
    client = known_client(server, found) or client_at(found)
    remember(server, found, client)
    state = signing.dumps(
        {
            "nonce": secrets.token_urlsafe(24),
            "login": session_hash(user, session_key),
            "server": str(server.pk),
            "issuer": found.issuer,
            "next": next,
        },
        salt=SALT,
        compress=True,
    )
    query = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri(),
        "state": state,
        "code_challenge": challenge_of(verifier_of(state)),
        "code_challenge_method": "S256",
        "resource": found.resource,
    }
    if scopes := (*granted_before(server, user, found), *found.scopes):
        query["scope"] = " ".join(dict.fromkeys(scopes))
    joint = "&" if urlsplit(found.authorize_url).query else "?"
    return f"{found.authorize_url}{joint}{urlencode(query)}"


def granted_before(server: ToolServer, user: User, found: AuthorizationServer) -> tuple[str, ...]:
    """Return what an earlier sign-in was granted, which a further one asks for again."""
    earlier = ServerSignIn.objects.filter(server=server, user=user, issuer=found.issuer).first()
    return tuple(str(scope) for scope in earlier.scopes) if earlier is not None and found.scopes else ()


def last_challenge(server: ToolServer) -> str:
    return str(server.oauth.get("challenge") or "")


def known_client(server: ToolServer, found: AuthorizationServer) -> RegisteredClient | None:
    """Return the client of an earlier sign-in, or the one an operator entered; None at another issuer."""
    client_id = str(server.oauth.get("client_id") or "")
    issuer = server.oauth.get("issuer")
    if not client_id or (issuer and issuer != found.issuer):
        return None
    return RegisteredClient(
        client_id=client_id,
        client_secret=unseal(server.sealed_client_secret) if server.sealed_client_secret else "",
        auth=str(server.oauth.get("auth") or BASIC),
    )


def remember(server: ToolServer, found: AuthorizationServer, client: RegisteredClient) -> None:
    server.oauth = found.as_json() | {"client_id": client.client_id, "auth": client.auth}
    server.sealed_client_secret = seal(client.client_secret) if client.client_secret else ""
    server.save(update_fields=["oauth", "sealed_client_secret"])


def read_state(user: User, session_key: str, state: str) -> dict[str, str]:
    """Return the sign-in that was started; raises SignInRefused when it is expired or of another session."""
    try:
        said: dict[str, str] = signing.loads(
            state, salt=SALT, max_age=timedelta(seconds=executions_limits.OAUTH_STATE_SECONDS)
        )
    except signing.SignatureExpired:
        raise SignInRefused("The sign-in took too long.") from None
    except signing.BadSignature:
        raise SignInRefused("This sign-in was not started here.") from None
    if not constant_time_compare(said["login"], session_hash(user, session_key)):
        raise SignInRefused("This sign-in was started in another browser session.")
    return said


def finish(server: ToolServer, user: User, callback: SignInAnswer, *, issuer: str) -> ServerSignIn:
    """Exchange the code and store the tokens; raises SignInRefused, SignInUnavailable. A code works once."""
    found = AuthorizationServer.parse(server.oauth)
    if found.issuer != issuer:
        raise SignInRefused("The server has changed where people sign in. Start again.")
    if callback.issuer != issuer and (callback.issuer or found.names_issuer):
        raise SignInRefused("The answer is from another authorization server than the one you were sent to.")
    form = {
        "grant_type": "authorization_code",
        "code": callback.code,
        "code_verifier": verifier_of(callback.state),
        "redirect_uri": redirect_uri(),
        "resource": found.resource,
    }
    try:
        granted = request_tokens(provider_of(server, found), form)
    except TokensRefused as refusal:
        raise (SignInRefused if refusal.for_good else SignInUnavailable)(str(refusal)) from None
    return store(server, user, found, granted)


def store(server: ToolServer, user: User, found: AuthorizationServer, granted: Granted) -> ServerSignIn:
    tokens = OAuthTokens(access_token=granted.access_token, refresh_token=granted.refresh_token)
    sign_in, _ = ServerSignIn.objects.update_or_create(
        server=server,
        user=user,
        defaults={
            "issuer": found.issuer,
            "resource": found.resource,
            "scopes": list(granted.scopes if granted.scopes is not None else found.scopes),
            "secret": seal(json.dumps(asdict(tokens))),
            "expires_at": granted.expires_at,
            "signed_out_at": None,
            "refreshing_until": None,
        },
    )
    return sign_in


def provider_of(server: ToolServer, found: AuthorizationServer) -> OAuthProvider:
    """Return the token endpoint in the form that the site's own sign-ins use."""
    secret = unseal(server.sealed_client_secret) if server.sealed_client_secret else ""
    basic = server.oauth.get("auth") == BASIC and bool(secret)
    return OAuthProvider(
        authorize_url=found.authorize_url,
        token_url=found.token_url,
        client_id=str(server.oauth.get("client_id") or ""),
        client_secret=SecretStr(secret),
        client_auth="basic" if basic else "body",
    )


# --- tokens ---------------------------------------------------------------------------------------


def access_token(server: ToolServer, user_id: int | None) -> str:
    """Return a token that stays valid for a while; raises SignInNeeded, ServerUnreachable.

    It is given to the server and the issuer that it was made for, and to nobody else. Of concurrent callers one
    renews it; the others use the old one until it expires, and then wait for the new one.
    """
    sign_in = ServerSignIn.objects.filter(server=server, user=user_id).first() if user_id else None
    if sign_in is None or sign_in.issuer != server.oauth.get("issuer"):
        raise SignInNeeded(f"You are not signed in at {server}. Sign in under Connections in the library.")
    tokens = tokens_of(sign_in)
    if not expires_within(sign_in, executions_limits.OAUTH_REFRESH_EARLY_SECONDS):
        return tokens.access_token
    if sign_in.signed_out_at is None and tokens.refresh_token:
        return renew(server, sign_in, tokens) if lock(sign_in) else wait_for_renewal(server, sign_in)
    if expires_within(sign_in, 0):
        raise expired(server)
    return tokens.access_token


def tokens_of(sign_in: ServerSignIn) -> OAuthTokens:
    try:
        return OAuthTokens(**json.loads(unseal(sign_in.secret)))
    except CannotUnseal:
        raise SignInNeeded("Your sign-in cannot be read with this site's keys. Sign in again.") from None


def expires_within(sign_in: ServerSignIn, seconds: float) -> bool:
    ends_at = sign_in.expires_at
    return ends_at is not None and ends_at <= timezone.now() + timedelta(seconds=seconds)


def expired(server: ToolServer) -> SignInNeeded:
    return SignInNeeded(
        f"Your sign-in at {server} has expired. Sign in again under Connections in the library."
    )


def lock(sign_in: ServerSignIn) -> bool:
    """Lock the row for one renewal by a conditional UPDATE; the lock expires in case its holder dies."""
    now = timezone.now()
    free = Q(refreshing_until=None) | Q(refreshing_until__lte=now)
    same = ServerSignIn.objects.filter(free, pk=sign_in.pk, secret=sign_in.secret)
    until = now + timedelta(seconds=executions_limits.OAUTH_REFRESH_HOLD_SECONDS)
    return same.update(refreshing_until=until) == 1


def renew(server: ToolServer, sign_in: ServerSignIn, tokens: OAuthTokens) -> str:
    """Renew the tokens at their issuer and store them. No transaction is open meanwhile."""
    found = AuthorizationServer.parse(server.oauth)
    form = {
        "grant_type": "refresh_token",
        "refresh_token": tokens.refresh_token,
        "resource": sign_in.resource,
    }
    try:
        granted = request_tokens(provider_of(server, found), form)
    except TokensRefused as refusal:
        release(sign_in, **({"signed_out_at": timezone.now()} if refusal.for_good else {}))
        if not expires_within(sign_in, 0):
            return tokens.access_token  # still valid; the next call tries again
        raise expired(server) from None
    fresh = OAuthTokens(
        access_token=granted.access_token, refresh_token=granted.refresh_token or tokens.refresh_token
    )
    release(sign_in, secret=seal(json.dumps(asdict(fresh))), expires_at=granted.expires_at)
    return fresh.access_token


def release(sign_in: ServerSignIn, **changes: object) -> None:
    """Unlock the row and store the changes, unless it was replaced meanwhile; wake the waiting callers."""
    same = ServerSignIn.objects.filter(pk=sign_in.pk, secret=sign_in.secret)
    same.update(refreshing_until=None, **changes)
    event_log.nudge(sign_in.pk)


def wait_for_renewal(server: ToolServer, sign_in: ServerSignIn) -> str:
    def look() -> str | None:
        now = ServerSignIn.objects.filter(pk=sign_in.pk).first()
        if now is None or (now.signed_out_at is not None and expires_within(now, 0)):
            raise expired(server)
        if not expires_within(now, 0):
            return tokens_of(now).access_token
        return renew(server, now, tokens_of(now)) if lock(now) else None

    seconds = executions_limits.OAUTH_REFRESH_HOLD_SECONDS + executions_limits.OAUTH_SECONDS
    found = look() or wait_for(sign_in.pk, look, seconds=seconds)
    if found is None:
        raise ToolServerError(f"The sign-in at {server} could not be renewed in time. Try again.")
    return found


def sign_out(server: ToolServer, user_id: int) -> None:
    """Forget a person's tokens at a server. Idempotent."""
    ServerSignIn.objects.filter(server=server, user=user_id).delete()


def server_id_in(state: dict[str, str]) -> uuid.UUID:
    return uuid.UUID(state["server"])


__all__ = ["SignInAnswer", "access_token", "finish", "read_state", "sign_out", "start"]
