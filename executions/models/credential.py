"""Credentials: secrets of a person's, encrypted at rest and never shown again."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from durable.ids import new_id


class StoredCredential(models.Model):
    """One secret for one provider; `secret` is encrypted JSON whose fields depend on the kind."""

    class Kind(models.TextChoices):
        API_KEY = "api_key"
        USER_PASSWORD = "user_password"  # noqa: S105
        HOST_SCOPED = "host_scoped"  # headers sent to one host only
        OAUTH2 = "oauth2"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="credentials")
    provider = models.CharField(max_length=100)
    title = models.CharField(max_length=200, blank=True, default="")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    host = models.CharField(max_length=255, blank=True, default="", help_text="Where it may be sent.")
    port = models.PositiveIntegerField(
        null=True, blank=True, help_text="Of the host; 443 where it is empty. A login always has one."
    )
    ca_certificate = models.TextField(
        blank=True,
        default="",
        db_default="",  # code from before this column writes rows too while a site is upgraded
        help_text="PEM text to check the server with instead of the public authorities.",
    )
    scopes = models.JSONField(default=list)
    secret = models.TextField(help_text="Encrypted.")
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="When the secret, or the access token of a sign-in, is over."
    )
    refreshing_until = models.DateTimeField(
        null=True, blank=True, help_text="A refresh is under way and holds the row until then at most."
    )
    signed_out_at = models.DateTimeField(
        null=True, blank=True, help_text="The provider takes the refresh token no more: sign in again."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["user", "provider"], name="executions_credential_of_user")]

    def __str__(self) -> str:
        return self.title or f"{self.provider} ({self.kind})"
