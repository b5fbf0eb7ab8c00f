"""/api/credentials/oauth: OAuth2 sign-in at a provider, in the browser."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.authentication import CookieAuthentication, current_user
from durable.errors import Refusal
from executions.api.credentials import CredentialSerializer
from executions.credentials.errors import SignInRefused
from executions.credentials.oauth import authorization
from executions.credentials.oauth.authorization import SignInRequest
from executions.credentials.oauth.providers import configured


class ProviderShape(serializers.Serializer[Any]):
    """An OAuth2 provider."""

    name = serializers.CharField()
    title = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())


class ProviderList(serializers.Serializer[Any]):
    results = ProviderShape(many=True)
    next = serializers.CharField(allow_null=True)


class Providers(APIView):
    """List OAuth2 providers."""

    @extend_schema(summary="List OAuth2 providers", responses=ProviderList)
    def get(self, request: Request) -> Response:
        """List the OAuth2 providers this site is configured for."""
        found = configured().items()
        rows = [{"name": name, "title": one.title or name, "scopes": list(one.scopes)} for name, one in found]
        return Response({"results": rows, "next": None})


class WishForm(serializers.Serializer[Any]):
    title = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    scopes = serializers.ListField(
        child=serializers.RegexField(r"^\S+$", max_length=200),
        max_length=50,
        required=False,
        default=list,
        help_text="Default: the scopes of the provider's configuration.",
    )
    credential_id = serializers.UUIDField(
        required=False,
        default=None,
        help_text="The credential to sign in again, instead of creating a new one.",
    )
    next = serializers.CharField(
        max_length=500,
        required=False,
        allow_blank=True,
        default="",
        help_text="A path of this site to return to.",
    )

    def validate_next(self, path: str) -> str:
        if path and not (path.startswith("/") and url_has_allowed_host_and_scheme(path, allowed_hosts=None)):
            raise serializers.ValidationError("Give a path of this site, such as /settings.")
        return path


class SignInUrl(serializers.Serializer[Any]):
    url = serializers.CharField(help_text="The page to send the browser to.")


class BrowserView(APIView):
    """Base of views that need a browser session, to check that the returning user is the one who left."""

    authentication_classes = [CookieAuthentication]

    def session_key(self, request: Request) -> str:
        key = request.session.session_key
        if not key:
            raise PermissionDenied("Sign in with a browser: an API key has no session to return to.")
        return str(key)


class StartSignIn(BrowserView):
    """Start an OAuth2 sign-in."""

    @extend_schema(summary="Start an OAuth2 sign-in", request=WishForm, responses=SignInUrl)
    def post(self, request: Request, provider: str) -> Response:
        """Return the provider's page to send the browser to."""
        return Response({"url": self.url_for(request, provider, request.data)})

    @extend_schema(
        summary="Start an OAuth2 sign-in from a link", parameters=[WishForm], responses={302: None}
    )
    def get(self, request: Request, provider: str) -> HttpResponse:
        """Redirect to the provider's page."""
        return HttpResponseRedirect(self.url_for(request, provider, request.query_params))

    def url_for(self, request: Request, provider: str, given: Any) -> str:
        form = WishForm(data=given)
        form.is_valid(raise_exception=True)
        said = form.validated_data
        wish = SignInRequest(
            provider=provider,
            title=said["title"],
            scopes=tuple(said["scopes"]),
            credential_id=str(said["credential_id"] or ""),
            next=said["next"],
        )
        return authorization.authorize_url(current_user(request), self.session_key(request), wish)


class Callback(BrowserView):
    """The redirect URI of OAuth2 sign-ins."""

    @extend_schema(
        summary="Finish an OAuth2 sign-in",
        parameters=[
            OpenApiParameter(name, OpenApiTypes.STR)
            for name in ("code", "state", "error", "error_description")
        ],
        responses={200: CredentialSerializer, 302: None},
    )
    def get(self, request: Request, provider: str) -> HttpResponse:
        """Exchange the code for tokens and store them; redirect to the requested path, or return the credential."""
        said, user = request.query_params, current_user(request)
        state = said.get("state", "")
        wish = authorization.read_state(user, self.session_key(request), provider, state)
        try:
            if not said.get("code"):
                raise SignInRefused(refusal_of(said.get("error", ""), said.get("error_description", "")))
            kept = authorization.finish(user, wish, code=said["code"], state=state)
        except Refusal as error:
            if not wish.next:
                raise
            return back_to(wish.next, sign_in_error=error.message)
        if wish.next:
            return back_to(wish.next, credential=str(kept.pk))
        return Response(CredentialSerializer(kept).data)


def refusal_of(code: str, description: str) -> str:
    if code == "access_denied":
        return "You declined the sign-in."
    return f"The provider refused: {(description or code or 'no reason given')[:300]}"


def back_to(path: str, **said: str) -> HttpResponseRedirect:
    return HttpResponseRedirect(f"{path}{'&' if '?' in path else '?'}{urlencode(said)}")
