"""Users, API keys, login links, budgets and the ledger."""

from __future__ import annotations

from datetime import UTC, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.contrib.auth.models import AbstractUser
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models.functions import Lower

from accounts import limits
from accounts.time_zones import validate_time_zone
from durable.ids import new_id


class User(AbstractUser):
    """A user of the copilot."""

    class Theme(models.TextChoices):
        SYSTEM = "system"
        LIGHT = "light"
        DARK = "dark"

    time_zone = models.CharField(
        max_length=64,
        default="UTC",
        validators=[validate_time_zone],
        help_text="An IANA name such as Europe/Paris.",
    )
    time_zone_changed_at = models.DateTimeField(null=True, blank=True, editable=False)
    theme = models.CharField(max_length=8, choices=Theme, default=Theme.SYSTEM)
    model = models.CharField(
        max_length=128,
        blank=True,
        default="",
        db_default="",
        help_text="The model that answers where none is picked; empty means the site's default.",
    )

    instructions = models.TextField(
        blank=True,
        default="",
        db_default="",
        max_length=limits.MAX_INSTRUCTIONS_CHARACTERS,
        help_text="What the person asks of every answer.",
    )
    has_push = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="Whether a device takes push messages; kept by the package that sends them.",
    )

    class Meta(AbstractUser.Meta):
        constraints = [
            models.UniqueConstraint(
                Lower("username"),
                name="accounts_user_username_any_case",
                violation_error_message="A user with that username already exists.",
            )
        ]

    @property
    def zone(self) -> tzinfo:
        """The user's time zone; UTC if this machine's zone database does not know the name."""
        try:
            return ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return UTC


class ApiKey(models.Model):
    """An API key. Only its SHA-256 is stored: the key has 256 random bits, so a slow hash adds nothing."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16, help_text="The part that may be shown.")
    hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    allowed_models = models.JSONField(
        null=True, blank=True, help_text="Names of the models it may use under /v1; empty means all."
    )
    allowed_tools = models.JSONField(
        null=True, blank=True, help_text="Names of the tools its answers may use; empty means all."
    )
    requests_per_minute = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text="Empty means the site's limit."
    )
    day_limit = models.DecimalField(
        max_digits=14, decimal_places=6, null=True, blank=True, validators=[MinValueValidator(Decimal(0))]
    )
    month_limit = models.DecimalField(
        max_digits=14, decimal_places=6, null=True, blank=True, validators=[MinValueValidator(Decimal(0))]
    )

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.name} (rk_{self.prefix}_…)"

    @property
    def is_limited(self) -> bool:
        """Whether it has limits of its own; it then opens only doors that keep them, and never this account."""
        limits = (self.allowed_models, self.allowed_tools, self.requests_per_minute)
        return any(limit is not None for limit in (*limits, self.day_limit, self.month_limit))


class OAuthClient(models.Model):
    """A program that people let use their account: registered here, or described at the address that is its id."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    client_id = models.CharField(max_length=500, unique=True)
    name = models.CharField(max_length=200)
    redirect_uris = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True, help_text="When its description was last fetched.")

    class Meta:
        verbose_name = "OAuth client"

    def __str__(self) -> str:
        return self.name


class OAuthGrant(models.Model):
    """A person's permission for one client. Its key carries limits and charges; revoking the key ends the grant."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="oauth_grants")
    client = models.ForeignKey(OAuthClient, on_delete=models.CASCADE, related_name="grants")
    key = models.OneToOneField(ApiKey, on_delete=models.CASCADE, related_name="grant")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "OAuth grant"

    def __str__(self) -> str:
        return f"{self.client} for user {self.user_id}"


class OAuthToken(models.Model):
    """A code, an access token or a refresh token of a grant; only its hash is stored, and codes work once."""

    class Kind(models.TextChoices):
        CODE = "code"
        ACCESS = "access"
        REFRESH = "refresh"

    token_hash = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=8, choices=Kind)
    grant = models.ForeignKey(OAuthGrant, on_delete=models.CASCADE, related_name="tokens")
    challenge = models.CharField(max_length=128, blank=True, default="", help_text="PKCE, of a code.")
    redirect_uri = models.CharField(max_length=2000, blank=True, default="", help_text="Of a code.")
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "OAuth token"

    def __str__(self) -> str:
        return f"{self.kind} of grant {self.grant_id}"


class LoginLink(models.Model):
    """A link that logs one user in once."""

    token_hash = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"login link of user {self.user_id}"


class Ticket(models.Model):
    """A token that opens one websocket once, for the login it was issued to."""

    token_hash = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    auth_hash = models.CharField(max_length=128, help_text="Changes with the password.")
    session_key = models.CharField(max_length=40, null=True)
    api_key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, null=True, related_name="+")
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"websocket ticket of user {self.user_id}"


class CountedAttempt(models.Model):
    """One counted attempt at something limited, such as a login; `key` is a hash of who tried."""

    key = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "accounts_attempt"
        indexes = [
            models.Index(fields=["key", "created_at"], name="accounts_attempt_key"),
            models.Index(fields=["created_at"], name="accounts_attempt_age"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.key[:8]} at {self.created_at:%Y-%m-%d %H:%M:%S}"


class Budget(models.Model):
    """A user's spending limits in US dollars; empty means unlimited. Without a row the settings apply."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="budget")
    day_limit = models.DecimalField(
        max_digits=14, decimal_places=6, null=True, blank=True, validators=[MinValueValidator(Decimal(0))]
    )
    month_limit = models.DecimalField(
        max_digits=14, decimal_places=6, null=True, blank=True, validators=[MinValueValidator(Decimal(0))]
    )

    def __str__(self) -> str:
        return f"budget of user {self.user_id}"


class LedgerEntry(models.Model):
    """One charge. `key` identifies the effect, so that the same effect is never charged twice."""

    class Kind(models.TextChoices):
        MODEL = "model"
        BLOCK = "block"
        TOOL = "tool"
        ADJUSTMENT = "adjustment"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(
        User,
        on_delete=models.SET_NULL,
        null=True,
        related_name="ledger",
        help_text="Empty: a visitor without an account, or an account deleted since.",
    )
    key = models.CharField(max_length=200, unique=True)
    kind = models.CharField(max_length=16, choices=Kind)
    amount = models.DecimalField(max_digits=14, decimal_places=6, help_text="US dollars.")
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    job_id = models.UUIDField(null=True, db_index=True)
    description = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "ledger entries"
        indexes = [
            models.Index(fields=["user", "created_at"], name="accounts_ledger_user_time"),
            models.Index(fields=["created_at"], name="accounts_ledger_time"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} ${self.amount} ({self.key})"


class SpentHour(models.Model):
    """The sum of a user's charges in one hour, updated with each ledger entry (accounts/ledger.py)."""

    account = models.BigIntegerField(help_text="The id of the user; 0 for all visitors together.")
    hour = models.DateTimeField(help_text="The start of the hour, in UTC.")
    micros = models.BigIntegerField(default=0, help_text="Millionths of a US dollar.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "hour"], name="accounts_one_sum_per_hour")]

    def __str__(self) -> str:
        return f"spent by {self.account} from {self.hour:%Y-%m-%d %H:%M}"
