"""/api/credentials: list, add, change and delete the user's credentials. No response contains a secret."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.authentication import current_user
from accounts.api.throttling import WriteRate
from executions import limits
from executions.credentials import actions
from executions.credentials.secrets import ApiKeySecret, HeadersSecret, Kind, PasswordSecret, Secret
from executions.models import StoredCredential

PARTS: dict[str, tuple[str, ...]] = {
    Kind.API_KEY: ("api_key",),
    Kind.USER_PASSWORD: ("username", "password"),
    Kind.HOST_SCOPED: ("headers",),
}
PROVIDER = r"^[a-z0-9][a-z0-9_.:-]*$"


class SecretField(serializers.CharField):
    """A write-only text field that keeps white space."""

    def __init__(self) -> None:
        super().__init__(
            write_only=True, required=False, trim_whitespace=False, max_length=limits.MAX_SECRET_CHARACTERS
        )


class CredentialSerializer(serializers.ModelSerializer[StoredCredential]):
    """A credential without its secret."""

    status = serializers.SerializerMethodField(help_text="ok, host_needed, expired, or sign_in_again.")

    class Meta:
        model = StoredCredential
        fields = [
            "id",
            "provider",
            "kind",
            "title",
            "host",
            "port",
            "ca_certificate",
            "scopes",
            "status",
            "expires_at",
            "created_at",
            "used_at",
        ]
        read_only_fields = fields

    def get_status(self, credential: StoredCredential) -> str:
        if credential.signed_out_at is not None:
            return "sign_in_again"
        if credential.kind == Kind.USER_PASSWORD and not credential.host:
            return "host_needed"
        renewed = credential.kind == Kind.OAUTH2
        over = credential.expires_at is not None and credential.expires_at <= timezone.now()
        return "expired" if over and not renewed else "ok"


class CredentialChangeForm(serializers.Serializer[Any]):
    """The fields that may be changed; a secret is replaced as a whole."""

    title = serializers.CharField(max_length=200, required=False, allow_blank=True)
    host = serializers.CharField(
        max_length=255,
        required=False,
        allow_blank=True,
        help_text="The only server it may be sent to, such as api.example.com. Required for logins and headers.",
    )
    port = serializers.IntegerField(
        min_value=1,
        max_value=65535,
        required=False,
        allow_null=True,
        help_text="Port of that server; default: 587 for smtp, 5432 for database, 443 for the web.",
    )
    ca_certificate = serializers.CharField(
        max_length=limits.MAX_CA_CERTIFICATE_CHARACTERS,
        required=False,
        allow_blank=True,
        help_text="For logins: CA certificate (PEM) to verify the server with, instead of the public CAs.",
    )
    expires_at = serializers.DateTimeField(required=False)
    api_key = SecretField()
    username = SecretField()
    password = SecretField()
    headers = serializers.DictField(
        child=serializers.CharField(max_length=limits.MAX_SECRET_CHARACTERS, trim_whitespace=False),
        write_only=True,
        required=False,
    )


class NewForm(CredentialChangeForm):
    """A new credential: `api_key`; `username`, `password` and `host`; or `headers` and `host`."""

    provider = serializers.RegexField(
        PROVIDER, max_length=100, help_text="The service it is for, such as smtp, database or http."
    )
    kind = serializers.ChoiceField(choices=[str(kind) for kind in PARTS])


class OwnCredentials(generics.GenericAPIView[StoredCredential]):
    """Base of views on the user's own credentials."""

    queryset = StoredCredential.objects.none()
    serializer_class = CredentialSerializer
    throttle_classes = [WriteRate]

    def get_queryset(self) -> QuerySet[StoredCredential]:
        return StoredCredential.objects.filter(user=current_user(self.request)).order_by("-created_at")


@extend_schema_view(
    get=extend_schema(summary="List credentials", description="Your credentials, without their secrets.")
)
class Credentials(OwnCredentials, generics.ListAPIView[StoredCredential]):
    """List credentials; add one."""

    @extend_schema(summary="Add a credential", request=NewForm, responses={201: CredentialSerializer})
    def post(self, request: Request) -> Response:
        """Add a credential. Its secret is never shown again. For OAuth2, sign in instead."""
        form = NewForm(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        kept = actions.add_credential(
            current_user(request),
            actions.NewCredential(
                provider=given["provider"],
                kind=given["kind"],
                secret=read_secret(given["kind"], given),
                title=given.get("title", ""),
                host=given.get("host", ""),
                port=given.get("port"),
                ca_certificate=given.get("ca_certificate", ""),
                expires_at=given.get("expires_at"),
            ),
        )
        return Response(CredentialSerializer(kept).data, status=status.HTTP_201_CREATED)


@extend_schema_view(
    get=extend_schema(summary="Get a credential", description="One credential, without its secret.")
)
class OneCredential(OwnCredentials, generics.RetrieveAPIView[StoredCredential]):
    """One credential."""

    @extend_schema(summary="Change a credential", request=CredentialChangeForm)
    def patch(self, request: Request, **kwargs: Any) -> Response:
        """Change title, server or expiry, or replace the secret. A change of server requires the secret again."""
        credential = self.get_object()
        form = CredentialChangeForm(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        secret = read_secret(credential.kind, given) if holds_secret(given) else None
        changes = actions.Changes(
            title=given.get("title"),
            host=given.get("host"),
            port=given.get("port"),
            ca_certificate=given.get("ca_certificate"),
            secret=secret,
            expires_at=given.get("expires_at"),
        )
        return Response(CredentialSerializer(actions.change(credential, changes)).data)

    @extend_schema(summary="Delete a credential", responses={204: None})
    def delete(self, request: Request, **kwargs: Any) -> Response:
        """Delete the credential. Agents and schedules that use it fail at their next run with a message."""
        actions.delete_credential(self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)


def holds_secret(given: dict[str, Any]) -> bool:
    return any(part in given for parts in PARTS.values() for part in parts)


def read_secret(kind: str, given: dict[str, Any]) -> Secret:
    """Return the secret of that kind; raises ValidationError for missing parts and those of another kind."""
    if kind not in PARTS:
        raise serializers.ValidationError(
            "The tokens of a sign-in come from the provider. Sign in again instead."
        )
    missing = {part: ["This field is required."] for part in PARTS[kind] if part not in given}
    foreign = [
        part for parts in PARTS.values() for part in parts if part in given and part not in PARTS[kind]
    ]
    wrong = {part: [f"A credential of the kind {kind} does not have this field."] for part in foreign}
    if missing or wrong:
        raise serializers.ValidationError(missing | wrong)
    match kind:
        case Kind.API_KEY:
            return ApiKeySecret(api_key=given["api_key"])
        case Kind.USER_PASSWORD:
            return PasswordSecret(username=given["username"], password=given["password"])
        case _:
            return HeadersSecret(headers=given["headers"])
